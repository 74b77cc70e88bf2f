"""Events and leases: what the scheduler writes about itself."""

from __future__ import annotations

from typing import ClassVar

from mooring.api.meta import ObjectReference, TypedObject
from mooring.api.wire import Wire


class EventSeries(Wire, frozen=True, kw_only=True):
    """Count repetitions of an event."""

    count: int = 0
    last_observed_time: str | None = None


class EventSource(Wire, frozen=True, kw_only=True):
    """Name the reporter of an event the way core/v1 did."""

    component: str = ""
    host: str = ""


class Event(TypedObject, frozen=True, kw_only=True):
    """Report something that happened to an object (events.k8s.io/v1)."""

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
    """Say who holds a lease; times carry microseconds."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None
    strategy: str | None = None
    preferred_holder: str | None = None


class Lease(TypedObject, frozen=True, kw_only=True):
    """Be a lease, by which one replica leads."""

    api_version: ClassVar[str] = "coordination.k8s.io/v1"
    kind: ClassVar[str] = "Lease"

    spec: LeaseSpec = LeaseSpec()
