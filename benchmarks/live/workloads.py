"""The pods of each live workload, and the targets at 5,000 nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from benchmarks.objects import HOSTNAME, ZONE, PodTemplate, make_nodes
from mooring.api import Node, Pod

_NAMESPACE = "default"
#: Members of a gang.
_GANG = 50
_COSCHEDULING = {
    "plugins": {
        "multiPoint": {
            "enabled": [{"name": "Coscheduling"}],
            "disabled": [{"name": "PrioritySort"}],
        }
    }
}
#: The name of a PriorityClass in the cluster.
HIGH = "bench-high"


Document = dict[str, Any]


class LiveWorkload(msgspec.Struct, frozen=True):
    """Pods to schedule, and the targets relative to kube-scheduler."""

    #: (small cluster, large cluster)
    pods: tuple[int, int]
    make: Callable[[int], Iterator[Pod]]
    #: Lowest ratio of pods/s, and highest ratio of scheduler CPU per pod, at 5,000 nodes.
    faster: float
    cpu: float
    #: Returns the pods that already run on a node.
    filler: Callable[[Node], Iterator[Pod]] | None = None
    #: Whether some of the pods fit nowhere.
    leaves: float = 0.0
    #: Settings of both schedulers that differ from the defaults.
    settings: dict[str, Any] = {}
    #: Settings of Mooring alone.
    extra: dict[str, Any] = {}
    #: Returns the PodGroups of a number of pods.
    groups: Callable[[int], Iterator[Document]] | None = None
    #: Returns what is wrong with the placement of the bound pods, or "".
    check: Callable[[Sequence[Pod]], str] = lambda pods: ""


def _simple(template: PodTemplate) -> Callable[[int], Iterator[Pod]]:
    return lambda count: (template.make(f"pod-{i}", _NAMESPACE) for i in range(count))


def _term(color: str, key: str) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {"color": color}}, "topologyKey": key}


def _spread(when: str) -> PodTemplate:
    constraint = {
        "maxSkew": 5,
        "topologyKey": ZONE,
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"color": "blue"}},
    }
    return PodTemplate(labels={"color": "blue"}, topologySpreadConstraints=[constraint])


def _members(count: int) -> Iterator[Pod]:
    for i in range(count):
        labels = {"scheduling.x-k8s.io/pod-group": f"gang-{i // _GANG}"}
        yield PodTemplate(labels=labels).make(f"pod-{i}", _NAMESPACE)


def _pod_groups(count: int) -> Iterator[Document]:
    for number in range(count // _GANG):
        yield {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": f"gang-{number}", "namespace": _NAMESPACE},
            "spec": {"minMember": _GANG},
        }


def _with_huge(count: int) -> Iterator[Pod]:
    plain, huge = PodTemplate(), PodTemplate(cpu="9")
    for i in range(count):
        template = huge if i % 5 == 0 else plain
        yield template.make(f"pod-{i}", _NAMESPACE)


def _low_priority(node: Node) -> Iterator[Pod]:
    # No kubelet runs here; without a grace period a deleted pod is gone immediately.
    low = PodTemplate(cpu="900m", terminationGracePeriodSeconds=0)
    for i in range(4):
        yield low.make(f"{node.metadata.name}-{i}", _NAMESPACE, node.metadata.name)


def _one_per_node(pods: Sequence[Pod]) -> str:
    nodes = [pod.spec.node_name for pod in pods]
    return "" if len(set(nodes)) == len(nodes) else "two pods share a node"


def _even(pods: Sequence[Pod]) -> str:
    zones = [int(pod.spec.node_name.partition("-")[2]) % 3 for pod in pods]
    counts = [zones.count(zone) for zone in range(3)]
    return "" if max(counts) - min(counts) <= 5 else f"zones hold {counts}"


ANTI_AFFINITY = PodTemplate(
    labels={"color": "green"},
    affinity={
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [_term("green", HOSTNAME)]
        }
    },
)
PREFERRED = PodTemplate(
    labels={"color": "red"},
    affinity={
        "podAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": _term("red", HOSTNAME)}
            ]
        }
    },
)

WORKLOADS: dict[str, LiveWorkload] = {
    "basic": LiveWorkload((2000, 5000), _simple(PodTemplate()), 1.5, 1 / 4),
    # kube-scheduler scores a share of the nodes by default, Mooring all of them.
    "basic-every-node": LiveWorkload(
        (1000, 1000),
        _simple(PodTemplate()),
        8.0,
        1 / 4,
        settings={"percentageOfNodesToScore": 100},
    ),
    "anti-affinity": LiveWorkload(
        (400, 4000), _simple(ANTI_AFFINITY), 4.0, 1 / 8, check=_one_per_node
    ),
    "preferred-affinity": LiveWorkload((1500, 5000), _simple(PREFERRED), 3.0, 1 / 8),
    "spread-hard": LiveWorkload(
        (1500, 5000), _simple(_spread("DoNotSchedule")), 4.0, 1 / 8, check=_even
    ),
    "spread-soft": LiveWorkload((1500, 5000), _simple(_spread("ScheduleAnyway")), 4.0, 1 / 8),
    "unschedulable": LiveWorkload((1500, 5000), _with_huge, 1.5, 1 / 8, leaves=0.2),
    "preemption": LiveWorkload(
        (200, 500),
        _simple(PodTemplate(cpu="3", priority=None, priorityClassName=HIGH)),
        5.0,
        1 / 8,
        filler=_low_priority,
    ),
    # For kube-scheduler these are plain pods.
    "gangs-of-50": LiveWorkload(
        (1000, 5000),
        _members,
        1.0,
        1 / 2,
        extra={"profiles": [_COSCHEDULING]},
        groups=_pod_groups,
    ),
}

__all__ = ["HIGH", "WORKLOADS", "LiveWorkload", "make_nodes"]
