"""Plans of trees of groups, drawn from a seed: their objects and their cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import msgspec

from tests.soak.object_store import Json
from tests.soak.scenarios import NAMESPACE, SCHEDULER, ZONE

RACK = "example.com/rack"
#: Each rack with its zone.
RACKS = {"r0": "z0", "r1": "z0", "r2": "z1"}
#: The cpus of a node on which everything fits.
PLENTY = 200


class GroupPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A pod group, or a composite group, of a tree."""

    name: str
    #: The composite group above; "" for the top.
    parent: str = ""
    is_composite: bool = False
    #: How many pods or children must be placed together; 0 for a group that is no gang.
    min_count: int = 0
    topology: str = ""
    priority: int = 0
    #: Whether it is preempted as a whole.
    is_whole: bool = False
    #: The number of pods, and the cpus of each; pod groups only.
    pods: int = 0
    cpu: int = 1

    def to_json(self, created: str) -> Json:
        """Return the object, created at this time."""
        spec: Json = {"priority": self.priority, "schedulingPolicy": {"basic": {}}}
        if self.min_count:
            field = "minGroupCount" if self.is_composite else "minCount"
            spec["schedulingPolicy"] = {"gang": {field: self.min_count}}
        if self.parent:
            spec["parentCompositePodGroupName"] = self.parent
        if self.topology:
            spec["schedulingConstraints"] = {"topology": [{"key": self.topology}]}
        spec["disruptionMode"] = {"all": {}} if self.is_whole else {"single": {}}
        version = "v1alpha3" if self.is_composite else "v1beta1"
        return {
            "apiVersion": f"scheduling.k8s.io/{version}",
            "kind": "CompositePodGroup" if self.is_composite else "PodGroup",
            "metadata": {
                "name": self.name,
                "namespace": NAMESPACE,
                "creationTimestamp": created,
            },
            "spec": spec,
        }

    def make_pod(self, number: int) -> Json:
        """Return one of the pods of a pod group."""
        pod = make_pod(f"{self.name}-{number}", self.cpu, self.priority)
        pod["spec"]["schedulingGroup"] = {"podGroupName": self.name}
        return pod


class TreePlan(msgspec.Struct, frozen=True):
    """Everything that is created in one run."""

    groups: dict[str, GroupPlan]
    nodes: Sequence[Json]
    #: The number of pods without a group.
    singles: int
    #: Whether a tree fits if and only if there are enough free cpus: every pod requests one cpu,
    #: only the top of a tree is bound to a domain, and a composite group needs all of its children
    #: or any one of them. Then it does not matter which nodes are used.
    is_exact: bool

    def leaves(self) -> Iterator[GroupPlan]:
        """Yield the pod groups."""
        return (one for one in self.groups.values() if not one.is_composite)

    def children(self, name: str) -> list[GroupPlan]:
        """Return the parts of a composite group."""
        return [one for one in self.groups.values() if name and one.parent == name]

    def root(self, name: str) -> GroupPlan:
        """Return the top of a group's tree."""
        group = self.groups[name]
        return self.root(group.parent) if group.parent else group


class _Drawing:
    """The drawing of one plan."""

    def __init__(self, random: Random, is_exact: bool) -> None:
        self.random = random
        self.is_exact = is_exact
        self.groups: dict[str, GroupPlan] = {}

    def tree(self, number: int) -> None:
        """Draw a tree of two or three levels."""
        random = self.random
        priority = 0 if self.is_exact else random.choice((0, 0, 0, 10))
        levels = random.choice((2, 2, 3))
        needs_all = random.random() < 0.5
        self._composite(f"t{number}", "", levels, priority, needs_all)

    def _composite(
        self, name: str, parent: str, levels: int, priority: int, needs_all: bool
    ) -> None:
        random = self.random
        names = [f"{name}{letter}" for letter in "abc"[: random.randint(1, 3)]]
        if self.is_exact:
            count = len(names) if needs_all else random.choice((0, 1))
            topology = random.choice(("", "", ZONE, RACK)) if not parent else ""
        else:
            count = random.randint(0, len(names))
            topology = random.choice(("", "", "", ZONE, RACK))
        self.groups[name] = GroupPlan(
            name=name,
            parent=parent,
            is_composite=True,
            min_count=count,
            topology=topology,
            priority=priority,
            is_whole=not self.is_exact and random.random() < 0.3,
        )
        for child in names:
            if levels > 2 and random.random() < 0.7:
                self._composite(child, name, levels - 1, priority, needs_all)
            else:
                self.leaf(child, name, priority)

    def leaf(self, name: str, parent: str, priority: int) -> None:
        """Draw a pod group; `parent` is "" for one that stands alone."""
        random = self.random
        pods = random.randint(1, 3)
        self.groups[name] = GroupPlan(
            name=name,
            parent=parent,
            min_count=random.randint(0, pods),
            topology="" if self.is_exact else random.choice(("", "", "", RACK)),
            priority=priority,
            is_whole=not self.is_exact and random.random() < 0.3,
            pods=pods,
            cpu=1 if self.is_exact else random.choice((1, 1, 2)),
        )


def draw_plan(random: Random, *, is_exact: bool) -> TreePlan:
    """Draw one to three trees, a group without a parent, single pods, and a cluster."""
    drawing = _Drawing(random, is_exact)
    for number in range(random.randint(1, 3)):
        drawing.tree(number)
    if random.random() < 0.3:
        drawing.leaf("alone", "", 0)
    demand = sum(one.pods * one.cpu for one in drawing.groups.values())
    singles = random.randint(0, 2)
    share = random.choice((0.5, 0.8, 1.0, 1.5))
    nodes, left = [], max(3.0, (demand + singles) * share)
    while left > 0:
        cpu = random.randint(1, 4)
        nodes.append(make_node(f"node-{len(nodes)}", cpu, random.choice(list(RACKS))))
        left -= cpu
    return TreePlan(drawing.groups, nodes, singles, is_exact)


def make_node(name: str, cpu: int, rack: str) -> Json:
    """Return a node of a rack."""
    offer = {"cpu": str(cpu), "memory": "64Gi", "pods": "1000"}
    labels = {"kubernetes.io/hostname": name, RACK: rack, ZONE: RACKS[rack]}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {"allocatable": offer, "capacity": offer},
    }


def make_pod(name: str, cpu: int = 1, priority: int = 0) -> Json:
    """Return a pod."""
    requests = {"cpu": str(cpu), "memory": "64Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "schedulerName": SCHEDULER,
            "containers": [{"name": "main", "image": "app", "resources": {"requests": requests}}],
            "priority": priority,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 30,
        },
        "status": {"phase": "Pending"},
    }
