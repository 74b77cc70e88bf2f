"""GangScheduling: the pods of a gang start together or not at all."""

# kube-scheduler: plugins/gangscheduling/gangscheduling.go

from __future__ import annotations

import logging
from typing import Any

from mooring.api import Pod, WorkloadPodGroup, scheduling_group_key
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, QueueingHint
from mooring.framework.placements import PlacementProgress
from mooring.framework.plugin import Plugin
from mooring.framework.pod_groups import has_pod_groups
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
        gang = group.spec.scheduling_policy.gang
        if gang is not None and groups.count(key) < gang.min_count:
            return Status.unresolvable(TOO_FEW)
        return None

    def placement_feasible(
        self, state: CycleState, group: WorkloadPodGroup, progress: PlacementProgress
    ) -> Status | None:
        """Refuse a placement in which fewer pods than minCount can run; wait while that is open."""
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
        gang = group.spec.scheduling_policy.gang
        if gang is None:
            return None
        if len(groups.placed(key)) < gang.min_count:
            # kube-scheduler activates the pods without a node here. They were tried with this one,
            # so that they would fail again; they come back after their backoff.
            return Status.wait(PERMIT_TIMEOUT, NOT_SCHEDULED)
        for waiting in self.handle.waiting_pods():
            if scheduling_group_key(waiting.pod) == key:
                waiting.allow(self.name)
        return None

    def events_to_register(self) -> list[ClusterEvent]:
        """Return the events that can complete a gang or lower its minCount."""
        pod, group = EventResource.POD, EventResource.POD_GROUP
        return [
            ClusterEvent(pod, ActionType.ADD, _after_pod_added),
            ClusterEvent(group, ActionType.ADD, _after_group_added),
            ClusterEvent(group, ActionType.UPDATE, _after_group_updated),
        ]


def _hint(worth: bool) -> QueueingHint:
    return QueueingHint.QUEUE if worth else QueueingHint.SKIP


def _after_pod_added(pod: Pod, old: Any, new: Pod) -> QueueingHint:
    key = scheduling_group_key(pod)
    return _hint(bool(key) and key == scheduling_group_key(new))


def _after_group_added(pod: Pod, old: Any, new: WorkloadPodGroup) -> QueueingHint:
    return _hint(scheduling_group_key(pod) == new.key)


def _after_group_updated(pod: Pod, old: WorkloadPodGroup, new: WorkloadPodGroup) -> QueueingHint:
    before, after = old.spec.scheduling_policy.gang, new.spec.scheduling_policy.gang
    if before is None or after is None or scheduling_group_key(pod) != new.key:
        return QueueingHint.SKIP
    return _hint(after.min_count < before.min_count)
