"""Schedulers with and without records, journal and a reader, as processes on one API server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path

import aiohttp
import msgspec

from benchmarks.live.cluster import LiveCluster
from benchmarks.live.schedulers import MOORING, SchedulerProcess, programs
from benchmarks.objects import PodTemplate
from benchmarks.records.figures import Figure
from mooring.api import Pod
from tests.support.control_plane import ADMIN_TOKEN
from tests.support.processes import LOOPBACK, free_port

#: The most memory, as a multiple of that of a scheduler that keeps nothing.
_MEMORY = 1.2
_PATIENCE = 600.0

NOTHING = "nothing"
RECORDS = "records"
JOURNAL = "records and journal"
READER = "records and an open page"
#: By what is compared: with what, and the most CPU a pod as a multiple of it.
_LIMITS = {RECORDS: (NOTHING, 1.03), JOURNAL: (NOTHING, 1.15), READER: (RECORDS, 1.05)}


class VariantRun(msgspec.Struct, frozen=True):
    """The figures of one run of a scheduler."""

    cpu_ms_per_pod: float
    megabytes: float


def basic(count: int) -> Iterator[Pod]:
    """Yield identical pods."""
    template = PodTemplate()
    return (template.make(f"pod-{i}", "default") for i in range(count))


def mixed(count: int) -> Iterator[Pod]:
    """Yield pods of 40 sizes."""
    templates = [
        PodTemplate(cpu=f"{50 + 10 * size}m", memory=f"{100 + 25 * size}Mi") for size in range(40)
    ]
    return (templates[i % len(templates)].make(f"pod-{i}", "default") for i in range(count))


WORKLOADS: dict[str, Callable[[int], Iterator[Pod]]] = {"basic": basic, "mixed sizes": mixed}


async def compare(
    cluster: LiveCluster,
    kubeconfig: Path,
    folder: Path,
    workload: str,
    pods: int,
    rounds: int,
) -> list[Figure]:
    """Run each variant in turn, `rounds` times; return ratios of the least disturbed runs."""
    runs: dict[str, list[VariantRun]] = {NOTHING: [], RECORDS: [], JOURNAL: [], READER: []}
    for number in range(rounds):
        journal = folder / f"journal-{workload.replace(' ', '-')}-{number}"
        flags = {NOTHING: ["--explain-memory=0"], JOURNAL: [f"--journal={journal}"]}
        for name, found in runs.items():
            run = await _run(
                cluster,
                kubeconfig,
                folder,
                list(WORKLOADS[workload](pods)),
                flags.get(name, []),
                is_read=name == READER,
            )
            found.append(run)
    # Other programs on the machine only ever add to the CPU of a run.
    cpu = {name: min(run.cpu_ms_per_pod for run in found) for name, found in runs.items()}
    memory = {name: min(run.megabytes for run in found) for name, found in runs.items()}
    figures = []
    for name, (base, limit) in _LIMITS.items():
        detail = f"{cpu[name]:.3f} ms and {cpu[base]:.3f} ms"
        ratio = cpu[name] / cpu[base]
        figures.append(Figure(f"{workload}: {name}, CPU a pod", ratio, limit, detail=detail))
    for name in (RECORDS, JOURNAL):
        detail = f"{memory[name]:.0f} MB and {memory[NOTHING]:.0f} MB"
        ratio = memory[name] / memory[NOTHING]
        figures.append(Figure(f"{workload}: {name}, memory", ratio, _MEMORY, detail=detail))
    return figures


async def _run(
    cluster: LiveCluster,
    kubeconfig: Path,
    folder: Path,
    pods: Sequence[Pod],
    flags: Sequence[str],
    *,
    is_read: bool,
) -> VariantRun:
    await cluster.create(pods)
    port = free_port()
    serving = [
        f"--secure-port={port}",
        f"--bind-address={LOOPBACK}",
        f"--cert-dir={folder / 'certificates'}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        *flags,
    ]
    program = programs(Path())[MOORING]
    with SchedulerProcess(MOORING, program, folder, kubeconfig, serving=serving) as process:
        async with _reader(port) if is_read else contextlib.nullcontext():
            left = await cluster.wait_bound({pod.name for pod in pods}, _PATIENCE)
            usage = await process.rest()
    await cluster.wipe_pods()
    if left:
        raise RuntimeError(f"{len(left)} pods were not bound")
    return VariantRun(usage.cpu_seconds / len(pods) * 1e3, usage.megabytes)


@contextlib.asynccontextmanager
async def _reader(port: int) -> AsyncIterator[None]:
    """Read the stream of decisions, as a page does that somebody looks at."""
    reading = asyncio.create_task(_read(f"https://{LOOPBACK}:{port}/explain/v1/decisions"))
    try:
        yield
    finally:
        reading.cancel()
        # A stream that could not be read makes the comparison worthless.
        with contextlib.suppress(asyncio.CancelledError):
            await reading


async def _read(url: str) -> None:
    headers = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
        while True:
            try:
                async with session.get(url, ssl=False) as answer:
                    answer.raise_for_status()
                    async for _ in answer.content.iter_any():
                        pass
            except aiohttp.ClientConnectorError:
                # The scheduler does not listen yet.
                await asyncio.sleep(0.02)
