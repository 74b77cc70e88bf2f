"""The share of the scheduling loop's time that records and journal take, in one process.

A live scheduler works on an API server in the same process. Each observer of its loop is timed
while it works, and so is the loop, so that both come from the same run. The times are those of the
thread's CPU, because other programs interrupt a short call as well as a long one.

Reading that clock takes about as long as a short call. So a third observer, which does nothing, is
timed in the same run by two nested stopwatches. They show the time that a stopwatch measures for an
empty call, and the time that it adds to the loop. Both are subtracted for each timed call.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.objects import PodTemplate
from benchmarks.records.figures import Figure
from mooring.api import Node, Pod, encode
from mooring.apiserver.in_process_transport import LocalTransport
from mooring.client.client import Client
from mooring.config import default_config
from mooring.explain.attempt_history import AttemptHistory
from mooring.framework.features import FeatureGates
from mooring.journal.journal_folder import JournalFolder
from mooring.observe.clock import SystemClock
from mooring.observe.metrics import Metrics
from mooring.registry import default_registry
from mooring.scheduler.running_scheduler import RunningScheduler
from mooring.scheduler.taps import SchedulingTap, SilentTap
from tests.apiserver.api_server import ADMIN, ApiServer

#: The highest share of the loop's time.
_BOTH = 0.05
_PATIENCE = 600.0
#: A pod that no node has room for.
WAITING = PodTemplate(cpu="99").make("waiting", "default")


class Stopwatch:
    """The seconds of CPU that calls have taken in their thread."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.calls = 0

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function whose calls are timed."""

        def timed(*args: Any) -> Any:
            begin = time.thread_time()
            try:
                return call(*args)
            finally:
                self.seconds += time.thread_time() - begin
                self.calls += 1

        return timed


def timed_tap(tap: SchedulingTap, watch: Stopwatch) -> SchedulingTap:
    """Return a tap that passes on the calls that a tap does not ignore, and times them."""
    methods = {
        call: staticmethod(watch.around(getattr(tap, call)))
        for call in vars(SilentTap)
        if not call.startswith("_") and getattr(type(tap), call) is not getattr(SilentTap, call)
    }
    made: SchedulingTap = type("TimedTap", (SilentTap,), methods)()
    return made


class EmptyTap(SilentTap):
    """A tap that is called for each attempt, and does nothing."""

    def deciding(self, *told: Any) -> None:
        """Do nothing."""

    def decided(self, *told: Any) -> None:
        """Do nothing."""

    def permitted(self, *told: Any) -> None:
        """Do nothing."""

    def bound(self, *told: Any) -> None:
        """Do nothing."""


class LoopRun(msgspec.Struct):
    """A scheduler that has placed all its pods, and what that took."""

    running: RunningScheduler
    history: AttemptHistory
    pods: int
    loop: Stopwatch
    ring: Stopwatch
    journal: Stopwatch
    #: The stopwatch of an empty tap, and the stopwatch around that one.
    empty: Stopwatch
    outer: Stopwatch

    def figures(self, workload: str) -> list[Figure]:
        """Return the shares of the loop's time, without the cost of the stopwatches."""
        measured = self.empty.seconds / self.empty.calls
        added = self.outer.seconds / self.outer.calls - measured
        ring = self.ring.seconds - measured * self.ring.calls
        journal = self.journal.seconds - measured * self.journal.calls
        watches = (self.ring, self.journal, self.empty, self.outer)
        loop = self.loop.seconds - added * sum(watch.calls for watch in watches)
        share = (ring + journal) / loop
        each = (
            f"{loop / self.pods * 1e6:.0f} µs of the loop a pod, records alone {ring / loop:.1%}; "
            f"subtracted {measured * 1e6:.2f} µs a call"
        )
        return [Figure(f"{workload}: records and journal, of the loop", share, _BOTH, "of", each)]


@contextlib.asynccontextmanager
async def loop_run(
    nodes: Sequence[Node], pods: Sequence[Pod], folder: Path
) -> AsyncIterator[LoopRun]:
    """Schedule pods, and one that fits nowhere, with records and a journal; leave it running."""
    server, clock = ApiServer(), SystemClock()
    for node in nodes:
        await server.ask("POST", "/api/v1/nodes", encode(node))
    client = Client(LocalTransport(server.api, ADMIN), clock=clock)
    registry, features = default_registry(), FeatureGates()
    config = default_config(registry=registry, feature_gates=features)
    metrics = Metrics(features.enabled)
    journals = JournalFolder(str(folder))
    journal = journals.begin(
        config, registry=registry, features=features, clock=clock, metrics=metrics
    )
    history, loop, ring, written = AttemptHistory(), Stopwatch(), Stopwatch(), Stopwatch()
    empty, outer = Stopwatch(), Stopwatch()
    running = RunningScheduler(
        config,
        client=client,
        event_client=client,
        registry=registry,
        features=features,
        clock=clock,
        metrics=metrics,
        taps=(
            timed_tap(history, ring),
            timed_tap(timed_tap(EmptyTap(), empty), outer),
            timed_tap(journal, written),
        ),
    )
    _time_turns(running, loop)
    await running.sync()
    journals.follow(journal, running)
    for pod in (WAITING, *pods):
        await server.ask("POST", f"/api/v1/namespaces/{pod.namespace}/pods", encode(pod))
    # What exists now is of no interest to the garbage collector, whose work is due by chance.
    gc.collect()
    gc.freeze()
    task = asyncio.create_task(running.scheduler.run())
    try:
        async with asyncio.timeout(_PATIENCE):
            while len(running.scheduler.cache.pods) < len(pods) or running.scheduler.cache.assumed:
                await asyncio.sleep(0.05)
        yield LoopRun(running, history, len(pods), loop, ring, written, empty, outer)
    finally:
        gc.unfreeze()
        task.cancel()
        await running.close(1.0)
        await journals.close()
        await client.close()


def _time_turns(running: RunningScheduler, watch: Stopwatch) -> None:
    """Time every turn of the loop that has tried a pod, without the waiting in between."""
    turn = running.scheduler.turn

    async def timed() -> bool:
        begin = time.thread_time()
        tried = await turn()
        if tried:
            watch.seconds += time.thread_time() - begin
            watch.calls += 1
        return tried

    running.scheduler.turn = timed  # type: ignore[method-assign]
