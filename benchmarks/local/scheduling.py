"""Pods scheduled per second: by Mooring over HTTPS on both servers, and within `mooring up`."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from benchmarks.local import objects
from benchmarks.local.objects import NODES, PODS, create
from benchmarks.local.report import Figure
from benchmarks.local.servers import Server
from benchmarks.local.wire import ADDED, Wire
from mooring.client.transport import Request

NODE_COUNT = 100
_OUTSIDE = "outside"
_PATIENCE = 120.0
_CLIENTS = 16


async def outside(server: Server, folder: Path, pods: int) -> list[Figure]:
    """Measure pods bound by a separate Mooring process, over HTTPS."""
    wire = Wire(server.kubeconfig)
    try:
        await wire.send_all(
            (create(NODES, objects.node(f"bench-{i}")) for i in range(NODE_COUNT)), _CLIENTS
        )
        named = (objects.pod(f"out-{i}", schedulerName=_OUTSIDE) for i in range(pods))
        await wire.send_all((create(PODS, one) for one in named), _CLIENTS)
        with _scheduler(server, folder):
            rate = await _bound(wire, _OUTSIDE, pods)
        await wire.send(Request("DELETE", PODS, b'{"gracePeriodSeconds":0}', timeout=120.0))
        await wire.send(Request("DELETE", NODES, b"{}", timeout=120.0))
    finally:
        await wire.close()
    return [Figure(f"{pods} pods bound over HTTPS", "pods/s", rate)]


async def inside(server: Server, pods: int) -> list[str]:
    """Measure pods scheduled and run by `mooring up` itself; return the lines of the report."""
    wire = Wire(server.kubeconfig)
    try:
        begin, cpu = time.perf_counter(), server.cpu_seconds()
        changed = asyncio.Event()
        target = "/api/v1/pods?watch=true&fieldSelector=status.phase%3DRunning"
        running = await wire.watch(target, ADDED, changed.set)
        made = (create(PODS, objects.pod(f"in-{i}")) for i in range(pods))
        creating = asyncio.create_task(wire.send_all(made, _CLIENTS))
        async with asyncio.timeout(_PATIENCE):
            while running.count < pods:
                changed.clear()
                await changed.wait()
        await creating
        seconds, used = time.perf_counter() - begin, server.cpu_seconds() - cpu
        running.close()
    finally:
        await wire.close()
    rate, each = pods / seconds, used / pods * 1e3
    return [f"{pods} pods created, scheduled and Running in mooring up: {rate:.0f} pods/s, "
            f"{each:.2f} ms of CPU each"]  # fmt: skip


@contextmanager
def _scheduler(server: Server, folder: Path) -> Iterator[None]:
    config = folder / f"scheduler-{server.processes[0]}.yaml"
    connection = {"kubeconfig": str(server.kubeconfig), "qps": 5000, "burst": 5000}
    config.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "leaderElection": {"leaderElect": False},
                "clientConnection": connection,
                "profiles": [{"schedulerName": _OUTSIDE}],
            }
        )
    )
    program = Path(sys.executable).with_name("mooring-kube-scheduler")
    with config.with_suffix(".log").open("wb") as log:
        process = subprocess.Popen(
            [program, f"--config={config}", "--secure-port=0"], stdout=log, stderr=log
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


async def _bound(wire: Wire, scheduler: str, pods: int) -> float:
    """Wait until all pods of a scheduler are bound; return the number per second."""
    changed = asyncio.Event()
    selector = f"spec.schedulerName%3D{scheduler},spec.nodeName!%3D"
    watch = await wire.watch(
        f"/api/v1/pods?watch=true&fieldSelector={selector}", ADDED, changed.set
    )
    first = 0.0
    try:
        async with asyncio.timeout(_PATIENCE):
            while watch.count < pods:
                changed.clear()
                await changed.wait()
                # Time from the first bind, so that starting the process does not count.
                first = first or watch.last
        return (pods - 1) / max(watch.last - first, 1e-9)
    finally:
        watch.close()
