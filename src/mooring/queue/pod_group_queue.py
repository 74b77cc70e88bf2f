"""PodGroupQueue: how the pods of pod groups enter and leave the queue.

The entity in the queue is the group; with composite pod groups, the top of its tree. A pod that
names a group is in exactly one of these places:

- *incomplete*: its group, or one above it in the tree, does not exist (yet);
- in the QueuedPodGroupInfo of its group, which is in one of the three parts of the queue;
- *arrived*: its group is being scheduled; it joins the group when that is put back. The members
  that were tried and failed wait there too;
- in flight.

# kube-scheduler: backend/queue/scheduling_queue.go, pod_group_member_pods.go, workload_forest.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from enum import Enum
from itertools import count

from mooring.api import AnyPodGroup, Pod, scheduling_group_key
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource
from mooring.framework.pod_groups import PodGroups
from mooring.observe import metrics as labels
from mooring.observe.metrics import Metrics
from mooring.queue import event_types
from mooring.queue.in_flight import InFlight
from mooring.queue.pre_enqueue import PreEnqueue
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import NEVER, Place, QueuedPodInfo
from mooring.queue.queueing_hints import QueueingStrategy
from mooring.queue.sub_queues import SubQueues

_POD_ADD = ClusterEvent(EventResource.UNSCHEDULED_POD, ActionType.ADD).label

_Members = dict[str, dict[str, QueuedPodInfo]]


class GroupOutcome(Enum):
    """How an attempt to schedule a group ended."""

    SCHEDULED = "scheduled"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"


class PodGroupQueue:
    """The pods of pod groups in the queue. Owned by the scheduling queue."""

    def __init__(
        self,
        groups: PodGroups,
        places: SubQueues,
        in_flight: InFlight,
        pre_enqueue: PreEnqueue,
        *,
        now: Callable[[], float],
        sequence: count[int],
        requeue: Callable[[QueuedPodInfo, QueueingStrategy, str], Place],
        strategy_after_flight: Callable[[QueuedPodInfo], QueueingStrategy],
        metrics: Metrics | None,
    ) -> None:
        self._groups = groups
        self._places = places
        self._in_flight = in_flight
        self._pre_enqueue = pre_enqueue
        self._now = now
        self._sequence = sequence
        self._requeue = requeue
        self._strategy_after_flight = strategy_after_flight
        #: Both by the pod's own group and by "namespace/name" of the pod.
        self._incomplete: _Members = {}
        self._arrived: _Members = {}
        #: The entities that are being scheduled, by key.
        self._flying: dict[str, QueuedPodGroupInfo] = {}
        if metrics is not None:
            pending = metrics.pending_pods
            pending[labels.INCOMPLETE].set_function(lambda: _count(self._incomplete))
            pending[labels.PENDING].set_function(lambda: _count(self._arrived))

    # ---- changes of groups

    def group_added(self, group: AnyPodGroup) -> None:
        """Queue the pods that have waited for a group to exist."""
        if self._groups.root(group) is None:
            return
        for leaf in tuple(self._groups.leaves(group)):
            for member in self._incomplete.pop(leaf.key, {}).values():
                self.add(member)

    def group_updated(self, group: AnyPodGroup) -> None:
        """Replace the object of a group in the queue."""
        entity = self._entity(group)
        if entity is not None:
            entity.group = group

    def group_deleted(self, group: AnyPodGroup) -> None:
        """Take the pods of a group, or below it, out of the queue; they wait until it exists again.

        What is left of a tree stays in the queue.
        """
        above = self._groups.parent(group)
        root = group if above is None else self._groups.root(above)
        entity = None if root is None else self._entity(root)
        leaves = {leaf.key for leaf in self._groups.leaves(group)}
        for key in leaves:
            for member in self._arrived.pop(key, {}).values():
                self._in_flight.done(member.uid)
                self._file(self._incomplete, key, member)
        if entity is None:
            return
        leaving = [one for one in entity.each() if scheduling_group_key(one.pod) in leaves]
        for member in leaving:
            self._file(self._incomplete, scheduling_group_key(member.pod), member)
        # Needed even if no pod leaves: pods of the group that already have a node no longer
        # restrict the rest of the tree to their topology domain.
        self._take_from(entity, leaving)

    # ---- changes of pods

    def add(self, member: QueuedPodInfo) -> None:
        """Add a pod to its group: in the queue, in flight, or to a new entry of the queue."""
        key = scheduling_group_key(member.pod)
        root = self._groups.root_of(key)
        if root is None:
            self._file(self._incomplete, key, member)
            return
        entity = self._entity(root)
        if entity is not None:
            self._join(entity, member)
            return
        if root.entity_key in self._flying:
            self._file(self._arrived, key, member)
            return
        entity = QueuedPodGroupInfo(root, member, self._now(), next(self._sequence))
        # If its binding failed, the pod waits as a single pod would.
        entity.consecutive_errors = member.consecutive_errors
        entity.unschedulable_count = member.unschedulable_count
        entity.unschedulable_plugins = member.unschedulable_plugins
        entity.pending_plugins = member.pending_plugins
        self._places.backoff.start(entity)
        self._requeue(entity, QueueingStrategy.AFTER_BACKOFF, _POD_ADD)

    def _join(self, entity: QueuedPodGroupInfo, member: QueuedPodInfo) -> None:
        place = entity.place
        self._places.take_out(entity)
        entity.add(member)
        if place is Place.UNSCHEDULABLE:
            # The group may be complete now; or its attempt failed, and the new pod is untried.
            self._requeue(entity, QueueingStrategy.AFTER_BACKOFF, _POD_ADD)
            return
        # The other members have passed PreEnqueue already.
        assert place is not None
        if self._pre_enqueue.run(member) is not None:
            entity.gate(member)
            place = Place.UNSCHEDULABLE
        else:
            self._begin_waiting(member)
        self._places.settle(entity, place)

    def _begin_waiting(self, member: QueuedPodInfo) -> None:
        if member.initial_attempt_timestamp is None:
            member.initial_attempt_timestamp = self._now()

    def find(self, pod: Pod) -> tuple[QueuedPodInfo | None, QueuedPodGroupInfo | None]:
        """Return a pod that waits, and the group in the queue that it is in, if it is in one."""
        key = scheduling_group_key(pod)
        root = self._groups.root_of(key)
        entity = None if root is None else self._entity(root)
        if entity is not None and (member := entity.members.get(pod.key)) is not None:
            return member, entity
        for table in (self._incomplete, self._arrived):
            if (member := table.get(key, {}).get(pod.key)) is not None:
                return member, None
        return None, None

    def delete(self, pod: Pod) -> QueuedPodInfo | None:
        """Remove and return a pod that waits; None if it does not, or has another uid."""
        member, entity = self.find(pod)
        if member is None or member.uid != pod.metadata.uid:
            return None
        if entity is not None:
            self._take_from(entity, (member,))
            return member
        key = scheduling_group_key(pod)
        for table in (self._incomplete, self._arrived):
            members = table.get(key, {})
            if members.get(pod.key) is member:
                del members[pod.key]
                if not members:
                    del table[key]
        return member

    def _take_from(self, entity: QueuedPodGroupInfo, leaving: Iterable[QueuedPodInfo]) -> None:
        """Take pods out of a group in the queue."""
        place = entity.place
        self._places.take_out(entity)
        for member in leaving:
            entity.remove(member.key)
        if not entity.members:
            return
        if place is Place.ACTIVE:
            self._requeue(entity, QueueingStrategy.IMMEDIATELY, _POD_ADD)
        else:
            # Without these pods the others may fit.
            self._requeue(entity, QueueingStrategy.AFTER_BACKOFF, _POD_ADD)

    # ---- attempts

    def popped(self, entity: QueuedPodGroupInfo) -> bool:
        """Record that an attempt begins; False if a member is in flight already: a bug."""
        members = entity.each()
        if any(member.uid in self._in_flight for member in members):
            return False
        for member in members:
            member.attempts += 1
            self._in_flight.start(member.pod)
        self._flying[entity.key] = entity
        return True

    def failed(self, member: QueuedPodInfo) -> None:
        """Put a member back that was tried, within its group's attempt or after it."""
        key = scheduling_group_key(member.pod)
        root = self._groups.root_of(key)
        if root is not None and root.entity_key in self._flying:
            self._file(self._arrived, key, member)
            return
        self._in_flight.done(member.uid)
        self.add(member)

    def attempted(self, entity: QueuedPodGroupInfo, outcome: GroupOutcome) -> None:
        """Put the members that failed or arrived meanwhile back as one group.

        After success they are active at once; otherwise the group backs off, and waits for an event
        that a plugin which refused a member has registered.
        """
        tried = entity.members
        self._flying.pop(entity.key, None)
        group = self._groups.latest(entity.group)
        if group is None:
            return
        waiting = {
            key: member
            for leaf in self._groups.leaves(group)
            for key, member in self._arrived.pop(leaf.key, {}).items()
        }
        if not waiting:
            return
        entity.group, entity.members = group, waiting
        entity.pod = next(iter(waiting.values())).pod
        entity.gating_member, entity.gating_plugin = None, ""
        entity.was_flushed, entity.flush_timestamp = False, NEVER
        strategy = self._settle_history(entity, outcome, waiting.keys() & tried.keys())
        if waiting.keys() - tried.keys():
            strategy = max(strategy, QueueingStrategy.AFTER_BACKOFF)
        self._requeue(entity, strategy, event_types.SCHEDULE_ATTEMPT_FAILURE)
        for member in waiting.values():
            self._in_flight.done(member.uid)

    def _settle_history(
        self, entity: QueuedPodGroupInfo, outcome: GroupOutcome, tried: Set[str]
    ) -> QueueingStrategy:
        """Update the history of a group; return whether and when it is queued.

        `tried` holds the keys of those of its pods that failed in this attempt.
        """
        if outcome is GroupOutcome.SCHEDULED:
            entity.consecutive_errors = entity.unschedulable_count = 0
            entity.unschedulable_plugins = entity.pending_plugins = frozenset()
            entity.backoff_expiration = NEVER
            if not tried:
                # Otherwise its place in the order is kept: the rest may preempt at once.
                self._renew(entity)
            return QueueingStrategy.IMMEDIATELY
        self._renew(entity)
        if outcome is GroupOutcome.ERROR:
            entity.consecutive_errors += 1
            entity.unschedulable_plugins = entity.pending_plugins = frozenset()
            self._places.backoff.start(entity)
            return QueueingStrategy.AFTER_BACKOFF
        entity.unschedulable_count += 1
        entity.consecutive_errors = 0
        # A member that found a node may find another one after an event, and leave the first to a
        # member that was refused. So hints are asked about all members for all these plugins.
        members = tuple(entity.each())
        if any(not member.rejectors for member in members if member.key in tried):
            # No plugin refused the pod, for example because there is no node: any event may help.
            entity.unschedulable_plugins = entity.pending_plugins = frozenset()
            self._places.backoff.start(entity)
            return QueueingStrategy.AFTER_BACKOFF
        refused = (member.unschedulable_plugins for member in members)
        entity.unschedulable_plugins = entity.refusers.union(*refused)
        pending = (member.pending_plugins for member in members)
        entity.pending_plugins = frozenset[str]().union(*pending)
        self._places.backoff.start(entity)
        return self._strategy_after_flight(entity)

    def _renew(self, entity: QueuedPodGroupInfo) -> None:
        entity.timestamp = self._now()
        entity.sequence = next(self._sequence)

    # ---- for debugging and display

    def is_missing(self, group_key: str) -> bool:
        """Return whether a pod group, or a group above it, does not exist."""
        return self._groups.root_of(group_key) is None

    def missing_above(self, group_key: str) -> str:
        """Return the missing composite group that a pod group waits for; "" if none is missing."""
        above = tuple(self._groups.ancestry(group_key))
        return above[-1].parent_key if above and self.is_missing(group_key) else ""

    def waiting(self) -> Iterator[QueuedPodInfo]:
        """Yield the pods that are in no part of the queue: incomplete or arrived."""
        for table in (self._incomplete, self._arrived):
            for members in table.values():
                yield from members.values()

    def summary(self) -> str:
        """Return the number of these pods, as kube-scheduler's cache dump shows it."""
        arrived, incomplete = _count(self._arrived), _count(self._incomplete)
        return f"pendingPodGroupMemberPods:{arrived}; incompletePodGroupPods:{incomplete}"

    def validate(self) -> None:
        """Check that pods are incomplete or arrived only while their group is missing or flying."""
        for key in self._incomplete:
            root = self._groups.root_of(key)
            assert root is None, f"group {key} exists, but its pods wait for it"
        for key in self._arrived:
            root = self._groups.root_of(key)
            flying = root is not None and root.entity_key in self._flying
            assert flying, f"pods of group {key} wait for the end of no attempt"
        for table in (self._incomplete, self._arrived):
            assert all(table.values()), "a group without pods is kept"
        for key in self._flying:
            assert self._places.get(key) is None, f"group {key} is queued and in flight"

    def _entity(self, root: AnyPodGroup) -> QueuedPodGroupInfo | None:
        found = self._places.get(root.entity_key)
        assert found is None or isinstance(found, QueuedPodGroupInfo)
        return found

    @staticmethod
    def _file(table: _Members, key: str, member: QueuedPodInfo) -> None:
        table.setdefault(key, {})[member.key] = member


def _count(table: _Members) -> int:
    return sum(map(len, table.values()))
