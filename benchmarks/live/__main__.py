"""Run both schedulers in turn on one API server: `python -m benchmarks.live`."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from benchmarks.live.cluster import LiveCluster
from benchmarks.live.extender import run_extender
from benchmarks.live.hostile import run_hostile
from benchmarks.live.hostile_pods import HOSTILE_PODS
from benchmarks.live.schedulers import (
    MOORING,
    REFERENCE,
    SchedulerProcess,
    cpu_seconds,
    programs,
)
from benchmarks.live.workloads import (
    HIGH,
    POD_GROUP_GATES,
    RACKS,
    WORKLOADS,
    LiveWorkload,
    make_nodes,
)
from mooring.api import Node, ObjectMeta, Pod, PriorityClass
from tests.support.control_plane import ControlPlane
from tests.support.real_parts import locate

_LARGE = 5000
_HOSTILE = "hostile-pods"
_EXTENDER = "extender"
#: Most memory that Mooring may use, as a multiple of kube-scheduler's.
_MEMORY = 1.5
#: Timeout of one run, in seconds.
_PATIENCE = 900.0


class Run(msgspec.Struct, frozen=True):
    """The figures of one run of a scheduler."""

    pods_per_second: float
    cpu_ms_per_pod: float
    first_bind: float
    megabytes: float
    #: CPU of API server and etcd from the start to the last bind, which no scheduler can save.
    server_ms_per_pod: float = 0.0
    problem: str = ""


def main(argv: list[str] | None = None) -> int:
    """Run the benchmarks; return 1 if a target was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live", description=__doc__)
    parser.add_argument("workloads", nargs="*", help=f"default: all but {_HOSTILE}")
    parser.add_argument("--nodes", type=int, action="append", help="default: 500 and 5000")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument(
        "--entries",
        type=int,
        action="append",
        help=f"entries of the lists of {_HOSTILE} (default: 10, 300 and 3000)",
    )
    parser.add_argument(
        "--kind",
        action="append",
        choices=tuple(HOSTILE_PODS),
        help=f"the lists of {_HOSTILE} (default: all)",
    )
    args = parser.parse_args(argv)
    known = (*WORKLOADS, _EXTENDER, _HOSTILE)
    unknown = sorted(set(args.workloads) - set(known))
    if unknown:
        parser.error(f"no workload {', '.join(unknown)}; there are {', '.join(known)}")
    chosen = args.workloads or [*WORKLOADS, _EXTENDER]
    hostile = (args.kind or list(HOSTILE_PODS), args.entries or [10, 300, 3000])
    missed: list[str] = []
    for nodes in args.nodes or [500, _LARGE]:
        with tempfile.TemporaryDirectory(prefix="mooring-bench-") as folder:
            plane = ControlPlane(
                Path(folder), locate("ETCD"), locate("KUBE_APISERVER"), flags=_server_flags(chosen)
            )
            plane.start()
            try:
                missed += asyncio.run(
                    _cluster(plane, Path(folder), nodes, chosen, args.pairs, hostile)
                )
            finally:
                plane.stop()
    for line in missed:
        print(f"not reached: {line}")
    return 1 if missed else 0


def _server_flags(chosen: list[str]) -> tuple[str, ...]:
    """Return the flags of an API server that serves what the workloads need."""
    if not any(POD_GROUP_GATES in WORKLOADS[name].flags for name in chosen if name in WORKLOADS):
        return ()
    return (POD_GROUP_GATES, "--runtime-config=scheduling.k8s.io/v1beta1=true")


async def _cluster(
    plane: ControlPlane,
    folder: Path,
    nodes: int,
    chosen: list[str],
    pairs: int,
    hostile: tuple[list[str], list[int]],
) -> list[str]:
    cluster = LiveCluster(plane.admin_kubeconfig)
    await cluster.start()
    made = make_nodes(nodes, 3, racks=RACKS)
    await cluster.create(made)
    await cluster.create([PriorityClass(metadata=ObjectMeta(name=HIGH), value=100)])
    print(
        f"\n{nodes} nodes{'':<16}{'pods/s':>22}{'ratio':>7}{'CPU ms/pod':>18}{'ratio':>7}"
        f"{'first bind s':>16}{'MB':>14}{'server ms/pod':>18}"
    )
    missed: list[str] = []
    try:
        for name in chosen:
            if name == _HOSTILE:
                names = [node.metadata.name for node in made]
                missed += await run_hostile(plane, cluster, folder, names, *hostile, pairs)
                continue
            if name == _EXTENDER:
                missed += await asyncio.to_thread(run_extender, plane, folder, made)
                continue
            missed += await _workload(cluster, plane, folder, name, made, pairs)
    finally:
        await cluster.close()
    return missed


