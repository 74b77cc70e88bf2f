"""What Coscheduling adds to a pod's CPU, from the cycle to the bind, in gangs of several sizes.

The same pods are scheduled without it. A sample consists of whole gangs, because the last member of
a gang lets all others go.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.contrib import make_scheduler
from benchmarks.measure import Result, Run, compare
from benchmarks.objects import PodTemplate, make_nodes
from benchmarks.workloads import Workload
from mooring.api import KubeObject, Pod, decode
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler

_NODES = 5000
_SIZES = (8, 64, 512)
#: The fewest pods of a sample, and the samples.
_SAMPLE = 64
_SAMPLES = 8
#: Loops over the nodes that a member may cost more than the same pod without the plugin.
_LIMIT = 1.0
#: How much more the members of the largest gangs may cost than those of the smallest.
_GROWTH = 1.5

_PROFILE = {
    "plugins": {
        "multiPoint": {
            "enabled": [{"name": "Coscheduling"}],
            "disabled": [{"name": "PrioritySort"}],
        }
    }
}


def report() -> list[str]:
    """Measure every size; return the missed targets."""
    print(f"\n{'gangs, with Coscheduling':<48}{'nodes':>7}{'loops':>8}{'more':>8}{'to reach':>10}")
    missed = []
    costs = []
    for size in _SIZES:
        without, with_it = measure(size)
        loop = (without.loop + with_it.loop) / 2
        more = (with_it.cpu_per_pod - without.cpu_per_pod) / loop
        costs.append(with_it.cpu_per_pod / loop)
        name = f"gangs of {size}"
        print(
            f"{name:<48}{with_it.nodes:>7}{costs[-1]:>8.2f}{more:>8.2f}{_LIMIT:>10.1f}", flush=True
        )
        if more > _LIMIT:
            missed.append(f"{name}: {more:.2f} loops more, to reach {_LIMIT}")
    growth = costs[-1] / costs[0]
    if growth > _GROWTH:
        missed.append(
            f"gangs: a member of {_SIZES[-1]} costs {growth:.2f} times one of {_SIZES[0]}, "
            f"to reach {_GROWTH}"
        )
    return missed


def measure(size: int, nodes: int = _NODES) -> tuple[Result, Result]:
    """Schedule gangs of a size without and with the plugin."""
    sample = max(size, _SAMPLE)
    count = sample * (_SAMPLES + 1)
    runs = []
    for profile in ({}, _PROFILE):
        scheduler = make_scheduler([*make_nodes(nodes, 3), *_gangs(size, count)], profile)
        pods = list(_members(size, count))
        work = Workload([], iter(pods), sample * _SAMPLES, sample=sample)
        runs.append(Run(work, scheduler, _schedule_one))
    return compare(runs[0], runs[1])


def _schedule_one(scheduler: MemoryScheduler, pod: Pod) -> int:
    """Try one pod through all points."""
    drive(scheduler.schedule_one(pod))
    return 1


def _gangs(size: int, count: int) -> list[KubeObject]:
    """Return the PodGroups and their pending members."""
    groups: list[KubeObject] = [
        decode(
            {
                "apiVersion": "scheduling.x-k8s.io/v1alpha1",
                "kind": "PodGroup",
                "metadata": {"name": f"gang-{number}", "namespace": "sched-1"},
                "spec": {"minMember": size},
            }
        )
        for number in range(count // size)
    ]
    return [*groups, *_members(size, count)]


def _members(size: int, count: int) -> Iterator[Pod]:
    for number in range(count // size):
        template = PodTemplate(labels={"scheduling.x-k8s.io/pod-group": f"gang-{number}"})
        for member in range(size):
            yield template.make(f"gang-{number}-{member}", "sched-1")


if __name__ == "__main__":
    report()
