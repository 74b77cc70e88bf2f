"""LeaseLock: the Lease through which replicas agree on one leader."""

# client-go: tools/leaderelection/resourcelock/leaselock.go, interface.go

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from mooring.api import ObjectMeta
from mooring.api.events import Lease, LeaseSpec
from mooring.api.lease_numbers import lease_seconds, lease_transitions
from mooring.api.timestamps import format_micro_time, format_time
from mooring.errors import ApiError, ConfigError, NoAnswerError
from mooring.explain.lease_annotations import ExplainAddress, annotated
from mooring.observe.clock import Clock
from mooring.observe.host import hostname
from mooring.observe.logs import log_error

log = logging.getLogger(__name__)

LEASES = "leases"

NO_ROOM = (
    "The Lease has no room for annotations: `mooring explain` and `mooring ui` will not find this "
    "scheduler until annotations of others are removed"
)
_NO_LOCK = "couldn't create resource lock: "
_REMOVED = frozenset(("endpoints", "configmaps", "endpointsleases", "configmapsleases"))
_REASON = "LeaderElection"

T = TypeVar("T")


class LeaseClient(Protocol):
    """Access to the API server, such as `mooring.client.client.Client`."""

    async def get(self, kind: type[T], name: str, namespace: str = "") -> T:
        """Read one object."""
        ...

    async def create(self, obj: T) -> T:
        """Create an object."""
        ...

    async def update(self, obj: T) -> T:
        """Replace an object."""
        ...

    async def request(self, method: str, target: str, body: bytes = b"") -> bytes:
        """Send any request."""
        ...


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The leader election record; times are text, by the clock of the leader."""

    holder: str = ""
    lease_seconds: int = 0
    acquire_time: str = ""
    renew_time: str = ""
    transitions: int = 0


def make_identity() -> str:
    """Return a name that no other process has, not even on this host."""
    return f"{hostname()}_{uuid.uuid4()}"


def check_lock_kind(kind: str) -> None:
    """Raise ConfigError unless the lock is a lease."""
    if kind == LEASES:
        return
    if kind in _REMOVED:
        migrate = "migrated" if kind == "configmapsleases" else "migrate"
        raise ConfigError(f"{_NO_LOCK}{kind} lock is removed, {migrate} to {LEASES}")
    raise ConfigError(f"{_NO_LOCK}Invalid lock-type {kind}")


class LeaseLock:
    """Access to the record in a Lease. Belongs to one event loop.

    `timeout` is in seconds: a single request that hangs must not cost the lease. `component` is the
    source of Events. `address` returns where this process answers questions; the Lease says so
    while this process holds it.
    """

    def __init__(
        self,
        client: LeaseClient,
        namespace: str,
        name: str,
        *,
        identity: str,
        component: str,
        timeout: float,
        clock: Clock,
        address: Callable[[], ExplainAddress | None] | None = None,
    ) -> None:
        self.identity = identity
        self._address = address
        self._client = client
        self._namespace = namespace
        self._name = name
        self._component = component
        self._timeout = timeout
        self._clock = clock
        self._lease: Lease | None = None
        #: The annotations of others to which the server refused to add ours.
        self._crowded: Mapping[str, str] | None = None
        self._events: set[asyncio.Task[None]] = set()

    def __str__(self) -> str:
        return f"{self._namespace}/{self._name}"

    def now(self) -> str:
        """Return the current time in the format of Leases."""
        return format_micro_time(self._clock.wall_time())

    async def get(self) -> Record:
        """Read the record; if there is none yet, the ApiError has `is_not_found`."""
        lease = await self._bounded(self._client.get(Lease, self._name, self._namespace))
        self._lease = lease
        spec = lease.spec
        return Record(
            holder=spec.holder_identity or "",
            lease_seconds=lease_seconds(spec),
            acquire_time=spec.acquire_time or "",
            renew_time=spec.renew_time or "",
            transitions=lease_transitions(spec),
        )

    async def create(self, record: Record) -> None:
        """Write the first record."""
        metadata = ObjectMeta(name=self._name, namespace=self._namespace)
        lease = Lease(metadata=self._annotated(metadata, record), spec=_spec(record))
        self._lease = await self._bounded(self._client.create(lease))

    async def update(self, record: Record) -> None:
        """Write the next record; if another write came first, the ApiError has `is_conflict`."""
        assert self._lease is not None, "get() or create() comes first"
        before = self._lease.metadata
        metadata = self._annotated(before, record)
        lease = replace(self._lease, metadata=metadata, spec=_spec(record))
        try:
            self._lease = await self._bounded(self._client.update(lease))
        except ApiError as error:
            if error.status != 422 or metadata.annotations == before.annotations:
                raise
            # Annotations may be full. The lease matters more than what is said there.
            lease = replace(lease, metadata=before)
            self._lease = await self._bounded(self._client.update(lease))
            if self._crowded != before.annotations:
                log_error(log, error, NO_ROOM, lock=str(self))
            self._crowded = before.annotations

    def _annotated(self, metadata: ObjectMeta, record: Record) -> ObjectMeta:
        # A record that is released names no holder, and so nobody answers.
        address = None
        is_mine = record.holder == self.identity
        if self._address is not None and is_mine and metadata.annotations != self._crowded:
            address = self._address()
        return replace(metadata, annotations=annotated(metadata.annotations, address))

    def record_event(self, what: str) -> None:
        """Write an Event about the lease, in the background."""
        task = asyncio.get_running_loop().create_task(self._write_event(what))
        self._events.add(task)
        task.add_done_callback(self._events.discard)

    async def _write_event(self, what: str) -> None:
        assert self._lease is not None
        seconds = self._clock.wall_time()
        # A core Event, with the source fields of client-go's older recorder.
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{self._name}.{int(seconds * 1e9):x}",
                "namespace": self._namespace,
            },
            "involvedObject": {
                "apiVersion": Lease.api_version,
                "kind": Lease.kind,
                "name": self._name,
                "namespace": self._namespace,
                "resourceVersion": self._lease.metadata.resource_version,
                "uid": self._lease.metadata.uid,
            },
            "type": "Normal",
            "reason": _REASON,
            "message": f"{self.identity} {what}",
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "firstTimestamp": format_time(seconds),
            "lastTimestamp": format_time(seconds),
            "count": 1,
        }
        target = f"/api/v1/namespaces/{self._namespace}/events"
        try:
            await self._bounded(self._client.request("POST", target, msgspec.json.encode(event)))
        except ApiError as error:
            log_error(log, error, "Unable to record event (will not retry!)")

    async def _bounded(self, request: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(self._timeout):
                return await request
        except TimeoutError:
            raise NoAnswerError(f"no answer within {self._timeout:g} s", sent=True) from None


def _spec(record: Record) -> LeaseSpec:
    return LeaseSpec(
        holder_identity=record.holder,
        lease_duration_seconds=record.lease_seconds,
        acquire_time=record.acquire_time or None,
        renew_time=record.renew_time or None,
        lease_transitions=record.transitions,
    )
