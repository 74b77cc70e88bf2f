"""Load: a thousand nodes and ten thousand pods on `mooring up`, until all of them run."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from benchmarks.local import objects
from benchmarks.local.objects import DEPLOYMENTS, PODS, create
from benchmarks.local.servers import Server, local
from benchmarks.local.wire import ADDED, Watch, Wire
from mooring.client.transport import Request

_CLIENTS = 8
_REPLICAS = 1500
_PATIENCE = 600.0
_RUNNING = "/api/v1/pods?watch=true&fieldSelector=status.phase%3DRunning"


async def measure(folder: Path, nodes: int, pods: int) -> None:
    """Run a cluster of its own and print what it does under load."""
    with local(folder, nodes) as server:
        print(f"{nodes} nodes, {pods} pods: ready after {server.seconds_to_start:.2f} s")
        await _fill(server, nodes, pods)


async def _fill(server: Server, nodes: int, pods: int) -> None:
    wire = Wire(server.kubeconfig)
    prober = Wire(server.kubeconfig)
    changed = asyncio.Event()
    running = await wire.watch(_RUNNING, ADDED, changed.set)
    probe = asyncio.create_task(_probe(prober))
    owned = pods // 2 // _REPLICAS * _REPLICAS
    begin, cpu = time.perf_counter(), server.cpu_seconds()
    try:
        for i in range(owned // _REPLICAS):
            await wire.send(create(DEPLOYMENTS, objects.deployment(f"deploy-{i}", _REPLICAS)))
        plain = (create(PODS, objects.pod(f"plain-{i}")) for i in range(pods - owned))
        created = await wire.send_all(plain, _CLIENTS)
        print(f"  {pods - owned} pods created over {_CLIENTS} connections in {created:.1f} s")
        await _wait(running, changed, pods, begin)
        seconds, used = time.perf_counter() - begin, server.cpu_seconds() - cpu
        print(f"  all {pods} Running after {seconds:.1f} s: {pods / seconds:.0f} pods/s")
        print(f"  CPU {used / pods * 1e3:.2f} ms a pod, memory {server.peak_megabytes():.0f} MiB")
        await _lists(wire, pods)
        await _idle(server)
        stalls = await _stop(probe)
        print(f"  longest wait of a small request {max(stalls) * 1e3:.0f} ms, {_spread(stalls)}")
        print(f"  memory at the end {server.peak_megabytes():.0f} MiB", flush=True)
    finally:
        probe.cancel()
        running.close()
        await prober.close()
        await wire.close()


async def _wait(running: Watch, changed: asyncio.Event, pods: int, begin: float) -> None:
    told = 0
    async with asyncio.timeout(_PATIENCE):
        while running.count < pods:
            changed.clear()
            await changed.wait()
            if running.count - told >= pods / 5:
                told = running.count
                print(f"  {told} Running after {time.perf_counter() - begin:.1f} s", flush=True)


async def _lists(wire: Wire, pods: int) -> None:
    for name, target in (
        ("in one piece", "/api/v1/pods"),
        ("in one piece, as kubectl asks of a node", "/api/v1/pods?fieldSelector=spec.nodeName%3Dx"),
    ):
        begin = time.perf_counter()
        answer = await wire.send(Request("GET", target, timeout=60.0))
        seconds = time.perf_counter() - begin
        size = len(answer.body) / 2**20
        print(f"  {pods} pods listed {name}: {size:.0f} MiB in {seconds:.2f} s")


async def _idle(server: Server) -> None:
    """Say what the cluster costs when nothing happens."""
    cpu, begin = server.cpu_seconds(), time.perf_counter()
    await asyncio.sleep(10)
    share = (server.cpu_seconds() - cpu) / (time.perf_counter() - begin)
    print(f"  idle: {share * 100:.0f} % of one CPU")


async def _probe(wire: Wire) -> list[float]:
    waits: list[float] = []
    try:
        while True:
            begin = time.perf_counter()
            await wire.send(Request("GET", "/api/v1/namespaces/default"))
            waits.append(time.perf_counter() - begin)
            await asyncio.sleep(0.01)
    except asyncio.CancelledError:
        return waits


async def _stop(probe: asyncio.Task[list[float]]) -> list[float]:
    probe.cancel()
    return await probe


def _spread(waits: list[float]) -> str:
    ordered = sorted(waits)
    half, most = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
    return f"median {half * 1e3:.1f} ms, 99 % under {most * 1e3:.0f} ms of {len(waits)}"