async def _workload(
    cluster: LiveCluster,
    plane: ControlPlane,
    folder: Path,
    name: str,
    nodes: list[Node],
    pairs: int,
) -> list[str]:
    workload = WORKLOADS[name]
    runs: dict[str, list[Run]] = {REFERENCE: [], MOORING: []}
    started = programs(locate("KUBE_SCHEDULER"))
    if workload.custom_resources:
        await cluster.serve_pod_groups()
    if workload.shared is not None:
        await cluster.create(workload.shared(len(nodes)))
    count = workload.pods[len(nodes) >= _LARGE]
    for pair in range(pairs):
        for scheduler in (REFERENCE, MOORING):
            if workload.filler is not None:
                await cluster.create(pod for node in nodes for pod in workload.filler(node))
            # Unique, because the protection of groups keeps those of earlier runs.
            unique = f"{name}-{scheduler}-{pair}"
            if workload.objects is not None:
                await cluster.create(workload.objects(count, unique))
            pods = list(workload.make(count, unique))
            program = started[scheduler]
            run = await _run(cluster, plane, folder, scheduler, program, workload, pods)
            runs[scheduler].append(run)
    return _report(name, workload, len(nodes), runs)


async def _run(
    cluster: LiveCluster,
    plane: ControlPlane,
    folder: Path,
    scheduler: str,
    program: list[str],
    workload: LiveWorkload,
    pods: list[Pod],
) -> Run:
    await cluster.create(pods)
    wanted = {pod.metadata.name for pod in pods if workload.leaves == 0 or _fits(pod)}
    start, server = time.monotonic(), _server_seconds(plane)
    settings = workload.settings | (workload.extra if scheduler == MOORING else {})
    with SchedulerProcess(
        scheduler, [*program, *workload.flags], folder, plane.scheduler_kubeconfig, settings
    ) as process:
        left = await cluster.wait_bound(wanted, _PATIENCE)
        server = _server_seconds(plane) - server
        # Writing Events after the last bind is part of the work.
        usage = await process.rest()
    binds = sorted(cluster.bound[name] for name in wanted - left)
    problem = f"{len(left)} pods were not bound" if left else ""
    problem = problem or workload.check(cluster.pods(wanted))
    await cluster.wipe_pods()
    if not binds:
        return Run(0.0, 0.0, 0.0, usage.megabytes, problem=problem)
    begin = start if workload.from_start else binds[0]
    rate = len(binds) / max(binds[-1] - begin, 1e-9)
    return Run(
        rate,
        usage.cpu_seconds / len(pods) * 1e3,
        binds[0] - start,
        usage.megabytes,
        server / len(pods) * 1e3,
        problem,
    )


def _server_seconds(plane: ControlPlane) -> float:
    return cpu_seconds(plane.kube_apiserver.pid) + cpu_seconds(plane.etcd.pid)


def _fits(pod: object) -> bool:
    return pod.spec.containers[0].resources.requests["cpu"] != "9"  # type: ignore[attr-defined]


def _report(name: str, workload: LiveWorkload, nodes: int, runs: dict[str, list[Run]]) -> list[str]:
    def median(field: str, scheduler: str) -> float:
        return statistics.median(getattr(run, field) for run in runs[scheduler])

    rates = [median("pods_per_second", one) for one in (REFERENCE, MOORING)]
    cpu = [median("cpu_ms_per_pod", one) for one in (REFERENCE, MOORING)]
    first = [median("first_bind", one) for one in (REFERENCE, MOORING)]
    memory = [median("megabytes", one) for one in (REFERENCE, MOORING)]
    server = [median("server_ms_per_pod", one) for one in (REFERENCE, MOORING)]
    faster = rates[1] / rates[0] if rates[0] else 0.0
    cheaper = cpu[1] / cpu[0] if cpu[0] else 0.0
    print(
        f"{name:<22}{rates[0]:>12.0f} {rates[1]:>9.0f}{faster:>7.2f}{cpu[0]:>9.2f} {cpu[1]:>8.2f}"
        f"{cheaper:>7.2f}{first[0]:>8.2f} {first[1]:>7.2f}{memory[0]:>7.0f} {memory[1]:>6.0f}"
        f"{server[0]:>9.1f} {server[1]:>8.1f}",
        flush=True,
    )
    missed = [
        f"{name} at {nodes} nodes, {scheduler}: {run.problem}"
        for scheduler, these in runs.items()
        for run in these
        if run.problem
    ]
    if nodes >= _LARGE:
        if faster < workload.faster:
            missed.append(f"{name}: {faster:.2f} times the pods/s, to reach {workload.faster}")
        if cheaper > workload.cpu:
            missed.append(f"{name}: {cheaper:.2f} of the CPU, to reach {workload.cpu:.3f}")
        if memory[1] > memory[0] * _MEMORY:
            missed.append(f"{name}: {memory[1] / memory[0]:.2f} of the memory, to reach {_MEMORY}")
    return missed


if __name__ == "__main__":
    sys.exit(main())
