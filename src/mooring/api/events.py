"""Events and leases: the objects that the scheduler itself writes."""

from __future__ import annotations

from typing import ClassVar

from mooring.api.meta import ObjectReference, TypedObject
from mooring.api.wire import Wire


class EventSeries(Wire, frozen=True, kw_only=True):
    """The repetitions of an event."""

    count: int = 0
    last_observed_time: str | None = None


class EventSource(Wire, frozen=True, kw_only=True):
    """The reporter of an event, as in core/v1."""

    component: str = ""
    host: str = ""


class Event(TypedObject, frozen=True, kw_only=True):
    """A report of something that happened to an object (events.k8s.io/v1)."""

    api_version: ClassVar[str] = "events.k8s.io/v1"
    kind: ClassVar[str] = "Event"

    event_time: str | None = None
    series: EventSeries | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    action: str = ""
    reason: str = ""
    regarding: ObjectReference = ObjectReference()
    related: ObjectReference | None = None
    note: str = ""
    type: str = ""
    deprecated_source: EventSource | None = None
    deprecated_first_timestamp: str | None = None
    deprecated_last_timestamp: str | None = None
    deprecated_count: int = 0


class LeaseSpec(Wire, frozen=True, kw_only=True):
    """The holder and timing of a lease; times have microseconds."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None
    strategy: str | None = None
    preferred_holder: str | None = None


class Lease(TypedObject, frozen=True, kw_only=True):
    """A lease, used for leader election."""

    api_version: ClassVar[str] = "coordination.k8s.io/v1"
    kind: ClassVar[str] = "Lease"

    spec: LeaseSpec = LeaseSpec()
