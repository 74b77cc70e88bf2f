"""A server of one Lease."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from mooring.api.events import Lease, LeaseSpec
from mooring.errors import ApiError, NoAnswerError


class Server:
    """A server with one Lease, guarded by its resourceVersion, that can be made to fail."""

    def __init__(self) -> None:
        self.lease: Lease | None = None
        self.writes: list[LeaseSpec] = []
        self.events: list[dict[str, Any]] = []
        self.calls: list[str] = []
        self.version = 0
        #: Called with the verb before a request is served; may raise or wait.
        self.trouble: Callable[[str], Any] = lambda verb: None
        #: Verbs that are applied, but whose response is lost.
        self.lost_answers: set[str] = set()
        #: The annotations of the last update that was sent.
        self.sent_annotations: Mapping[str, str] = {}

    async def _meet(self, verb: str) -> None:
        self.calls.append(verb)
        met = self.trouble(verb)
        if met is not None:
            await met

    def _answer(self, verb: str) -> Lease:
        if verb in self.lost_answers:
            raise NoAnswerError("the connection was cut", sent=True)
        assert self.lease is not None
        return self.lease

    async def get(self, kind: type[Lease], name: str, namespace: str = "") -> Lease:
        await self._meet("get")
        assert (name, namespace) == ("kube-scheduler", "kube-system")
        if self.lease is None:
            raise ApiError(404, "not found", reason="NotFound")
        return self._answer("get")

    async def create(self, obj: Lease) -> Lease:
        await self._meet("create")
        if self.lease is not None:
            raise ApiError(409, "it exists", reason="AlreadyExists")
        self.put(obj)
        return self._answer("create")

    async def update(self, obj: Lease) -> Lease:
        self.sent_annotations = obj.metadata.annotations
        await self._meet("update")
        if self.lease is None:
            raise ApiError(404, "not found", reason="NotFound")
        if obj.metadata.resource_version != self.lease.metadata.resource_version:
            raise ApiError(409, "the object has been modified", reason="Conflict")
        self.put(obj)
        return self._answer("update")

    async def request(self, method: str, target: str, body: bytes = b"") -> bytes:
        assert (method, target) == ("POST", "/api/v1/namespaces/kube-system/events")
        self.events.append(msgspec.json.decode(body))
        return b"{}"

    def put(self, lease: Lease) -> None:
        self.version += 1
        meta = replace(
            lease.metadata,
            name="kube-scheduler",
            namespace="kube-system",
            resource_version=str(self.version),
            uid="u",
        )
        self.lease = replace(lease, metadata=meta)
        self.writes.append(lease.spec)

    def hold(self, holder: str, seconds: int = 15, transitions: int = 3) -> None:
        """Make another process hold the lease, whose clock is in the next century."""
        self.put(
            Lease(
                spec=LeaseSpec(
                    holder_identity=holder,
                    lease_duration_seconds=seconds,
                    acquire_time="2099-01-01T00:00:00.000000Z",
                    renew_time=f"2099-01-01T00:00:{self.version:02d}.000000Z",
                    lease_transitions=transitions,
                )
            )
        )
