"""Scheduling a single pod with a very long list, by both schedulers on one API server."""

from __future__ import annotations

import asyncio
import re
import ssl
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from benchmarks.live.cluster import LiveCluster
from benchmarks.live.hostile_pods import HOSTILE_PODS, Document, make_pod
from benchmarks.live.schedulers import MOORING, REFERENCE, SchedulerProcess, programs
from tests.support.control_plane import ControlPlane
from tests.support.processes import LOOPBACK, free_port
from tests.support.real_parts import locate

#: Most time that an attempt may take, as a multiple of kube-scheduler's.
MOST = 5.0
#: Shorter attempts, in seconds, are not compared: the bind and the clock would dominate.
_SHORT = 0.05
#: Timeout of one attempt, in seconds.
_PATIENCE = 300.0
#: For a pod that is bound, the algorithm is measured without the bind, which does not delay other
#: pods. kube-scheduler reports the algorithm's duration only for such pods.
_SCHEDULED = "scheduler_scheduling_algorithm_duration_seconds"
_REFUSED = "scheduler_scheduling_attempt_duration_seconds"
_SAMPLE = re.compile(r"^(\w+)_(sum|count)(?:\{([^}]*)\})? (\S+)$", re.MULTILINE)

#: Seconds of an attempt, by kind and size.
Times = dict[tuple[str, int], float]


class _Attempts:
    """The metrics of a scheduler's attempts."""

    def __init__(self) -> None:
        self.port = free_port()
        self._context = ssl.create_default_context()
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE

    @property
    def flags(self) -> list[str]:
        """The flags that let any local client read metrics."""
        return [
            f"--secure-port={self.port}",
            f"--bind-address={LOOPBACK}",
            "--authorization-always-allow-paths=/metrics",
        ]

    def read(self) -> dict[tuple[bool, str], float]:
        """Return "sum" and "count" of the attempts, by whether a node was found."""
        url = f"https://{LOOPBACK}:{self.port}/metrics"
        with urllib.request.urlopen(url, context=self._context, timeout=60) as answer:
            text = answer.read().decode()
        totals: dict[tuple[bool, str], float] = defaultdict(float)
        for metric, what, labels, value in _SAMPLE.findall(text):
            bound = 'result="scheduled"' in labels
            if metric == _REFUSED:
                # For bound pods only the number of attempts is used.
                if not bound or what == "count":
                    totals[bound, what] += float(value)
            elif metric == _SCHEDULED and what == "sum":
                totals[True, what] += float(value)
        return totals

    async def wait_ready(self) -> None:
        """Wait until the scheduler serves metrics."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                await asyncio.to_thread(self.read)
            except OSError:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.1)
            else:
                return

    async def next(self, before: dict[tuple[bool, str], float]) -> float:
        """Wait for an attempt and return how long it took."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            totals = await asyncio.to_thread(self.read)
            # A pod that preempts others is refused first, and bound by a later attempt.
            for bound in (False, True):
                count = totals[bound, "count"] - before[bound, "count"]
                if count:
                    return (totals[bound, "sum"] - before[bound, "sum"]) / count
            await asyncio.sleep(0.05)
        return _PATIENCE


async def run_hostile(
    plane: ControlPlane,
    cluster: LiveCluster,
    folder: Path,
    nodes: list[str],
    kinds: list[str],
    sizes: list[int],
    tries: int,
) -> list[str]:
    """Measure every kind at every size, and return what took too long."""
    started = programs(locate("KUBE_SCHEDULER"))
    times: dict[str, Times] = {}
    # Several kinds need the same objects.
    for objects in dict.fromkeys(HOSTILE_PODS[kind].objects for kind in kinds):
        await _create_all(cluster, objects(max(sizes)))
    for scheduler in (REFERENCE, MOORING):
        attempts = _Attempts()
        with SchedulerProcess(
            scheduler,
            started[scheduler],
            folder,
            plane.scheduler_kubeconfig,
            serving=attempts.flags,
        ):
            await attempts.wait_ready()
            times[scheduler] = await _measure(cluster, attempts, nodes, kinds, sizes, tries)
    return _report(times, kinds, sizes)


async def _measure(
    cluster: LiveCluster,
    attempts: _Attempts,
    nodes: list[str],
    kinds: list[str],
    sizes: list[int],
    tries: int,
) -> Times:
    """Return the shortest of some attempts of every kind and size."""
    times: Times = {}
    # An extra attempt first: the first one of a process fills caches that later ones use.
    # No two pods are alike, so that no scheduler reuses what it computed for the one before.
    wanted = [(kind, size, less) for kind in kinds for size in sizes for less in range(tries)]
    for number, (kind, size, less) in enumerate([(kinds[0], 1, 0), *wanted]):
        before = await asyncio.to_thread(attempts.read)
        hostile, count = HOSTILE_PODS[kind], max(1, size - less)
        await _create_all(cluster, hostile.running(count, nodes))
        await cluster.create_document(make_pod(f"hostile-{number}", hostile.spec(count)))
        taken = await attempts.next(before)
        times[kind, size] = min(taken, times.get((kind, size), taken))
        await cluster.wipe_pods()
    return times


async def _create_all(cluster: LiveCluster, documents: Iterable[Document]) -> None:
    pending = iter(documents)

    async def work() -> None:
        for document in pending:
            await cluster.create_document(document)

    await asyncio.gather(*(work() for _ in range(32)))


def _report(times: dict[str, Times], kinds: list[str], sizes: list[int]) -> list[str]:
    print(f"\n{'hostile pods, ms':<26}" + "".join(f"{f'{size} entries':>30}" for size in sizes))
    missed: list[str] = []
    for kind in kinds:
        cells = ""
        for size in sizes:
            reference, mooring = (times[one][kind, size] for one in (REFERENCE, MOORING))
            ratio = mooring / reference
            cells += f"{reference * 1e3:>14.1f}{mooring * 1e3:>9.1f}{ratio:>7.2f}"
            if mooring > _SHORT and ratio > MOST:
                missed.append(f"{kind} with {size} entries: {ratio:.1f} times the time")
        print(f"{kind:<26}{cells}", flush=True)
    return missed
