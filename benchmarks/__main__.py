"""Run the benchmarks and print the results beside their targets: `python -m benchmarks`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from benchmarks import contrib, forms, gangs, growth, memory, pod_groups, reuse
from benchmarks.measure import Result, run
from benchmarks.workloads import WORKLOADS

_NODES = 5000


def main(argv: list[str] | None = None) -> int:
    """Run the benchmarks; return 1 if a target was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("workloads", nargs="*", help="names of workloads; default: all")
    parser.add_argument("--nodes", type=int, default=_NODES)
    parser.add_argument("--only", action="store_true", help="workloads only, no growth or memory")
    args = parser.parse_args(argv)
    unknown = sorted(set(args.workloads) - set(WORKLOADS))
    if unknown:
        parser.error(f"no workload {', '.join(unknown)}; there are {', '.join(WORKLOADS)}")
    missed = _workloads(args.workloads or WORKLOADS, args.nodes)
    if not args.only:
        for part in (growth, forms, reuse, contrib, gangs, pod_groups, memory):
            missed += part.report()
    for line in missed:
        print(f"not reached: {line}")
    return 1 if missed else 0


def _workloads(names: Iterable[str], nodes: int) -> list[str]:
    heading = f"{'workload':<48}{'nodes':>7}{'pods/s':>9}{'CPU µs/pod':>12}"
    print(f"{heading}{'loops':>8}{'to reach':>10}")
    missed = []
    for name in names:
        make, limit = WORKLOADS[name]
        result = run(make(nodes, 0))
        print(f"{_row(name, result)}{limit:>10.1f}", flush=True)
        if result.loops > limit:
            missed.append(f"{name}: {result.loops:.2f} loops, to reach {limit}")
    return missed


def _row(name: str, result: Result) -> str:
    return (
        f"{name:<48}{result.nodes:>7}{result.pods_per_second:>9.0f}"
        f"{result.cpu_per_pod * 1e6:>12.0f}{result.loops:>8.2f}"
    )


if __name__ == "__main__":
    sys.exit(main())
