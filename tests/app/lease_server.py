"""A server of one Lease."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from mooring.api.events import Lease, LeaseSpec
from mooring.errors import NoAnswerError
from mooring.informers.store import Store
from mooring.virtual.memory_client import MemoryClient, StoredObjects


class Server(MemoryClient):
    """A server with one Lease, guarded by its resourceVersion, that can be made to fail."""

    def __init__(self) -> None:
        super().__init__(self)
        self._leases: Store[Lease] = Store()
        self.writes: list[LeaseSpec] = []
        self.events: list[dict[str, Any]] = []
        self.calls: list[str] = []
        #: Called with the verb before a request is served; may raise or wait.
        self.trouble: Callable[[str], Any] = lambda verb: None
        #: Verbs that are applied, but whose response is lost.
        self.lost_answers: set[str] = set()
        #: The annotations of the last update that was sent.
        self.sent_annotations: Mapping[str, str] = {}

    @property
    def lease(self) -> Lease | None:
        """Return the Lease, if there is one."""
        return self._leases.get("kube-scheduler", "kube-system")

    def store(self, kind: Any) -> Store[Lease]:
        assert kind is Lease
        return self._leases

    async def _meet(self, verb: str) -> None:
        self.calls.append(verb)
        met = self.trouble(verb)
        if met is not None:
            await met

    def _answer(self, verb: str, obj: Any) -> Any:
        if verb in self.lost_answers:
            raise NoAnswerError("the connection was cut", sent=True)
        return obj

    async def get(self, kind: Any, name: str, namespace: str = "") -> Any:
        await self._meet("get")
        return self._answer("get", await super().get(kind, name, namespace))

    async def create(self, obj: Any) -> Any:
        await self._meet("create")
        return self._answer("create", await super().create(obj))

    async def update(self, obj: Any) -> Any:
        self.sent_annotations = obj.metadata.annotations
        await self._meet("update")
        return self._answer("update", await super().update(obj))

    def show(self, store: StoredObjects, obj: Any) -> None:
        super().show(store, obj)
        self.writes.append(obj.spec)

    async def request(self, method: str, target: str, body: bytes = b"") -> bytes:
        assert (method, target) == ("POST", "/api/v1/namespaces/kube-system/events")
        self.events.append(msgspec.json.decode(body))
        return b"{}"

    def put(self, lease: Lease) -> Lease:
        """Write the Lease as another client does, whatever its version is."""
        meta = replace(lease.metadata, name="kube-scheduler", namespace="kube-system")
        return self._write(self._leases, replace(lease, metadata=meta))

    def hold(self, holder: str, seconds: int = 15, transitions: int = 3) -> None:
        """Make another process hold the lease, whose clock is in the next century."""
        self.put(
            Lease(
                spec=LeaseSpec(
                    holder_identity=holder,
                    lease_duration_seconds=seconds,
                    acquire_time="2099-01-01T00:00:00.000000Z",
                    renew_time=f"2099-01-01T00:00:{self._version:02d}.000000Z",
                    lease_transitions=transitions,
                )
            )
        )
