"""PodGroups: the pod groups of the cluster and their pods, as far as the scheduler knows them.

# kube-scheduler: backend/cache/cache.go (podGroupStates)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TypeVar

from mooring.api import (
    AnyPodGroup,
    CompositePodGroup,
    Pod,
    WorkloadPodGroup,
    scheduling_group_key,
)
from mooring.framework.features import FeatureGates
from mooring.framework.pod_info import PodInfo

T = TypeVar("T")

_NO_PODS: dict[str, Pod] = {}
_NO_INFOS: dict[str, PodInfo] = {}
_NO_CHILDREN: dict[str, AnyPodGroup] = {}

#: The most levels that a tree of groups has, the pod group included.
# kubernetes: api/scheduling/v1alpha3 (WorkloadMaxTreeDepth)
MAX_DEPTH = 4


def has_pod_groups(features: FeatureGates) -> bool:
    """Return whether pod groups exist: the gate is on, and the emulated release has them."""
    return features.release.pod_groups and features.enabled("GenericWorkload")


class PodGroups:
    """The groups by "namespace/name", each with its pending pods and those that have a node.

    With `composites` (the gate CompositePodGroup) groups form trees, whose leaves are the pod
    groups; otherwise parents are ignored. A pod of another scheduler is known from when it has a
    node. Owned by the scheduling loop.
    """

    def __init__(self, *, composites: bool = False) -> None:
        self.has_composites = composites
        self._groups: dict[str, WorkloadPodGroup] = {}
        self._composites: dict[str, CompositePodGroup] = {}
        #: By parent and entity key, the groups that name the parent, whether it exists or not.
        self._children: dict[str, dict[str, AnyPodGroup]] = {}
        #: By group and uid, the pods without a node.
        self._pending: dict[str, dict[str, Pod]] = {}
        #: By group and uid, the pods that are bound or assumed.
        self._placed: dict[str, dict[str, PodInfo]] = {}
        #: By uid, the pending pods that are assumed.
        self._assumed: dict[str, Pod] = {}

    # For plugins.

    def get(self, key: str) -> WorkloadPodGroup | None:
        """Return a group by "namespace/name", or None."""
        return self._groups.get(key)

    def of(self, pod: Pod) -> WorkloadPodGroup | None:
        """Return the group of a pod; None if it has none, or if the group does not exist."""
        return self._groups.get(scheduling_group_key(pod))

    def pending(self, key: str) -> Collection[Pod]:
        """Return the pods of a group that are neither bound nor assumed."""
        return self._pending.get(key, _NO_PODS).values()

    def placed(self, key: str) -> Collection[PodInfo]:
        """Return the pods of a group that are bound or assumed."""
        return self._placed.get(key, _NO_INFOS).values()

    def count(self, key: str) -> int:
        """Return the number of pods of a group."""
        return len(self._pending.get(key, _NO_PODS)) + len(self._placed.get(key, _NO_INFOS))

    def priority_of(self, info: PodInfo) -> int:
        """Return the priority that counts when a pod may be preempted: that of its group.

        If the group is part of a tree, the topmost group that is known counts.
        """
        if info.pod.spec.scheduling_group is None:
            return info.priority
        above = tuple(self.ancestry(scheduling_group_key(info.pod)))
        return above[-1].priority if above else info.priority

    def disrupted_whole(self, pod: Pod) -> AnyPodGroup | None:
        """Return the topmost group above a pod that is disrupted as a whole; None if none is."""
        if pod.spec.scheduling_group is None:
            return None
        above = self.ancestry(scheduling_group_key(pod))
        whole = [group for group in above if group.is_disrupted_whole]
        return whole[-1] if whole else None

    def disrupted_with(self, pod: Pod) -> Collection[PodInfo]:
        """Return the pods that are preempted together with a pod: those of its group, if the
        group is disrupted as a whole; none otherwise."""
        group = self.disrupted_whole(pod)
        return () if group is None else self.placed_in(group)

    # Trees of groups, for plugins.

    def latest(self, group: AnyPodGroup) -> AnyPodGroup | None:
        """Return the latest object of a group; None if it is gone."""
        known = self._groups if isinstance(group, WorkloadPodGroup) else self._composites
        return known.get(group.key)

    def ancestry(self, key: str) -> Iterator[AnyPodGroup]:
        """Yield a pod group and the groups above it, as far as they exist; each of them once."""
        group: AnyPodGroup | None = self._groups.get(key)
        seen: set[str] = set()
        while group is not None and group.entity_key not in seen:
            seen.add(group.entity_key)
            yield group
            group = self.parent(group)

    def parent(self, group: AnyPodGroup) -> CompositePodGroup | None:
        """Return the composite group that a group is a part of; None if there is none."""
        return self._composites.get(group.parent_key) if self.has_composites else None

    def root(self, group: AnyPodGroup) -> AnyPodGroup | None:
        """Return the top of a group's tree; None if a group on the way up does not exist."""
        seen: set[str] = set()
        while self.has_composites and group.parent_key:
            parent = self._composites.get(group.parent_key)
            if parent is None or parent.key in seen:
                return None
            seen.add(parent.key)
            group = parent
        return group

    def root_of(self, key: str) -> AnyPodGroup | None:
        """Return the top of a pod group's tree; None if it or a group above does not exist."""
        group = self._groups.get(key)
        return None if group is None else self.root(group)

    def children(self, group: AnyPodGroup) -> list[AnyPodGroup]:
        """Return the parts of a composite group in the order in which they are tried."""
        if isinstance(group, WorkloadPodGroup):
            return []
        found = self._children.get(group.key, _NO_CHILDREN).values()
        return sorted(found, key=lambda one: (one.metadata.creation_timestamp or "", one.name))

    def leaves(self, group: AnyPodGroup) -> Iterator[WorkloadPodGroup]:
        """Yield the pod groups of a group's tree: itself, or those below, in their order."""
        if isinstance(group, WorkloadPodGroup):
            yield group
            return
        seen = {group.key}
        waiting = self.children(group)[::-1]
        while waiting:
            one = waiting.pop()
            if isinstance(one, WorkloadPodGroup):
                yield one
            elif one.key not in seen:
                seen.add(one.key)
                waiting += self.children(one)[::-1]

    def placed_in(self, group: AnyPodGroup) -> list[PodInfo]:
        """Return the pods of a group's tree that are bound or assumed."""
        return [info for leaf in self.leaves(group) for info in self.placed(leaf.key)]

    def has_quorum(self, group: AnyPodGroup, count: Callable[[str], int]) -> bool:
        """Return whether a group has as many pods, or parts with a quorum, as it needs.

        `count` returns the number of pods of a pod group by "namespace/name".
        """
        return self.count_ready(group, count) >= group.min_count

    def count_ready(self, group: AnyPodGroup, count: Callable[[str], int]) -> int:
        """Return the number of pods of a pod group, or of parts of a composite group with a
        quorum; see `has_quorum`."""
        if isinstance(group, WorkloadPodGroup):
            return count(group.key)
        return sum(self.has_quorum(child, count) for child in self.children(group))

    def count_placed(self, key: str) -> int:
        """Return the number of pods of a group that are bound or assumed."""
        return len(self._placed.get(key, _NO_INFOS))

    def nodes_of_units(self) -> set[str]:
        """Return the names of the nodes of pods that are not preempted one by one, each by its own
        priority: their group is disrupted as a whole, or has another priority."""
        found: set[str] = set()
        for placed in self._placed.values():
            first = next(iter(placed.values()))
            whole, priority = bool(self.disrupted_with(first.pod)), self.priority_of(first)
            found.update(
                info.pod.spec.node_name
                for info in placed.values()
                if whole or info.priority != priority
            )
        return found

    # For the scheduler.

    def set_group(self, group: AnyPodGroup) -> None:
        """Add a group, or replace its object."""
        if isinstance(group, WorkloadPodGroup):
            self._forget_parent(self._groups.get(group.key))
            self._groups[group.key] = group
        else:
            self._forget_parent(self._composites.get(group.key))
            self._composites[group.key] = group
        if self.has_composites and group.parent_key:
            self._children.setdefault(group.parent_key, {})[group.entity_key] = group

    def remove_group(self, group: AnyPodGroup) -> None:
        """Remove a group; its pods, or the groups below it, are still known."""
        if isinstance(group, WorkloadPodGroup):
            self._forget_parent(self._groups.pop(group.key, None))
        else:
            self._forget_parent(self._composites.pop(group.key, None))

    def _forget_parent(self, group: AnyPodGroup | None) -> None:
        if group is not None and group.parent_key:
            _drop(self._children, group.parent_key, group.entity_key)

    def set_pending(self, pod: Pod) -> None:
        """Add a pod without a node, or replace its object."""
        uid, key = pod.metadata.uid, scheduling_group_key(pod)
        if not key:
            return
        if uid in self._placed.get(key, _NO_INFOS):
            self._assumed[uid] = pod
        else:
            self._pending.setdefault(key, {})[uid] = pod

    def remove_pending(self, pod: Pod) -> None:
        """Remove a pod that was bound or deleted from the pending ones."""
        uid, key = pod.metadata.uid, scheduling_group_key(pod)
        self._assumed.pop(uid, None)
        _drop(self._pending, key, uid)

    def place(self, info: PodInfo) -> None:
        """Record that a pod is bound or assumed."""
        key = scheduling_group_key(info.pod)
        if not key:
            return
        pod = _drop(self._pending, key, info.uid)
        if pod is not None:
            self._assumed[info.uid] = pod
        self._placed.setdefault(key, {})[info.uid] = info

    def displace(self, info: PodInfo) -> None:
        """Record that a pod has no node any more; one that was only assumed is pending again."""
        key = scheduling_group_key(info.pod)
        _drop(self._placed, key, info.uid)
        pod = self._assumed.pop(info.uid, None)
        if pod is not None:
            self._pending.setdefault(key, {})[info.uid] = pod

    def validate(self) -> None:
        """Check that no pod is both pending and placed, and that no group is empty."""
        for table in (self._pending, self._placed):
            assert all(table.values()), "a group without pods is kept"
        for key, pods in self._pending.items():
            both = pods.keys() & self._placed.get(key, _NO_INFOS).keys()
            assert not both, f"pods of group {key} are pending and placed"
        for parent, children in self._children.items():
            assert all(one.parent_key == parent for one in children.values()), "a wrong parent"
        placed = {uid for pods in self._placed.values() for uid in pods}
        assert self._assumed.keys() <= placed, "an assumed pod of a group is not placed"


def known_pod_groups(features: FeatureGates) -> PodGroups | None:
    """Return an empty table of pod groups; None if they do not exist."""
    if not has_pod_groups(features):
        return None
    return PodGroups(composites=features.enabled("CompositePodGroup"))


def _drop(table: dict[str, dict[str, T]], key: str, uid: str) -> T | None:
    pods = table.get(key)
    if pods is None:
        return None
    found = pods.pop(uid, None)
    if not pods:
        del table[key]
    return found
