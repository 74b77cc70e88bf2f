"""Churn: the memory that `mooring up` keeps after pods are created and deleted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.local import objects
from benchmarks.local.load import RUNNING, wait_for
from benchmarks.local.objects import JSON, PODS, create
from benchmarks.local.servers import Server, local
from benchmarks.local.wire import ADDED, Wire
from mooring.client.transport import Request

_CLIENTS = 8
_NODES = 20
_WAVE = 500
#: Short compared with the run, so that the Events of deleted pods expire too.
_EVENT_TTL = "20s"
_STEPS = 10
#: The step to compare with: after a fifth of the pods, all tables with a limit have reached it.
_BASE = 2
_RATIO = 1.2
_NOW = b'{"gracePeriodSeconds":0}'


class Churn(msgspec.Struct):
    """The cluster's memory after each number of pods."""

    pods: int
    seconds: float = 0.0
    megabytes: list[tuple[int, float]] = msgspec.field(default_factory=list)

    @property
    def ratio(self) -> float:
        """The memory at the end, as a multiple of that after a fifth of the pods."""
        return self.megabytes[-1][1] / self.megabytes[_BASE - 1][1]

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report."""
        rate = self.pods / self.seconds
        yield f"{self.pods} pods came and went on {_NODES} nodes, {rate:.0f} pods/s"
        for pods, megabytes in self.megabytes:
            yield f"  after {pods:>7} pods: {megabytes:.0f} MiB"
        yield f"  {self.ratio:.2f} times the memory of a fifth of them, to stay below {_RATIO}"


async def measure(folder: Path, pods: int) -> Churn:
    """Run a separate cluster, and create and delete pods in waves."""
    with local(folder, _NODES, f"--event-ttl={_EVENT_TTL}") as server:
        found = Churn(pods)
        begin = time.perf_counter()
        await _run(server, found)
        found.seconds = time.perf_counter() - begin
        return found


async def _run(server: Server, found: Churn) -> None:
    wire = Wire(server.kubeconfig)
    changed = asyncio.Event()
    running = await wire.watch(RUNNING, ADDED, changed.set)
    done = 0
    try:
        for step in range(1, _STEPS + 1):
            end = found.pods * step // _STEPS
            while done < end:
                names = [f"churn-{i}" for i in range(done, min(done + _WAVE, end))]
                done += len(names)
                await wire.send_all((create(PODS, objects.pod(name)) for name in names), _CLIENTS)
                await wait_for(running, changed, done)
                gone = (Request("DELETE", f"{PODS}/{name}", _NOW, JSON, 60.0) for name in names)
                await wire.send_all(gone, _CLIENTS)
            found.megabytes.append((done, server.megabytes()))
            print(f"  {done} pods: {found.megabytes[-1][1]:.0f} MiB", flush=True)
    finally:
        running.close()
        await wire.close()
