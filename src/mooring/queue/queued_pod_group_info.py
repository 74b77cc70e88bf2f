"""QueuedPodGroupInfo: a pod group that waits to be scheduled, with those of its pods that wait.

# kube-scheduler: framework/types.go (QueuedPodGroupInfo)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from mooring.api import AnyPodGroup, Pod
from mooring.framework.cluster_events import ClusterEvent, EventResource
from mooring.framework.queued import QueuedPod
from mooring.framework.tried_groups import TriedGroup
from mooring.queue.queued_pod_info import QueuedPodInfo


class QueuedPodGroupInfo(QueuedPodInfo):
    """A pod group in the queue: it is popped, backs off and waits for events as one.

    If groups form a tree, it is the top of the tree, with the pods of all groups below it. Its
    `pod` is one of the members, which stands for all where one pod is needed. Owned as a
    QueuedPodInfo is.
    """

    __slots__ = ("counted", "gating_member", "group", "members", "refusers", "tree", "victims")

    is_group = True

    def __init__(
        self, group: AnyPodGroup, first: QueuedPodInfo, timestamp: float, sequence: int
    ) -> None:
        super().__init__(first.pod, timestamp, sequence)
        self.group = group
        self.uid = group.metadata.uid
        self.key = group.entity_key
        #: By "namespace/name".
        self.members: dict[str, QueuedPodInfo] = {first.key: first}
        #: The member that PreEnqueue refused last; the first to be asked again.
        self.gating_member: QueuedPodInfo | None = None
        #: The plugins that refused a pod in any placement of the last attempt. A pod's own record
        #: names only those of one placement.
        self.refusers: frozenset[str] = frozenset()
        #: What the last attempt tried for a tree of groups; None for a group without parts.
        self.tree: TriedGroup | None = None
        #: By uid, which scheduling cycle of each pod in the last attempt counts, from 0: the one in
        #: the placement that was chosen, or whose refusal is reported. A pod that was not tried
        #: there is absent.
        self.counted: dict[str, int] = {}
        #: The pods that PodGroupPostFilter preempted in the last attempt, as "namespace/name".
        self.victims: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The number of pods."""
        return len(self.members)

    def each(self) -> Iterable[QueuedPodInfo]:
        """Return the members, in no order."""
        return self.members.values()

    def concerned(self, event: ClusterEvent, new: Any) -> Iterable[QueuedPodInfo]:
        """Return the members that an event may help, in no order.

        If it is about one pod, that is this pod alone: after a failed attempt each member's status
        changes, and asking all members about all of them would take the square of their number.
        """
        if self.gating_member is not None:
            return (self.gating_member,)
        is_of_one = event.is_wildcard or event.resource == EventResource.TARGET_POD
        if not (is_of_one and isinstance(new, Pod) and self.rejectors):
            return self.members.values()
        member = self.members.get(new.key)
        return () if member is None else (member,)

    def add(self, member: QueuedPodInfo) -> None:
        """Add a member, or replace the one with the same name."""
        self.members[member.key] = member

    def remove(self, key: str) -> QueuedPodInfo | None:
        """Remove and return a member by "namespace/name"; None if it is not among them."""
        member = self.members.pop(key, None)
        if member is not None and member is self.gating_member:
            self.gating_member = None
        if member is not None and self.members and member.pod is self.pod:
            self.pod = next(iter(self.members.values())).pod
        return member

    def gate(self, member: QueuedPodInfo) -> None:
        """Record that PreEnqueue refused a member, which gates the whole group."""
        self.gating_member, self.gating_plugin = member, member.gating_plugin
        self.unschedulable_plugins |= {member.gating_plugin}

    def in_order(self) -> list[QueuedPodInfo]:
        """Return the members in the order in which they are tried."""
        return sorted(self.members.values(), key=_order)

    def as_queued_pod(self) -> QueuedPod:
        """Return the view of the group that QueueSort plugins get."""
        return msgspec.structs.replace(super().as_queued_pod(), group=self.group)


def _order(member: QueuedPodInfo) -> tuple[int, int, float, str]:
    # kube-scheduler: framework/types.go (PodGroupMemberPodsOrderingFunc)
    pod = member.pod
    return -pod.priority, -member.attempts, member.timestamp, pod.metadata.name
