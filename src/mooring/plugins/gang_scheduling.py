"""GangScheduling: the pods of a gang start together or not at all."""

# kube-scheduler: plugins/gangscheduling/gangscheduling.go

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence, Set
from typing import Any

from mooring.api import (
    AnyPodGroup,
    Pod,
    WorkloadPodGroup,
    scheduling_group_key,
)
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, QueueingHint
from mooring.framework.placements import PlacementProgress
from mooring.framework.plugin import Plugin
from mooring.framework.pod_groups import MAX_DEPTH, has_pod_groups
from mooring.framework.state import CycleState
from mooring.framework.status import Status

log = logging.getLogger(__name__)

INACTIVE = (
    "GangScheduling does nothing: pod groups need the gate GenericWorkload and release 1.37, "
    "and release %s is emulated"
)
#: kube-scheduler's spelling.
NO_GROUP = 'waiting for pods\'s pod group "{}" to appear in scheduling queue'
TOO_FEW = "waiting for minCount pods from a gang to appear in scheduling queue"
NOT_SCHEDULED = "waiting for minCount pods from a gang to be scheduled"
NO_TREE = (
    "failed to build hierarchy snapshot: composite pod group object not found in state for "
    "compositepodgroup/{}"
)
CYCLE = (
    "failed to build hierarchy snapshot: cycle detected in composite pod group hierarchy: "
    "compositepodgroup/{}"
)
NO_QUORUM = 'waiting for composite pod group "{}" tree to meet quorum'
NO_GROUP_AT_PERMIT = "failed to get podGroup {}: not found"
OUT_OF_REACH = "minCount ({}) cannot be satisfied: {} scheduled, {} remaining"
NOT_YET = "minCount ({}) is not yet satisfied: {} scheduled, {} remaining"
#: Longest wait for the other pods of a gang, in seconds.
PERMIT_TIMEOUT = 300.0


