"""The first bind: how late both schedulers bind a waiting pod, on a real API server."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from benchmarks.live.cluster import LiveCluster
from benchmarks.live.schedulers import MOORING, REFERENCE, SchedulerProcess, programs
from benchmarks.live.workloads import RACKS, WORKLOADS, make_nodes
from tests.support.control_plane import ControlPlane
from tests.support.real_parts import locate

_MOST = 2.0
_PATIENCE = 60.0


async def measure(folder: Path, nodes: int, *, rounds: int = 5) -> list[str]:
    """Start both schedulers in turn, without leader election; return the lines of the report."""
    folder.mkdir()
    plane = ControlPlane(folder, locate("ETCD"), locate("KUBE_APISERVER"))
    try:
        plane.start()
        cluster = LiveCluster(plane.admin_kubeconfig)
        await cluster.start()
        try:
            await cluster.create(make_nodes(nodes, 3, racks=RACKS))
            seconds = await _starts(plane, cluster, folder, rounds)
        finally:
            await cluster.close()
    finally:
        plane.stop()
    ours, theirs = (statistics.median(seconds[name]) for name in (MOORING, REFERENCE))
    return [
        f"  first bind on {nodes} nodes: {ours:.2f} s, kube-scheduler {theirs:.2f} s; "
        f"{ours / theirs:.2f} times as late, to stay below {_MOST:.0f}"
    ]


async def _starts(
    plane: ControlPlane, cluster: LiveCluster, folder: Path, rounds: int
) -> dict[str, list[float]]:
    """Return how many seconds after each start the pod was seen on a node."""
    seconds: dict[str, list[float]] = {REFERENCE: [], MOORING: []}
    started = programs(locate("KUBE_SCHEDULER"))
    for number in range(rounds):
        for name, program in started.items():
            pods = list(WORKLOADS["basic"].make(1, f"first-{name}-{number}"))
            wanted = {pod.metadata.name for pod in pods}
            await cluster.create(pods)
            begin = time.monotonic()
            with SchedulerProcess(name, program, folder, plane.scheduler_kubeconfig) as process:
                if await cluster.wait_bound(wanted, _PATIENCE):
                    raise RuntimeError(f"{name} bound nothing in {_PATIENCE:.0f} s")
                seconds[name] += (cluster.bound[one] - begin for one in wanted)
                await process.rest()
            await cluster.wipe_pods()
    return seconds
