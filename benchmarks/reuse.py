"""Identical pods with reuse on, compared with reuse off, in the same run."""

from __future__ import annotations

from benchmarks.measure import run
from benchmarks.workloads import WORKLOADS

_NODES = 5000
#: Highest cost with reuse as a share of that without: reuse must not make pods slower.
_PART = 1.0
_ROWS = (
    "SchedulingBasic",
    "SchedulingNodeAffinity",
    "SchedulingPreferredPodAffinity",
    "ManyOwners",
)


def report() -> list[str]:
    """Print a row per workload; return the missed targets."""
    heading = "CPU µs/pod with reuse of identical pods"
    print(f"\n{heading:<48}{'off':>9}{'on':>9}{'loops':>8}{'part':>8}{'to reach':>10}")
    missed = []
    for name in _ROWS:
        make, _ = WORKLOADS[name]
        off, on = run(make(_NODES, 0)), run(make(_NODES, 0), reuse=True)
        # Compare in loops, timed within each run, because the machine's load differs between runs.
        part = on.loops / off.loops
        print(
            f"{name:<48}{off.cpu_per_pod * 1e6:>9.0f}{on.cpu_per_pod * 1e6:>9.0f}"
            f"{on.loops:>8.2f}{part:>8.2f}{_PART:>10.2f}",
            flush=True,
        )
        if part > _PART:
            missed.append(f"{name}: {part:.2f} of the cost with reuse on, to reach {_PART}")
    return missed
