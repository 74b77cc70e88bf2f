"""PodGroups: the pod groups of the cluster and their pods, as far as the scheduler knows them.

# kube-scheduler: backend/cache/cache.go (podGroupStates)
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeVar

from mooring.api import Pod, WorkloadPodGroup, scheduling_group_key
from mooring.framework.features import FeatureGates
from mooring.framework.pod_info import PodInfo

T = TypeVar("T")

_NO_PODS: dict[str, Pod] = {}
_NO_INFOS: dict[str, PodInfo] = {}


def has_pod_groups(features: FeatureGates) -> bool:
    """Return whether pod groups exist: the gate is on, and the emulated release has them."""
    return features.release.pod_groups and features.enabled("GenericWorkload")


class PodGroups:
    """The groups by "namespace/name", each with its pending pods and those that have a node.

    A pod of another scheduler is known from when it has a node. Owned by the scheduling loop.
    """

    def __init__(self) -> None:
        self._groups: dict[str, WorkloadPodGroup] = {}
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
        """Return the priority that counts when a pod may be preempted: that of its group."""
        if info.pod.spec.scheduling_group is None:
            return info.priority
        group = self.of(info.pod)
        return info.priority if group is None else group.priority

    def disrupted_with(self, pod: Pod) -> Collection[PodInfo]:
        """Return the pods that are preempted together with a pod: those of its group, if the
        group is disrupted as a whole; none otherwise."""
        group = None if pod.spec.scheduling_group is None else self.of(pod)
        if group is None or not group.is_disrupted_whole:
            return ()
        return self.placed(group.key)

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

    def set_group(self, group: WorkloadPodGroup) -> None:
        """Add a group, or replace its object."""
        self._groups[group.key] = group

    def remove_group(self, key: str) -> None:
        """Remove a group; its pods are still known."""
        self._groups.pop(key, None)

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
        placed = {uid for pods in self._placed.values() for uid in pods}
        assert self._assumed.keys() <= placed, "an assumed pod of a group is not placed"


def _drop(table: dict[str, dict[str, T]], key: str, uid: str) -> T | None:
    pods = table.get(key)
    if pods is None:
        return None
    found = pods.pop(uid, None)
    if not pods:
        del table[key]
    return found
