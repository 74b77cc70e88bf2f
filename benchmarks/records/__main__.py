"""Measure what records, journal, explanations, replay and the page cost.

Run `python -m benchmarks.records`.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from benchmarks.live.cluster import LiveCluster
from benchmarks.objects import PodTemplate, make_nodes
from benchmarks.records import live, page, questions, replaying
from benchmarks.records.figures import Figure, heading
from benchmarks.records.loop import WAITING, loop_run
from mooring.api import Pod
from tests.support.control_plane import ControlPlane
from tests.support.real_parts import locate

_SECTIONS = ("loop", "replay", "live", "explain", "page")
#: Objects that are made between two runs of the garbage collector.
_COLLECT_AFTER = 50_000
#: Examinations that are measured, and pairs of commands.
_ROUNDS = 5


def main(argv: list[str] | None = None) -> int:
    """Run the chosen sections; return 1 if a limit was exceeded."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.records", description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(_SECTIONS)}; default: all")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=3000, help="pods of each run")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved runs of live")
    args = parser.parse_args(argv)
    unknown = sorted(set(args.sections) - set(_SECTIONS))
    if unknown:
        parser.error(f"no section {', '.join(unknown)}; there are {', '.join(_SECTIONS)}")
    chosen = set(args.sections or _SECTIONS)
    # As in the processes of `mooring run` and `mooring replay`.
    gc.set_threshold(_COLLECT_AFTER, 10, 10)
    print(heading())
    missed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="mooring-bench-") as name:
        folder = Path(name)
        if chosen & {"loop", "replay"}:
            for workload in live.WORKLOADS:
                missed += asyncio.run(_loop(folder, workload, chosen, args))
        if chosen & {"live", "explain"}:
            plane = ControlPlane(folder, locate("ETCD"), locate("KUBE_APISERVER"))
            plane.start()
            try:
                missed += asyncio.run(_live(plane, folder, chosen, args))
            finally:
                plane.stop()
    if "page" in chosen:
        missed += _show(asyncio.run(page.page(args.nodes)))
    for line in missed:
        print(f"not reached: {line}")
    return 1 if missed else 0


def _show(figures: Iterable[Figure]) -> list[str]:
    missed = []
    for figure in figures:
        print(figure.line, flush=True)
        missed += [figure.missed] if figure.missed else []
    return missed


async def _loop(
    folder: Path, workload: str, chosen: set[str], args: argparse.Namespace
) -> list[str]:
    nodes = make_nodes(args.nodes, 3)
    pods = list(live.WORKLOADS[workload](args.pods))
    journal = folder / workload.replace(" ", "-")
    missed: list[str] = []
    async with loop_run(nodes, pods, journal) as run:
        if "loop" in chosen:
            missed += _show(run.figures(workload))
            missed += _show(await questions.examination(run, _ROUNDS))
    if "replay" in chosen:
        missed += _show(await replaying.replay(journal, nodes, pods))
    return missed


async def _live(
    plane: ControlPlane, folder: Path, chosen: set[str], args: argparse.Namespace
) -> list[str]:
    cluster = LiveCluster(plane.admin_kubeconfig)
    await cluster.start()
    missed: list[str] = []
    try:
        await cluster.create(make_nodes(args.nodes, 3))
        if "live" in chosen:
            for workload in live.WORKLOADS:
                found = await live.compare(
                    cluster, plane.scheduler_kubeconfig, folder, workload, args.pods, args.rounds
                )
                missed += _show(found)
        if "explain" in chosen:
            await cluster.create(_running(args.nodes, args.pods))
            await cluster.create([WAITING])
            missed += _show(
                await asyncio.to_thread(
                    questions.cold_explain,
                    locate("KUBECTL"),
                    plane.admin_kubeconfig,
                    WAITING,
                    _ROUNDS,
                )
            )
    finally:
        await cluster.close()
    return missed


def _running(nodes: int, count: int) -> Iterable[Pod]:
    template = PodTemplate()
    return (template.make(f"there-{i}", "default", f"node-{i % nodes}") for i in range(count))


if __name__ == "__main__":
    sys.exit(main())
