"""Watch fan-out: how fast changes reach many watches, and the delay of the last one."""

from __future__ import annotations

import asyncio
import statistics
import time

from benchmarks.local.objects import create
from benchmarks.local.report import Figure
from benchmarks.local.servers import Server
from benchmarks.local.wire import ADDED, Wire
from mooring.client.transport import Request

MAPS = "/api/v1/namespaces/default/configmaps"
_PATIENCE = 120.0
_DELAYS = 40


async def measure(server: Server, watches: int, events: int) -> list[Figure]:
    """Return the events delivered per second, and the delay from a write to its last delivery."""
    wire = Wire(server.kubeconfig)
    changed = asyncio.Event()
    begun = await wire.send(Request("GET", f"{MAPS}?limit=1"))
    version = begun.body.partition(b'"resourceVersion":"')[2].partition(b'"')[0].decode()
    target = f"{MAPS}?watch=true&resourceVersion={version}"
    opened = [await wire.watch(target, ADDED, changed.set) for _ in range(watches)]

    async def wait(count: int) -> None:
        async with asyncio.timeout(_PATIENCE):
            while any(one.count < count for one in opened):
                changed.clear()
                await changed.wait()

    try:
        delays = []
        for i in range(_DELAYS):
            begin = time.perf_counter()
            await wire.send(create(MAPS, _map(f"slow-{i}")))
            await wait(i + 1)
            delays.append(max(one.last for one in opened) - begin)
        cpu = server.cpu_seconds()
        begin = time.perf_counter()
        await wire.send_all((create(MAPS, _map(f"fast-{i}")) for i in range(events)), 8)
        await wait(_DELAYS + events)
        seconds = time.perf_counter() - begin
        used = (server.cpu_seconds() - cpu) / (events * watches) * 1e3
    finally:
        for one in opened:
            one.close()
        await wire.send(Request("DELETE", MAPS, b"{}", timeout=120.0))
        await wire.close()
    name = f"{watches} watches"
    return [
        Figure(f"{name}, {events} events", "deliveries/s", events * watches / seconds, used),
        Figure(f"{name}, delay, median", "ms", statistics.median(delays) * 1e3, lower=True),
        Figure(f"{name}, delay, worst of {_DELAYS}", "ms", max(delays) * 1e3, lower=True),
    ]


def _map(name: str) -> dict[str, object]:
    data = {"value": "x" * 1000}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
