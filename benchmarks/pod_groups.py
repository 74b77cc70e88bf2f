"""What pod groups cost: gangs beside the same pods alone, and one gang in many topology domains.

A sample consists of whole gangs, from the group's attempt to the binds of its pods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from benchmarks.measure import Result, Run, compare
from benchmarks.objects import PodTemplate, make_nodes
from benchmarks.workloads import Workload
from mooring.api import Node, Pod, WorkloadPodGroup, scheduling_group_key
from mooring.framework.decision import Outcome
from mooring.framework.features import FeatureGates
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.testing import make_pod_group
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler

_NODES = 5000
_SIZES = (8, 64, 512)
_SAMPLE = 64
_SAMPLES = 8
#: Loops over the nodes that a pod of a gang may cost more than the same pod alone.
_LIMIT = 0.5
_DOMAINS = 50
_GANG = 8
#: How much more a gang may cost if it is tried in so many domains instead of one.
_GROWTH = 10.0
_RACK = "example.com/rack"
_GATES = FeatureGates({"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True})


def report() -> list[str]:
    """Measure every row; return the missed targets."""
    print(f"\n{'pod groups':<48}{'nodes':>7}{'loops':>8}{'more':>8}{'to reach':>10}")
    missed = []
    for size in _SIZES:
        alone, together = measure(size)
        loop = (alone.loop + together.loop) / 2
        more = (together.cpu_per_pod - alone.cpu_per_pod) / loop
        name = f"gangs of {size}"
        cost = together.cpu_per_pod / loop
        print(f"{name:<48}{together.nodes:>7}{cost:>8.2f}{more:>8.2f}{_LIMIT:>10.1f}", flush=True)
        if more > _LIMIT:
            missed.append(f"{name}: {more:.2f} loops more, to reach {_LIMIT}")
    one, many = measure_domains()
    times = many.cpu_per_pod / one.cpu_per_pod
    name = f"gangs of {_GANG} in {_DOMAINS} domains, in times of one"
    print(f"{name:<48}{many.nodes:>7}{many.loops:>8.2f}{times:>8.2f}{_GROWTH:>10.1f}", flush=True)
    if times > _GROWTH:
        missed.append(f"{name}: {times:.2f}, to reach {_GROWTH}")
    return missed


def measure(size: int, nodes: int = _NODES) -> tuple[Result, Result]:
    """Schedule pods alone, and the same pods in gangs of a size."""
    sample = max(size, _SAMPLE)
    count = sample * (_SAMPLES + 1)
    cluster = make_nodes(nodes, 3)
    template = PodTemplate()
    pods = [template.make(f"pod-{number}", "sched-1") for number in range(count)]
    alone = MemoryScheduler([*cluster, *pods], features=_GATES)
    first = Run(Workload([], iter(pods), sample * _SAMPLES, sample=sample), alone, _schedule_pod)
    return compare(first, _gang_run(cluster, size, count, sample, ""))


def measure_domains(domains: int = _DOMAINS, nodes: int = _NODES) -> tuple[Result, Result]:
    """Schedule gangs whose pods share a rack: in a cluster of one rack, and of many."""
    count = _GANG * (_SAMPLES + 1)
    runs = []
    for racks in (1, domains):
        cluster = [_in_rack(node, number % racks) for number, node in enumerate(make_nodes(nodes))]
        runs.append(_gang_run(cluster, _GANG, count, _GANG, _RACK))
    return compare(runs[0], runs[1])


def _in_rack(node: Node, rack: int) -> Node:
    labels = {**node.metadata.labels, _RACK: f"rack-{rack}"}
    return replace(node, metadata=replace(node.metadata, labels=labels))


def _gang_run(cluster: list[Node], size: int, count: int, sample: int, topology: str) -> Run:
    groups = [
        make_pod_group(f"gang-{number}", namespace="sched-1", min_count=size, topology=topology)
        for number in range(count // size)
    ]
    scheduler = MemoryScheduler([*cluster, *groups, *_members(size, count)], features=_GATES)
    pods = _members(size, count)
    work = Workload([], pods, sample * _SAMPLES, sample=sample)
    return Run(work, scheduler, _by_gangs(size))


def _members(size: int, count: int) -> Iterator[Pod]:
    for number in range(count // size):
        template = PodTemplate(schedulingGroup={"podGroupName": f"gang-{number}"})
        for member in range(size):
            yield template.make(f"gang-{number}-{member}", "sched-1")


def _schedule_pod(scheduler: MemoryScheduler, pod: Pod) -> int:
    """Try one pod through all points."""
    return int(drive(scheduler.schedule_one(pod)).outcome is Outcome.SCHEDULED)


def _by_gangs(size: int) -> Callable[[MemoryScheduler, Pod], int]:
    """Return a step that collects pods, and schedules their gang when the last one comes."""
    waiting: list[QueuedPodInfo] = []

    def step(scheduler: MemoryScheduler, pod: Pod) -> int:
        waiting.append(QueuedPodInfo(pod, 0.0, len(waiting)))
        if len(waiting) < size:
            return 0
        assert scheduler.pod_groups is not None
        group: WorkloadPodGroup | None = scheduler.pod_groups.get(scheduling_group_key(pod))
        assert group is not None
        info = QueuedPodGroupInfo(group, waiting[0], 0.0, 0)
        for member in waiting:
            info.add(member)
        waiting.clear()
        decisions = drive(scheduler.schedule_group(info))
        return sum(decision.outcome is Outcome.SCHEDULED for decision in decisions)

    return step


if __name__ == "__main__":
    report()