class GangScheduling(Plugin):
    """The plugin that holds the pods of a gang back until enough of them can run."""

    name = "GangScheduling"
    #: Whether pod groups exist; otherwise the plugin agrees to everything.
    _has_groups = False

    def start(self) -> None:
        """Find out whether pod groups exist."""
        self._has_groups = has_pod_groups(self.handle.features)
        if not self._has_groups:
            log.warning(INACTIVE, self.handle.features.release.version)

    def pre_enqueue(self, pod: Pod) -> Status | None:
        """Refuse a pod whose group does not exist, or has fewer pods than its minCount."""
        key = scheduling_group_key(pod)
        if not key or not self._has_groups:
            return None
        groups = self.handle.pod_groups
        group = groups.get(key)
        if group is None:
            return Status.unresolvable(NO_GROUP.format(key.partition("/")[2]))
        if groups.has_composites and group.parent_key:
            problem = self._tree_problem(group, groups.count)
            return None if problem is None else Status.unresolvable(problem)
        gang = group.spec.scheduling_policy.gang
        if gang is not None and groups.count(key) < gang.min_count:
            return Status.unresolvable(TOO_FEW)
        return None

    def _tree_problem(self, group: WorkloadPodGroup, count: Callable[[str], int]) -> str | None:
        """Return why the tree of composite groups above a group is not complete, or None."""
        groups = self.handle.pod_groups
        above = tuple(groups.ancestry(group.key))
        root = groups.root(group)
        if root is None:
            again = groups.parent(above[-1])
            if again is None:
                return NO_TREE.format(above[-1].parent_key)
            return CYCLE.format(_group_in_cycle(above[1:], again).key)
        # kube-scheduler looks one level further up than a workload's tree may reach.
        if len(above) > MAX_DEPTH + 1:
            return NO_TREE.format(group.parent_key)
        return None if groups.has_quorum(root, count) else NO_QUORUM.format(root.name)

    def placement_feasible(
        self, state: CycleState, group: AnyPodGroup, progress: PlacementProgress
    ) -> Status | None:
        """Refuse a placement in which fewer pods than minCount can run; wait while that is open.

        For a composite group, the groups below it count.
        """
        count, scheduled, remaining = group.min_count, progress.scheduled, progress.remaining
        if scheduled + remaining < count:
            return Status.unschedulable(OUT_OF_REACH.format(count, scheduled, remaining))
        if scheduled < count:
            return Status.wait(0.0, NOT_YET.format(count, scheduled, remaining))
        return None

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Wait until minCount pods have a node; the pod that completes them lets all others go."""
        key = scheduling_group_key(pod)
        if not key or not self._has_groups:
            return None
        groups = self.handle.pod_groups
        group = groups.get(key)
        if group is None:
            return Status.error(NO_GROUP_AT_PERMIT.format(key))
        if groups.has_composites and group.parent_key:
            return self._permit_tree(group)
        gang = group.spec.scheduling_policy.gang
        if gang is None:
            return None
        if len(groups.placed(key)) < gang.min_count:
            # kube-scheduler activates the pods without a node here. They were tried with this one,
            # so that they would fail again; they come back after their backoff.
            return Status.wait(PERMIT_TIMEOUT, NOT_SCHEDULED)
        self._allow({key})
        return None

    def _permit_tree(self, group: WorkloadPodGroup) -> Status | None:
        """Wait until the whole tree of a group has a quorum; the pod that completes it lets the
        others go."""
        groups = self.handle.pod_groups
        root = groups.root(group)
        if root is None:
            return Status.error(NO_TREE.format(group.parent_key))
        if not groups.has_quorum(root, groups.count_placed):
            return Status.wait(PERMIT_TIMEOUT, NO_QUORUM.format(root.name))
        self._allow({leaf.key for leaf in groups.leaves(root)})
        return None

    def _allow(self, keys: Set[str]) -> None:
        """Let the waiting pods of groups go."""
        for waiting in self.handle.waiting_pods():
            if scheduling_group_key(waiting.pod) in keys:
                waiting.allow(self.name)

    def events_to_register(self) -> list[ClusterEvent]:
        """Return the events that can complete a gang or change its minCount."""
        pod, group = EventResource.POD, EventResource.POD_GROUP
        composite = EventResource.COMPOSITE_POD_GROUP
        events = [
            ClusterEvent(pod, ActionType.ADD, self._after_pod_added),
            ClusterEvent(group, ActionType.ADD, self._after_group_added),
            ClusterEvent(group, ActionType.UPDATE, self._after_group_updated),
        ]
        if self.handle.pod_groups.has_composites:
            events.append(ClusterEvent(composite, ActionType.ADD, self._after_group_added))
            events.append(ClusterEvent(composite, ActionType.UPDATE, self._after_group_updated))
        return events

    def _after_pod_added(self, pod: Pod, old: Any, new: Pod) -> QueueingHint:
        added = scheduling_group_key(new)
        if not added:
            return QueueingHint.SKIP
        if added == scheduling_group_key(pod):
            return QueueingHint.QUEUE
        return _hint(self._are_related(pod, self.handle.pod_groups.get(added)))

    def _after_group_added(self, pod: Pod, old: Any, new: AnyPodGroup) -> QueueingHint:
        return _hint(self._are_related(pod, new))

    def _after_group_updated(self, pod: Pod, old: AnyPodGroup, new: AnyPodGroup) -> QueueingHint:
        # kube-scheduler asks only whether the minCount of a pod group decreased, but a group that
        # does not fit is tried again there in any case, and is then told the new number.
        changed = old.min_count != new.min_count
        return _hint(changed and self._are_related(pod, new))

    def _are_related(self, pod: Pod, group: AnyPodGroup | None) -> bool:
        """Return whether a pod belongs to a group, or to another group of its tree."""
        key = scheduling_group_key(pod)
        if not key or group is None:
            return False
        if isinstance(group, WorkloadPodGroup) and group.key == key:
            return True
        groups = self.handle.pod_groups
        if not groups.has_composites or pod.metadata.namespace != group.metadata.namespace:
            return False
        root, other = groups.root_of(key), groups.root(group)
        return root is not None and other is not None and root.entity_key == other.entity_key


def _group_in_cycle(above: Sequence[AnyPodGroup], again: AnyPodGroup) -> AnyPodGroup:
    """Return the group that kube-scheduler names when it finds a cycle of parents.

    kube-scheduler follows parents up to the maximal depth and names the group where it stops. The
    parent of the last group of `above` is `again`, which is one of `above`.
    """
    # kube-scheduler: backend/cache/cache.go (BuildHierarchySnapshotFromPod)
    last, start = MAX_DEPTH - 1, [one.key for one in above].index(again.key)
    if last >= len(above):
        last = start + (last - start) % (len(above) - start)
    return above[last]


def _hint(worth: bool) -> QueueingHint:
    return QueueingHint.QUEUE if worth else QueueingHint.SKIP
