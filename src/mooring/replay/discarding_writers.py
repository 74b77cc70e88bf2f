"""Writers of a scheduler that replays a journal: what it writes has no effect anywhere.

PreBind plugins read what they have written, so the client answers as an API server would, and
remembers its answers until the journal shows another version of the object.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from mooring.api import Condition, Pod, WorkloadPodGroup
from mooring.binding.status_writer import StatusChange
from mooring.replay.recorded_informers import RecordedInformers
from mooring.virtual.memory_client import MemoryClient


class UnwrittenObjects:
    """The objects of one kind, and those that were written since, which nobody else sees."""

    def __init__(self, informers: RecordedInformers, kind: Any) -> None:
        self._store = informers.store(kind)
        #: By namespace and name: the object before, and as written.
        self._written: dict[tuple[str, str], tuple[Any, Any]] = {}

    def get(self, name: str, namespace: str = "") -> Any:
        """Return one object, or None."""
        stored = self._store.get(name, namespace)
        before, written = self._written.get((namespace, name), (None, None))
        return written if written is not None and before is stored else stored

    def list(self, namespace: str | None = None) -> Iterable[Any]:
        """Return the recorded objects."""
        return self._store.list(namespace)

    def add(self, obj: Any) -> None:
        """Remember an object that was written."""
        name, namespace = obj.metadata.name, obj.metadata.namespace
        self._written[namespace, name] = self._store.get(name, namespace), obj

    def delete(self, name: str, namespace: str = "") -> None:
        """Do nothing: the journal shows what was deleted."""


class UnwrittenCluster:
    """The objects of a journal by kind, for a `DiscardingClient`."""

    def __init__(self, informers: RecordedInformers) -> None:
        self._informers = informers
        self._kinds: dict[Any, UnwrittenObjects] = {}

    def store(self, kind: Any) -> UnwrittenObjects:
        """Return the objects of a kind."""
        found = self._kinds.get(kind)
        if found is None:
            found = self._kinds[kind] = UnwrittenObjects(self._informers, kind)
        return found


class DiscardingClient(MemoryClient):
    """A client that answers from the recorded objects and writes nothing. It never suspends."""

    def __init__(self, informers: RecordedInformers) -> None:
        super().__init__(UnwrittenCluster(informers))

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Do nothing: the journal shows which pods were bound."""

    def _next_version(self, before: str) -> str:
        """Return the first version after `before`, as the journal may show the next one."""
        self._version += 1
        before = before or "0"
        return str(int(before) + 1) if before.isdecimal() else f"{before}+"


class DiscardedStatuses:
    """A `PodStatusWriter` that writes nothing."""

    def write(self, pod: Pod, change: StatusChange) -> None:
        """Do nothing."""

    async def write_first(self, pod: Pod, change: StatusChange) -> None:
        """Do nothing."""

    async def told(self, uid: str) -> None:
        """Return immediately: nothing is being written."""

    async def settle(self, uid: str) -> None:
        """Return immediately: nothing is being written."""


class DiscardedGroupStatuses:
    """A `GroupStatusWriter` that writes nothing."""

    def write(
        self, group: WorkloadPodGroup, condition: Condition, after: Collection[str] = ()
    ) -> None:
        """Do nothing."""
