"""Coscheduling: the plugin.

# scheduler-plugins: pkg/coscheduling/coscheduling.go
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import msgspec

from mooring import (
    ActionType,
    ClusterEvent,
    CycleState,
    EventResource,
    Handle,
    Nodes,
    Plugin,
    QueuedPod,
    QueueingHint,
    Status,
)
from mooring.api import (
    OLDER_POD_GROUP_LABELS,
    POD_GROUP_LABEL,
    Pod,
    PodGroup,
    parse_time,
    pod_group_key,
    pod_group_name,
)
from mooring.contrib.coscheduling.assignments import Assignments, Expirations, Failures
from mooring.contrib.coscheduling.members import Members
from mooring.contrib.coscheduling.room import describe_gap, needs, resource_gap
from mooring.framework.decision import NodeStatuses
from mooring.typing import Int32, Int64

log = logging.getLogger(__name__)

#: The resource of the events about PodGroups.
POD_GROUPS = "podgroups.v1alpha1.scheduling.x-k8s.io"

FAILED_RECENTLY = "podGroup {group} failed recently"
TOO_FEW_SIBLINGS = (
    "pre-filter pod {pod} cannot find enough sibling pods, current pods number: {count}, "
    "minMember of group: {minimum}"
)
GATED_SIBLINGS = "pre-filter pod {pod} cannot proceed due to gated pods in the same PodGroup"
NO_POD_GROUP = Status.unschedulable("can not find pod group")
POD_GROUP_NOT_FOUND = Status.unschedulable("PodGroup not found")
GROUP_REJECTED = (
    "PodGroup {group} gets rejected due to Pod {pod} is unschedulable even after PostFilter"
)
OPTIMISTIC_REJECTION = "optimistic rejection in PostFilter"
REJECTION_IN_UNRESERVE = "rejection in Unreserve"
UNREADABLE_RESOURCES = "spec.minResources is not checked: it has an amount that is not a quantity"
TOO_FEW_MEMBERS = "spec.minMember must be at least 1; the members are scheduled one by one"
OLDER_LABEL = (
    "Pod %s names its PodGroup with the label %s of older releases of scheduler-plugins, which is "
    "still read: write %s. The PodGroup must be one of scheduling.x-k8s.io; its spec.minMember "
    "takes the place of older labels"
)

_UNSCHEDULABLE = Status.unschedulable()
#: Seconds of the wait at Permit if neither the group nor the argument says any.
DEFAULT_WAIT = 60
#: Seconds for which a group that fails again and again is held back if no backoff is configured.
SHORTEST_BACKOFF = 1


class Coscheduling(Plugin):
    """A plugin that starts the pods of a PodGroup together or not at all.

    Choose it for jobs whose pods are useless alone (MPI, distributed training): label the pods
    `scheduling.x-k8s.io/pod-group: NAME` and create a PodGroup of that name in their namespace. A
    member that finds a node waits at Permit, holding its place, until `spec.minMember` members have
    one. It also orders the queue, so that groups do not block each other: enable it at all points
    (`multiPoint`) and disable PrioritySort.
    """

    name = "Coscheduling"

    class Args(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
        """The limits of waiting."""

        #: Longest wait for the other members, in seconds, unless the PodGroup says another.
        permit_waiting_time_seconds: Int64 = 60
        #: For how many seconds a group that failed is not tried again.
        pod_group_backoff_seconds: Int64 = 0
        #: If at most this percentage of the members is missing, the others keep their places when
        #: one does not fit.
        pod_group_reject_percentage: Int32 = 10

        def __post_init__(self) -> None:
            for name, seconds in (
                ("permitWaitingTimeSeconds", self.permit_waiting_time_seconds),
                ("podGroupBackoffSeconds", self.pod_group_backoff_seconds),
            ):
                if seconds < 0:
                    raise ValueError(f"{name}: Invalid value: {seconds}: must be greater than 0")
            percentage = self.pod_group_reject_percentage
            if not 0 <= percentage <= 100:
                raise ValueError(
                    f"podGroupRejectPercentage: Invalid value: {percentage}: "
                    "must be between 0 and 100"
                )

    args: Args

    def __init__(self, args: Any = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        self._members = Members()
        self._assignments = Assignments()
        self._backed_off = Expirations()
        self._permitted = Expirations()
        self._failures = Failures()
        #: The labels by which pods have named their groups.
        self._labels = [POD_GROUP_LABEL]

    def start(self) -> None:
        """Follow PodGroups and pods."""
        self.handle.watch(
            PodGroup,
            added=_check_group,
            updated=lambda _, group: _check_group(group),
            deleted=lambda group: self._failures.delete(group.key),
        )
        self.handle.watch(
            Pod, added=self._pod_added, updated=self._pod_updated, deleted=self._pod_deleted
        )

    def assigned(self, key: str) -> int:
        """Return how many members of a group ("namespace/name") have a node, bound or not."""
        return self._assignments.count(key)

    def _group(self, pod: Pod) -> PodGroup | None:
        name = pod_group_name(pod)
        if not name:
            return None
        return self.handle.lister(PodGroup).get(name, pod.metadata.namespace)

    # Pods that come and go.

    def _pod_added(self, pod: Pod) -> None:
        self._note_label(pod)
        self._members.add(pod)
        if pod.spec.node_name and pod_group_name(pod):
            self._assignments.assign(pod)

    def _pod_updated(self, old: Pod, new: Pod) -> None:
        if pod_group_key(old) or pod_group_key(new):
            self._note_label(new)
            self._members.update(old, new)
            if new.spec.node_name and not old.spec.node_name and pod_group_name(new):
                # Bound by this scheduler, which has counted it, or by the one that led before.
                self._assignments.assign(new)

    def _note_label(self, pod: Pod) -> None:
        """Warn, once for each label, of a pod that names its group by an older one."""
        labels = pod.metadata.labels
        if labels.get(POD_GROUP_LABEL):
            return
        for label in OLDER_POD_GROUP_LABELS:
            if label in labels and label not in self._labels:
                self._labels.append(label)
                log.warning(OLDER_LABEL, pod.key, label, POD_GROUP_LABEL)

    def _pod_deleted(self, pod: Pod) -> None:
        self._members.remove(pod)
        self._assignments.forget(pod)
        if pod.spec.node_name and pod_group_name(pod):
            self._assignments.release(pod)

    # QueueSort.

    def sort_key(self, queued: QueuedPod) -> tuple[int, float, str]:
        """Return the key by which the queue sorts: the members of a group follow one another."""
        return -queued.pod.priority, self._time(queued), queued.pod.key

    def less(self, a: QueuedPod, b: QueuedPod) -> bool:
        """Return whether `a` goes before `b`."""
        return self.sort_key(a) < self.sort_key(b)

    def _time(self, queued: QueuedPod) -> float:
        key = pod_group_key(queued.pod)
        if not key:
            return queued.initial_timestamp
        failed_at = self._failures.last(key)
        if failed_at is not None:
            return failed_at
        group = self._group(queued.pod)
        if group is None:
            return queued.initial_timestamp
        created = group.metadata.creation_timestamp
        return float("-inf") if created is None else parse_time(created)

    # The scheduling cycle.

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Refuse a member of a group that cannot start as a whole."""
        group = self._group(pod)
        if group is None:
            return None
        key, now = group.key, self.handle.clock.now()
        if self._backed_off.has(key, now):
            return Status.unresolvable(FAILED_RECENTLY.format(group=key))
        name, minimum = pod.metadata.name, group.spec.min_member
        count, gated = self._members.count(key)
        if count < minimum:
            text = TOO_FEW_SIBLINGS.format(pod=name, count=count, minimum=minimum)
            return Status.unresolvable(text)
        if gated and count - gated < minimum:
            return Status.unresolvable(GATED_SIBLINGS.format(pod=name))
        if group.spec.min_resources is None or self._permitted.has(key, now):
            return None
        needed = needs(group)
        if needed is None:
            return None
        gap = resource_gap(nodes.all, group, needed, self._labels)
        if gap:
            return Status.unresolvable(describe_gap(gap))
        if not state.examines:
            self._permitted.add(key, now, self.args.permit_waiting_time_seconds)
        return None

    def post_filter(self, state: CycleState, pod: Pod, statuses: NodeStatuses) -> Status:
        """Reject the members that wait, unless enough are assigned or only a few are missing."""
        group = self._group(pod)
        if group is None:
            return NO_POD_GROUP
        key, minimum = group.key, group.spec.min_member
        assigned = self._assignments.count(key)
        if assigned >= minimum:
            return _UNSCHEDULABLE
        if (minimum - assigned) / minimum <= self.args.pod_group_reject_percentage / 100.0:
            return _UNSCHEDULABLE
        self._reject_waiting(key, OPTIMISTIC_REJECTION)
        self._back_off(pod, group)
        self._note_failure(key)
        return Status.unschedulable(GROUP_REJECTED.format(group=key, pod=pod.metadata.name))

    def _back_off(self, pod: Pod, group: PodGroup) -> None:
        now = self.handle.clock.now()
        seconds = self.args.pod_group_backoff_seconds
        if not seconds and self._failures.is_frequent(group.key, now):
            seconds = SHORTEST_BACKOFF
        count, _ = self._members.count(group.key)
        enough = seconds and count >= group.spec.min_member
        if enough and self._backed_off.add(group.key, now, seconds):
            self.handle.spawn(self._try_after_backoff(group.key, seconds), pod)

    async def _try_after_backoff(self, key: str, seconds: float) -> None:
        """Try the members again once the backoff is over: no event of the cluster says so."""
        await self.handle.clock.sleep(seconds)
        self.handle.activate([pod for pod in self._members.of(key) if not pod.spec.node_name])

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Let a member wait until enough members have a node; then let all of them go."""
        key = pod_group_key(pod)
        if not key:
            return None
        group = self._group(pod)
        if group is None:
            return POD_GROUP_NOT_FOUND
        assigned = self._assignments.assign(pod)
        if assigned >= group.spec.min_member:
            self._failures.delete(key)
            self._allow_waiting(key)
            return None
        self._assignments.wait(pod)
        if assigned == 1:
            uid = pod.metadata.uid
            siblings = [one for one in self._members.of(key) if one.metadata.uid != uid]
            if siblings:
                self.handle.activate(siblings)
        rejected = tuple(self._assignments.take_rejected(key))
        if rejected:
            self.handle.spawn(self._try_again(rejected), pod)
        return Status.wait(self._wait_of(group))

    async def _try_again(self, pods: Sequence[Pod]) -> None:
        """Try members that lost their places, now that another one has found its own.

        Without this a group of which some members run already would not come together again.
        """
        self.handle.activate(pods)

    def _wait_of(self, group: PodGroup) -> int:
        seconds = group.spec.schedule_timeout_seconds
        if seconds is None:
            return self.args.permit_waiting_time_seconds or DEFAULT_WAIT
        return seconds or self.args.permit_waiting_time_seconds

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Give up the whole group: the members that wait lose their places too."""
        if self._assignments.was_given_up(pod):
            return
        group = self._group(pod)
        if group is None:
            return
        self._assignments.reject(pod)
        self._reject_waiting(group.key, REJECTION_IN_UNRESERVE)
        self._note_failure(group.key)

    def _note_failure(self, key: str) -> None:
        self._permitted.delete(key)
        self._failures.add(key, self.handle.clock.now())

    def _reject_waiting(self, key: str, message: str) -> None:
        for uid in self._assignments.take_waiting(key):
            waiting = self.handle.waiting_pod(uid)
            if waiting is not None and waiting.reject(self.name, message):
                self._assignments.give_up(waiting.pod)

    def _allow_waiting(self, key: str) -> None:
        for uid in self._assignments.take_waiting(key):
            waiting = self.handle.waiting_pod(uid)
            if waiting is not None:
                waiting.allow(self.name)
                if waiting.pending_plugins():
                    # Another plugin still holds it: if the group fails, it is rejected with it.
                    self._assignments.wait(waiting.pod)

    # Which events help.

    def events_to_register(self) -> list[ClusterEvent]:
        """Return the events after which a refused member may be accepted."""
        more_room = ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE
        siblings = ActionType.ADD | ActionType.UPDATE_POD_LABEL
        groups = ActionType.ADD | ActionType.UPDATE
        return [
            ClusterEvent(EventResource.POD, siblings, _after_sibling),
            ClusterEvent(POD_GROUPS, groups, _after_group),
            ClusterEvent(EventResource.POD, ActionType.DELETE, _after_pod),
            ClusterEvent(EventResource.NODE, more_room, _after_node),
        ]


