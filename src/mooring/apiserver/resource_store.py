"""The objects: one global version, a ring of recent events for watches, optionally kept on disk.

Everything runs on one loop and no call here suspends, so a read followed by a write is atomic.
Objects are never changed in place: a write stores a new dict with its encoded bytes, and lists and
watches send those bytes as they are. Only the objects that were used last are kept as dicts too: a
dict takes several times the memory of its bytes, and the garbage collector visits it.
"""

from __future__ import annotations

import bisect
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

Object = dict[str, Any]

RING = 10_000
"""How many events of a resource watches can go back; kube-apiserver keeps up to 100 * 1024."""
RING_BYTES = 64 * 2**20
"""How much the objects of these events may take as JSON, so that large ones cannot fill the memory.
Ten thousand events of pods stay below."""
RECENT = 2_000
"""How many objects are kept decoded."""

ADDED = "ADDED"
MODIFIED = "MODIFIED"
DELETED = "DELETED"

_NO_LABELS: dict[str, str] = {}
"""Shared by all objects without labels; nobody may change it."""

encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Stored:
    """Hold one version of one object. `key` is `namespace/name`, or the name alone.

    `labels` and `api_version` are the object's; `views` are its bytes in other versions, `fields`
    what field selectors have asked for: both are filled by those who need them.
    """

    __slots__ = (
        "_data",
        "_keep",
        "_object",
        "api_version",
        "fields",
        "key",
        "labels",
        "version",
        "views",
    )

    def __init__(self, key: str, object: Object, version: int, data: bytes | None = None) -> None:
        self.key = key
        self.version = version
        self.labels: dict[str, str] = object["metadata"].get("labels") or _NO_LABELS
        # Interned: hundreds of thousands of objects have one of a few versions.
        self.api_version: str = sys.intern(object.get("apiVersion") or "")
        self.views: dict[str, bytes] | None = None
        self.fields: dict[str, str] | None = None
        self._object: Object | None = object
        self._data = data
        self._keep: Callable[[Stored], None] | None = None

    @property
    def object(self) -> Object:
        """Return the object; nobody may change it."""
        if self._object is None:
            self._object = _decode(self.data)
            if self._keep is not None:
                self._keep(self)
        return self._object

    @property
    def data(self) -> bytes:
        """Return the object as JSON."""
        if self._data is None:
            # Kind and version come first, so that lists of built-in kinds can leave them out.
            obj = self.object
            head = {"kind": obj.get("kind"), "apiVersion": obj.get("apiVersion")}
            self._data = encode(head | obj)
        return self._data

    @property
    def is_folded(self) -> bool:
        """Tell whether the object would have to be decoded."""
        return self._object is None

    def holds(self, object: Object) -> bool:
        """Tell whether a decoded object is this very one."""
        return self._object is object

    def keep_by(self, keep: Callable[[Stored], None]) -> None:
        """Tell `keep` whenever the object is decoded, now too: it says when to `fold` it."""
        self._keep = keep
        keep(self)

    def fold(self) -> None:
        """Keep the bytes alone, until somebody asks for the object or for another version."""
        self._data = self.data
        self._object = None
        self.views = None


@dataclass(frozen=True, slots=True)
class StoreEvent:
    """Hold one change. `old` is what was there before, None when the object is new."""

    type: str
    resource: str
    stored: Stored
    old: Stored | None

    @property
    def version(self) -> int:
        """Return the version that the change made."""
        return self.stored.version


class Journal(Protocol):
    """Keep objects beyond the life of the process."""

    def load(self) -> Iterator[tuple[str, str, int, bytes]]:
        """Yield resource, key, version and JSON of every object."""
        ...

    def version(self) -> int:
        """Return the last version that was given."""
        ...

    def put(self, resource: str, key: str, version: int, data: bytes) -> None:
        """Keep an object."""
        ...

    def delete(self, resource: str, key: str, version: int) -> None:
        """Forget an object."""
        ...

    def close(self) -> None:
        """Write everything down."""
        ...


Listener = Callable[[StoreEvent], None]


class Gone(Exception):
    """A version lies before the ring of events; the text is the API server's."""


class _Shelf:
    """Hold the objects of one resource, with their keys in order, and its last events."""

    __slots__ = ("first", "keys", "listeners", "objects", "ring", "ring_bytes")

    def __init__(self, first: int) -> None:
        self.objects: dict[str, Stored] = {}
        self.keys: list[str] = []
        self.listeners: dict[Listener, None] = {}
        self.ring: deque[StoreEvent] = deque()
        self.ring_bytes = 0
        self.first = first
        """The version after which all events are in the ring."""


def key_of(namespace: str, name: str) -> str:
    """Return the key of an object."""
    return f"{namespace}/{name}" if namespace else name


