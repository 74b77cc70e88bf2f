"""QueuePlaces: where each pending pod is in the queue, and what it waits for, for display."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

import msgspec

from mooring.api import CompositePodGroup, Pod, scheduling_group_key
from mooring.queue.in_flight import InFlight
from mooring.queue.pod_group_queue import PodGroupQueue
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import Place, QueuedPodInfo
from mooring.queue.queueing_hints import Hints
from mooring.queue.retry_events import retry_texts
from mooring.queue.sub_queues import SubQueues
from mooring.queue.unschedulable import waiting_since
from mooring.queue.unschedulable_timeouts import UnschedulableTimeouts


class Whereabouts(Enum):
    """The places where a pending pod can be."""

    GATED = "gated"
    ACTIVE = "active"
    BACKING_OFF = "backingOff"
    UNSCHEDULABLE = "unschedulable"
    #: Being scheduled or bound.
    IN_FLIGHT = "inFlight"
    WAITING_AT_PERMIT = "waitingAtPermit"
    #: Its pod group, or a composite group above it, does not exist.
    WITHOUT_GROUP = "withoutGroup"


class QueuePlace(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """Where a pending pod is. Times are seconds since the epoch."""

    namespace: str
    name: str
    uid: str
    place: Whereabouts
    attempts: int = 0
    priority: int = 0
    #: The pod's group, with which it is queued, as "namespace/name".
    pod_group: str = ""
    #: The top of the group's tree, or the group that the tree lacks, as "namespace/name".
    composite_pod_group: str = ""
    #: Since when the pod is there, if that is known.
    since: float | None = None
    #: The position in the active queue, from 1.
    position: int | None = None
    #: When the backoff or the wait at Permit ends.
    until: float | None = None
    #: The plugins that gate or refused the pod, or that it waits for at Permit.
    plugins: Sequence[str] = ()
    #: The events on which an unschedulable pod may be tried again.
    events: Sequence[str] = ()
    #: When an unschedulable pod is tried again at the latest.
    latest: float | None = None

    @property
    def key(self) -> str:
        """Return "namespace/name" of the pod."""
        return f"{self.namespace}/{self.name}"


class QueuePlaces:
    """The places of the pods in a scheduling queue, which it only reads."""

    def __init__(
        self,
        places: SubQueues,
        in_flight: InFlight,
        groups: PodGroupQueue | None,
        hints: Mapping[str, Hints],
        timeouts: UnschedulableTimeouts,
    ) -> None:
        self._places = places
        self._in_flight = in_flight
        self._groups = groups
        self._hints = hints
        self._timeouts = timeouts

    def of(self, pod: Pod) -> QueuePlace | None:
        """Return where a pod is; None if it is not in the queue."""
        member, entity = self._find(pod)
        if entity is not None:
            position = self._places.active.position(entity)
            return self._describe(member or entity, entity, position)
        if pod.metadata.uid in self._in_flight:
            return place_of(pod, Whereabouts.IN_FLIGHT)
        return None if member is None else self._alone(member)

    def all(self) -> Iterator[QueuePlace]:
        """Yield the places of all pods: the active ones in their order, then the others."""
        for position, entity in enumerate(self._places.active.in_order(), 1):
            for member in entity.each():
                yield self._describe(member, entity, position)
        for place in (Place.BACKOFF, Place.UNSCHEDULABLE):
            for entity in self._places.among(place):
                for member in entity.each():
                    yield self._describe(member, entity, 0)
        for pod in self._in_flight:
            yield place_of(pod, Whereabouts.IN_FLIGHT)
        for member in () if self._groups is None else self._groups.waiting():
            if member.uid not in self._in_flight:
                yield self._alone(member)

    def _find(self, pod: Pod) -> tuple[QueuedPodInfo | None, QueuedPodInfo | None]:
        """Return a pod and what stands for it in the queue: itself, or its group."""
        if self._groups is not None and pod.spec.scheduling_group is not None:
            return self._groups.find(pod)
        info = self._places.get(pod.key)
        return info, info

    def _alone(self, member: QueuedPodInfo) -> QueuePlace:
        """Return the place of a pod whose group is not in the queue."""
        key = scheduling_group_key(member.pod)
        missing = self._groups is not None and self._groups.is_missing(key)
        found = place_of(
            member.pod, Whereabouts.WITHOUT_GROUP if missing else Whereabouts.IN_FLIGHT
        )
        found.attempts, found.pod_group, found.since = member.attempts, key, member.timestamp
        if self._groups is not None:
            found.composite_pod_group = self._groups.missing_above(key)
        return found

    def _describe(self, member: QueuedPodInfo, entity: QueuedPodInfo, position: int) -> QueuePlace:
        found = place_of(member.pod, Whereabouts.ACTIVE)
        found.attempts, found.since = member.attempts, entity.timestamp
        if isinstance(entity, QueuedPodGroupInfo):
            found.pod_group = scheduling_group_key(member.pod)
            if isinstance(entity.group, CompositePodGroup):
                found.composite_pod_group = entity.group.key
        if entity.place is Place.ACTIVE:
            found.position = position or None
        elif entity.place is Place.BACKOFF:
            found.place, found.until = Whereabouts.BACKING_OFF, self._places.backoff.end_of(entity)
        elif entity.is_gated:
            found.place, found.plugins = Whereabouts.GATED, (entity.gating_plugin,)
        else:
            self._describe_unschedulable(found, entity)
        return found

    def _describe_unschedulable(self, found: QueuePlace, entity: QueuedPodInfo) -> None:
        found.place, found.since = Whereabouts.UNSCHEDULABLE, waiting_since(entity)
        found.plugins = sorted(entity.rejectors)
        hints = self._hints.get(entity.profile)
        found.events = retry_texts(() if hints is None else hints.events_of(entity.rejectors))
        found.latest = self._timeouts.latest(entity)


def place_of(pod: Pod, place: Whereabouts) -> QueuePlace:
    """Return the place of a pod, without what is known of it there."""
    meta = pod.metadata
    return QueuePlace(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        place=place,
        priority=pod.priority,
    )