def _after_sibling(pod: Pod, old: Any, new: Any) -> QueueingHint:
    """Try a pod again if a pod of its group came."""
    key = pod_group_key(pod)
    return QueueingHint.QUEUE if key and pod_group_key(new) == key else QueueingHint.SKIP


def _after_pod(pod: Pod, old: Any, new: Any) -> QueueingHint:
    """Try a member again if a pod outside its group leaves: its group may have failed for that.

    The places that the group itself gives up are no news.
    """
    key = pod_group_key(pod)
    return QueueingHint.QUEUE if key and pod_group_key(old) != key else QueueingHint.SKIP


def _after_node(pod: Pod, old: Any, new: Any) -> QueueingHint:
    """Try a member again if a node came or grew."""
    return QueueingHint.QUEUE if pod_group_key(pod) else QueueingHint.SKIP


def _after_group(pod: Pod, old: Any, new: Any) -> QueueingHint:
    """Try a pod again if its group came or changed."""
    key = pod_group_key(pod)
    return QueueingHint.QUEUE if key and new.key == key else QueueingHint.SKIP


def _check_group(group: PodGroup) -> None:
    if group.spec.min_member < 1:
        log.warning("PodGroup %s: %s, got %d", group.key, TOO_FEW_MEMBERS, group.spec.min_member)
    if needs(group) is None:
        log.warning("PodGroup %s: %s", group.key, UNREADABLE_RESOURCES)