class ResourceStore:
    """Keep objects by resource and key."""

    def __init__(self, journal: Journal | None = None) -> None:
        self._shelves: dict[str, _Shelf] = {}
        self._recent: deque[Stored] = deque()
        # One bound method for all objects: making one for each would take memory for each.
        self._note = self._keep
        self._first = 1
        self._journal = journal
        self.version = 1
        if journal is not None:
            for resource, key, version, data in journal.load():
                shelf = self._shelf(resource)
                stored = Stored(key, _decode(data), version, data)
                stored.keep_by(self._note)
                shelf.objects[key] = stored
                shelf.keys.append(key)
                self.version = max(self.version, version)
            self.version = max(self.version, journal.version())
        self._first = self.version
        for shelf in self._shelves.values():
            shelf.first = self.version
            shelf.keys.sort()

    def _shelf(self, resource: str) -> _Shelf:
        shelf = self._shelves.get(resource)
        if shelf is None:
            shelf = self._shelves[resource] = _Shelf(self._first)
        return shelf

    def _keep(self, stored: Stored) -> None:
        """Note that an object is decoded; the one that has been so for longest is folded."""
        self._recent.append(stored)
        if len(self._recent) > RECENT:
            self._recent.popleft().fold()

    def get(self, resource: str, key: str) -> Stored | None:
        """Return an object, or None."""
        shelf = self._shelves.get(resource)
        return shelf.objects.get(key) if shelf is not None else None

    def items(self, resource: str, namespace: str = "", after: str = "") -> Iterator[Stored]:
        """Yield the objects of a resource in the order of their keys, from `after` on."""
        shelf = self._shelves.get(resource)
        if shelf is None:
            return
        prefix = f"{namespace}/" if namespace else ""
        start = bisect.bisect_right(shelf.keys, after) if after else 0
        if prefix:
            start = max(start, bisect.bisect_left(shelf.keys, prefix))
        for i in range(start, len(shelf.keys)):
            key = shelf.keys[i]
            if prefix and not key.startswith(prefix):
                return
            yield shelf.objects[key]

    def list_at(self, resource: str, namespace: str, after: str, version: int) -> Iterator[Stored]:
        """Return the objects as they were at a version; raises Gone when that is lost."""
        current = self.items(resource, namespace, after)
        changes = self.since(resource, version) if version != self.version else []
        if not changes:
            return current
        prefix = f"{namespace}/" if namespace else ""
        objects = {stored.key: stored for stored in current}
        for event in reversed(changes):
            key = event.stored.key
            if not key.startswith(prefix) or key <= after:
                continue
            if event.old is None:
                objects.pop(key, None)
            else:
                objects[key] = event.old
        return iter([objects[key] for key in sorted(objects)])

    def count(self, resource: str) -> int:
        """Return how many objects a resource has."""
        shelf = self._shelves.get(resource)
        return len(shelf.keys) if shelf is not None else 0

    @property
    def resources(self) -> tuple[str, ...]:
        """Return the names of the resources that have or had objects."""
        return tuple(self._shelves)

    def put(self, resource: str, key: str, object: Object) -> Stored:
        """Store an object, new or changed; its resourceVersion is set here."""
        shelf = self._shelf(resource)
        old = shelf.objects.get(key)
        self.version += 1
        object["metadata"]["resourceVersion"] = str(self.version)
        stored = Stored(key, object, self.version)
        stored.keep_by(self._note)
        if self._journal is not None:
            self._journal.put(resource, key, self.version, stored.data)
        shelf.objects[key] = stored
        if old is None:
            bisect.insort(shelf.keys, key)
        self._announce(StoreEvent(MODIFIED if old else ADDED, resource, stored, old))
        return stored

    def stored(self, object: Object) -> Stored | None:
        """Return what was written last, where that is this very object."""
        last = self._recent[-1] if self._recent else None
        return last if last is not None and last.holds(object) else None

    def delete(self, resource: str, key: str, last: Object | None = None) -> Stored:
        """Remove an object; returns it as the watchers see it, `last` when it is given."""
        shelf = self._shelf(resource)
        old = shelf.objects.pop(key)
        shelf.keys.pop(bisect.bisect_left(shelf.keys, key))
        self.version += 1
        seen = dict(last if last is not None else old.object)
        seen["metadata"] = seen["metadata"] | {"resourceVersion": str(self.version)}
        stored = Stored(key, seen, self.version)
        stored.keep_by(self._note)
        if self._journal is not None:
            self._journal.delete(resource, key, self.version)
        self._announce(StoreEvent(DELETED, resource, stored, old))
        return stored

    def _announce(self, event: StoreEvent) -> None:
        shelf = self._shelf(event.resource)
        shelf.ring.append(event)
        # Encoding costs nothing extra: the response and the watches send the same bytes.
        shelf.ring_bytes += len(event.stored.data)
        while len(shelf.ring) > RING or shelf.ring_bytes > RING_BYTES:
            lost = shelf.ring.popleft()
            shelf.ring_bytes -= len(lost.stored.data)
            shelf.first = lost.version
        for listener in tuple(shelf.listeners):
            listener(event)

    def since(self, resource: str, version: int) -> list[StoreEvent]:
        """Return the events of a resource after a version; raises Gone when they are lost."""
        shelf = self._shelf(resource)
        if version < shelf.first:
            raise Gone(f"too old resource version: {version} ({shelf.first})")
        found: list[StoreEvent] = []
        for event in reversed(shelf.ring):
            if event.version <= version:
                break
            found.append(event)
        found.reverse()
        return found

    def listen(self, resource: str, listener: Listener) -> Callable[[], None]:
        """Call a listener with every event of a resource; returns what ends it."""
        listeners = self._shelf(resource).listeners
        listeners[listener] = None
        return lambda: listeners.pop(listener, None)

    def close(self) -> None:
        """End; what was acknowledged is on disk already."""
        if self._journal is not None:
            self._journal.close()
