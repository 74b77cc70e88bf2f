"""The pods of each live workload, and the targets at 5,000 nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from benchmarks.objects import (
    DRIVERS,
    HOSTNAME,
    RACK,
    ZONE,
    PodTemplate,
    make_claim,
    make_device_class,
    make_nodes,
    make_slices,
)
from mooring.api import KubeObject, Node, Pod, decode

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
#: The gates of pod groups, of the API server and of the schedulers.
POD_GROUP_GATES = "--feature-gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
#: The number of racks of a cluster.
RACKS = 50
#: The size of the gang that must fit into one rack.
_LARGE_GANG = 500

#: Makes a number of pods; the name of the run makes the names of their groups unique.
MakePods = Callable[[int, str], Iterator[Pod]]
#: Makes the objects that a number of pods need in a run.
MakeObjects = Callable[[int, str], Iterator[KubeObject]]


class LiveWorkload(msgspec.Struct, frozen=True):
    """Pods to schedule, and the targets relative to kube-scheduler."""

    #: (small cluster, large cluster)
    pods: tuple[int, int]
    make: MakePods
    #: Lowest ratio of pods/s, and highest ratio of scheduler CPU per pod, at 5,000 nodes.
    faster: float
    cpu: float
    #: Returns the pods that already run on a node.
    filler: Callable[[Node], Iterator[Pod]] | None = None
    #: Whether the time counts from the start of the process: nothing is bound until victims are
    #: gone, or until a whole gang has been placed.
    from_start: bool = False
    #: Whether some of the pods fit nowhere.
    leaves: float = 0.0
    #: Settings of both schedulers that differ from the defaults.
    settings: dict[str, Any] = {}
    #: Settings of Mooring alone.
    extra: dict[str, Any] = {}
    #: Flags of both schedulers.
    flags: tuple[str, ...] = ()
    #: Whether the custom resources of the plugin family are needed.
    custom_resources: bool = False
    #: Returns the objects that exist in every run, for a number of nodes.
    shared: Callable[[int], Iterator[KubeObject]] | None = None
    #: Returns the objects that the pods of one run refer to.
    objects: MakeObjects | None = None
    #: Returns what is wrong with the placement of the bound pods, or "".
    check: Callable[[Sequence[Pod]], str] = lambda pods: ""


def _simple(template: PodTemplate) -> MakePods:
    return lambda count, _: (template.make(f"pod-{i}", _NAMESPACE) for i in range(count))


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


def _labelled_members(count: int, run: str) -> Iterator[Pod]:
    for i in range(count):
        labels = {"scheduling.x-k8s.io/pod-group": f"{run}-{i // _GANG}"}
        yield PodTemplate(labels=labels).make(f"pod-{i}", _NAMESPACE)


def _custom_groups(count: int, run: str) -> Iterator[KubeObject]:
    for number in range(count // _GANG):
        yield decode(
            {
                "apiVersion": "scheduling.x-k8s.io/v1alpha1",
                "kind": "PodGroup",
                "metadata": {"name": f"{run}-{number}", "namespace": _NAMESPACE},
                "spec": {"minMember": _GANG},
            }
        )


def _members(size: int) -> MakePods:
    """Return a function that makes the pods of groups of a size."""

    def make(count: int, run: str) -> Iterator[Pod]:
        for i in range(count):
            group = {"podGroupName": f"{run}-{i // size}"}
            yield PodTemplate(schedulingGroup=group).make(f"pod-{i}", _NAMESPACE)

    return make


def _groups(size: int, topology: str = "") -> MakeObjects:
    """Return a function that makes groups; with `topology`, each must fit into one domain."""
    constraints = {"schedulingConstraints": {"topology": [{"key": topology}]}} if topology else {}

    def make(count: int, run: str) -> Iterator[KubeObject]:
        for number in range(count // size):
            yield decode(
                {
                    "apiVersion": "scheduling.k8s.io/v1beta1",
                    "kind": "PodGroup",
                    "metadata": {"name": f"{run}-{number}", "namespace": _NAMESPACE},
                    "spec": {"schedulingPolicy": {"gang": {"minCount": size}}, **constraints},
                }
            )

    return make


def _devices(nodes: int) -> Iterator[KubeObject]:
    yield make_device_class("gpu", f'device.driver == "{DRIVERS[0]}"')
    yield from make_slices(nodes)


def _claims(count: int, run: str) -> Iterator[KubeObject]:
    expression = f'device.attributes["{DRIVERS[0]}"].model == "large"'
    for i in range(count):
        yield make_claim(f"{run}-{i}", "gpu", expression, _NAMESPACE)


def _claiming(count: int, run: str) -> Iterator[Pod]:
    for i in range(count):
        claim = {"name": "gpu", "resourceClaimName": f"{run}-{i}"}
        yield PodTemplate(resourceClaims=[claim]).make(f"pod-{i}", _NAMESPACE)


def _with_huge(count: int, run: str) -> Iterator[Pod]:
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


def _one_rack(pods: Sequence[Pod]) -> str:
    racks = {int(pod.spec.node_name.partition("-")[2]) % RACKS for pod in pods}
    return "" if len(racks) == 1 else f"the gang is in {len(racks)} racks"


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
        from_start=True,
    ),
    # For kube-scheduler these are plain pods.
    "gangs-of-50": LiveWorkload(
        (1000, 5000),
        _labelled_members,
        1.0,
        1 / 2,
        extra={"profiles": [_COSCHEDULING]},
        custom_resources=True,
        objects=_custom_groups,
    ),
    "pod-groups-of-50": LiveWorkload(
        (1000, 5000),
        _members(_GANG),
        3.0,
        1 / 2,
        flags=(POD_GROUP_GATES,),
        objects=_groups(_GANG),
    ),
    "pod-group-in-a-rack": LiveWorkload(
        (_LARGE_GANG, _LARGE_GANG),
        _members(_LARGE_GANG),
        1.0,
        1.0,
        flags=(POD_GROUP_GATES,),
        objects=_groups(_LARGE_GANG, RACK),
        from_start=True,
        check=_one_rack,
    ),
    "device-claims": LiveWorkload(
        (2000, 2000), _claiming, 1.0, 1.0, shared=_devices, objects=_claims
    ),
}

__all__ = ["HIGH", "WORKLOADS", "LiveWorkload", "make_nodes"]
