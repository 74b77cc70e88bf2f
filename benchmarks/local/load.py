"""Load: a thousand nodes and ten thousand pods on `mooring up`, until all of them run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.local import objects
from benchmarks.local.objects import DEPLOYMENTS, PODS, create
from benchmarks.local.servers import Server, local
from benchmarks.local.wire import ADDED, Watch, Wire
from mooring.client.transport import Request

_CLIENTS = 8
_REPLICAS = 1500
_PATIENCE = 600.0
RUNNING = "/api/v1/pods?watch=true&fieldSelector=status.phase%3DRunning"
_LISTS = {
    "in one piece": "/api/v1/pods",
    "of one node": "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-1",
}


class Load(msgspec.Struct):
    """The results of a load."""

    nodes: int
    pods: int
    #: Seconds until the cluster was ready.
    ready: float
    #: Pods without an owner.
    plain: int = 0
    created: float = 0.0
    #: Seconds until all pods ran, from the first request on.
    running: float = 0.0
    cpu: float = 0.0
    megabytes: float = 0.0
    #: Share of a CPU that is used when nothing happens.
    idle: float = 0.0
    lists: dict[str, tuple[float, int]] = msgspec.field(default_factory=dict)
    #: How long small requests took under the load, in seconds.
    waits: list[float] = msgspec.field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report."""
        yield f"{self.nodes} nodes, {self.pods} pods: ready after {self.ready:.2f} s"
        yield f"  {self.plain} pods created over {_CLIENTS} connections in {self.created:.1f} s"
        rate = self.pods / self.running
        yield f"  all {self.pods} Running after {self.running:.1f} s: {rate:.0f} pods/s"
        each = self.cpu / self.pods * 1e3
        yield f"  CPU {each:.2f} ms a pod, memory at most {self.megabytes:.0f} MiB"
        for name, (seconds, size) in self.lists.items():
            yield f"  pods listed {name}: {size / 2**20:.1f} MiB in {seconds:.2f} s"
        yield f"  idle: {self.idle * 100:.0f} % of one CPU"
        ordered = sorted(self.waits)
        half, most = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
        yield (
            f"  waits of {len(ordered)} small requests: median {half * 1e3:.1f} ms, "
            f"99 % under {most * 1e3:.0f} ms, longest {ordered[-1] * 1e3:.0f} ms"
        )


async def measure(folder: Path, nodes: int, pods: int, *, idle: float = 10.0) -> Load:
    """Run a separate cluster and load it."""
    with local(folder, nodes) as server:
        load = Load(nodes, pods, server.seconds_to_start)
        await _fill(server, load, idle)
        return load


async def _fill(server: Server, load: Load, idle: float) -> None:
    wire = Wire(server.kubeconfig)
    prober = Wire(server.kubeconfig)
    changed = asyncio.Event()
    running = await wire.watch(RUNNING, ADDED, changed.set)
    probe = asyncio.create_task(_probe(prober, load.waits))
    replicas = min(_REPLICAS, load.pods // 4)
    deployments = load.pods // 2 // replicas
    load.plain = load.pods - deployments * replicas
    begin, cpu = time.perf_counter(), server.cpu_seconds()
    try:
        for i in range(deployments):
            await wire.send(create(DEPLOYMENTS, objects.deployment(f"deploy-{i}", replicas)))
        plain = (create(PODS, objects.pod(f"plain-{i}")) for i in range(load.plain))
        load.created = await wire.send_all(plain, _CLIENTS)
        await wait_for(running, changed, load.pods)
        load.running, load.cpu = time.perf_counter() - begin, server.cpu_seconds() - cpu
        for name, target in _LISTS.items():
            begin = time.perf_counter()
            answer = await wire.send(Request("GET", target, timeout=60.0))
            load.lists[name] = (time.perf_counter() - begin, len(answer.body))
        begin, cpu = time.perf_counter(), server.cpu_seconds()
        probe.cancel()
        await asyncio.sleep(idle)
        load.idle = (server.cpu_seconds() - cpu) / max(time.perf_counter() - begin, 1e-9)
        load.megabytes = server.peak_megabytes()
    finally:
        probe.cancel()
        running.close()
        await prober.close()
        await wire.close()


async def wait_for(running: Watch, changed: asyncio.Event, pods: int) -> None:
    """Wait until a watch has seen a number of pods."""
    async with asyncio.timeout(_PATIENCE):
        while running.count < pods:
            if running.ended:
                raise RuntimeError(f"the watch ended with {running.count} of {pods} pods Running")
            changed.clear()
            await changed.wait()


async def _probe(wire: Wire, waits: list[float]) -> None:
    while True:
        begin = time.perf_counter()
        await wire.send(Request("GET", "/api/v1/namespaces/default"))
        waits.append(time.perf_counter() - begin)
        await asyncio.sleep(0.01)
