"""How the cost of a pod grows with the number of nodes and of existing pods."""

from __future__ import annotations

from benchmarks.measure import run
from benchmarks.workloads import WORKLOADS

_SIZES = (500, 5000, 20_000)
_EXISTING = (5000, 50_000)

#: Largest growth from 5,000 to 20,000 nodes, and from 5,000 to 50,000 existing pods.
_WITH_NODES = 4.5
_WITH_PODS = 1.2

_BY_NODES = (
    "SchedulingBasic",
    "SchedulingNodeAffinity",
    "TopologySpreading",
    "PreferredTopologySpreading",
    "SchedulingPodAntiAffinity",
    "SchedulingPreferredPodAffinity",
)
_BY_PODS = (
    "SchedulingBasic",
    "SchedulingNodeAffinity",
    "TopologySpreading",
    "PreferredTopologySpreading",
    "SchedulingPodAffinity",
    "SchedulingPreferredPodAffinity",
)


def report() -> list[str]:
    """Print both tables; return the missed targets."""
    return _by_nodes() + _by_pods()


def _by_nodes() -> list[str]:
    print(f"\n{'CPU µs/pod by number of nodes':<40}" + "".join(f"{n:>9}" for n in _SIZES), end="")
    print(f"{'growth':>9}{'to reach':>10}")
    missed = []
    for name in _BY_NODES:
        make, _ = WORKLOADS[name]
        results = [run(make(nodes, 0)) for nodes in _SIZES]
        growth = results[2].cpu_per_pod / results[1].cpu_per_pod
        cells = "".join(f"{result.cpu_per_pod * 1e6:>9.0f}" for result in results)
        print(f"{name:<40}{cells}{growth:>9.2f}{_WITH_NODES:>10}", flush=True)
        if growth > _WITH_NODES:
            missed.append(f"{name}: {growth:.2f} times from 5,000 to 20,000 nodes")
    return missed


def _by_pods() -> list[str]:
    print(f"\n{'CPU µs/pod by existing pods':<40}" + "".join(f"{n:>9}" for n in _EXISTING), end="")
    print(f"{'growth':>9}{'to reach':>10}")
    missed = []
    for name in _BY_PODS:
        make, _ = WORKLOADS[name]
        costs = [run(make(5000, existing)).loops for existing in _EXISTING]
        growth = costs[1] / costs[0]
        cells = "".join(f"{cost:>9.2f}" for cost in costs)
        print(f"{name:<40}{cells}{growth:>9.2f}{_WITH_PODS:>10}", flush=True)
        if growth > _WITH_PODS:
            missed.append(f"{name}: {growth:.2f} times from 5,000 to 50,000 pods")
    return missed
