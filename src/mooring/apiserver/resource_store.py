"""The store: objects by resource, one version counter, and recent events for watches.

A journal may keep the objects on disk. Everything runs on one event loop and no call here suspends,
so a read followed by a write is atomic. Objects are never changed in place: a write stores a new
dict with its encoded bytes, and lists and watches send those bytes as they are. Only the most
recently used objects are kept as dicts too: a dict takes several times the memory of its bytes, and
the garbage collector visits it.
"""

from __future__ import annotations

import bisect
import sys
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import msgspec

Object = dict[str, Any]

#: How many past events of a resource a watch can replay; kube-apiserver keeps up to 100 * 1024.
RING = 10_000
#: The most bytes of JSON in these events, so that large objects cannot fill the memory.
#: Ten thousand pod events stay below it.
RING_BYTES = 64 * 2**20
#: How many objects are cached as decoded dicts.
RECENT = 2_000

ADDED = "ADDED"
MODIFIED = "MODIFIED"
DELETED = "DELETED"

#: Shared by all objects without labels; must not be changed.
_NO_LABELS: dict[str, str] = {}

encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Stored:
    """One version of one object. `key` is `namespace/name`, or only the name.

    `labels` and `api_version` are the object's. `is_loaded` is true of an object that was copied
    from a file or another cluster, and of what is made for such an object: it is no part of the
    object, so that no request can change it. Two caches are filled on demand by their users:
    `views` has its JSON in other API versions, `fields` the values that field selectors read.
    """

    __slots__ = (
        "_data",
        "_keep",
        "_object",
        "api_version",
        "fields",
        "is_loaded",
        "key",
        "labels",
        "version",
        "views",
    )

    def __init__(
        self,
        key: str,
        object: Object,
        version: int,
        data: bytes | None = None,
        *,
        is_loaded: bool = False,
    ) -> None:
        self.key = key
        self.is_loaded = is_loaded
        self.version = version
        self.labels: dict[str, str] = object["metadata"].get("labels") or _NO_LABELS
        # Interned, as hundreds of thousands of objects share a few API versions.
        self.api_version: str = sys.intern(object.get("apiVersion") or "")
        self.views: dict[str, bytes] | None = None
        self.fields: dict[str, str] | None = None
        self._object: Object | None = object
        self._data = data
        self._keep: Callable[[Stored], None] | None = None

    @property
    def object(self) -> Object:
        """Return the object, decoding it if necessary; the caller must not change it."""
        if self._object is None:
            self._object = _decode(self.data)
            if self._keep is not None:
                self._keep(self)
        return self._object

    @property
    def data(self) -> bytes:
        """Return the object as JSON."""
        if self._data is None:
            # Kind and API version come first, so that lists of built-in kinds can cut them off.
            obj = self.object
            head = {"kind": obj.get("kind"), "apiVersion": obj.get("apiVersion")}
            self._data = encode(head | obj)
        return self._data

    @property
    def is_folded(self) -> bool:
        """Return whether only the JSON is kept, so that reading `object` would decode it."""
        return self._object is None

    def holds(self, object: Object) -> bool:
        """Return whether this holds the given dict itself, not an equal one."""
        return self._object is object

    def keep_by(self, keep: Callable[[Stored], None]) -> None:
        """Call `keep` now and whenever the object is decoded; `keep` decides when to `fold` it."""
        self._keep = keep
        keep(self)

    def fold(self) -> None:
        """Drop the decoded object and its views; only the JSON is kept."""
        self._data = self.data
        self._object = None
        self.views = None


class StoreEvent(msgspec.Struct, frozen=True):
    """One change in the store."""

    type: str
    resource: str
    stored: Stored
    #: The previous version, None if the object is new.
    old: Stored | None

    @property
    def version(self) -> int:
        """Return the resource version of the change."""
        return self.stored.version


class Journal(Protocol):
    """A persistent copy of the store."""

    def load(self) -> Iterator[tuple[str, str, int, bytes, bool]]:
        """Yield resource, key, version and JSON of every object, and whether it is loaded."""
        ...

    def version(self) -> int:
        """Return the resource version of the last deletion."""
        ...

    def put(self, resource: str, key: str, version: int, data: bytes, is_loaded: bool) -> None:
        """Write an object; raise StorageError if it cannot be written."""
        ...

    def delete(self, resource: str, key: str, version: int) -> None:
        """Delete an object, and record the resource version of its deletion.

        Raise StorageError if that cannot be written.
        """
        ...

    def close(self) -> None:
        """Close the journal."""
        ...


Listener = Callable[[StoreEvent], None]


class Gone(Exception):
    """The error for a resource version older than the events kept, with kube-apiserver's text."""


class _Shelf:
    """The objects of one resource, their sorted keys, and its recent events."""

    __slots__ = ("first", "keys", "listeners", "objects", "ring", "ring_bytes")

    def __init__(self, first: int) -> None:
        self.objects: dict[str, Stored] = {}
        self.keys: list[str] = []
        self.listeners: dict[Listener, None] = {}
        self.ring: deque[StoreEvent] = deque()
        self.ring_bytes = 0
        #: All events after this version are in the ring.
        self.first = first


def key_of(namespace: str, name: str) -> str:
    """Return the key of an object."""
    return f"{namespace}/{name}" if namespace else name


class ResourceStore:
    """The objects of a cluster, by resource and key. Owned by the API server's event loop."""

    def __init__(self, journal: Journal | None = None) -> None:
        self._shelves: dict[str, _Shelf] = {}
        self._recent: deque[Stored] = deque()
        # One bound method shared by all objects: a new one for each would cost memory.
        self._note = self._keep
        self._first = 1
        self._journal = journal
        self.version = 1
        if journal is not None:
            for resource, key, version, data, is_loaded in journal.load():
                shelf = self._shelf(resource)
                stored = Stored(key, _decode(data), version, data, is_loaded=is_loaded)
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
        """Add an object to the decoded ones; if there are too many, fold the oldest."""
        self._recent.append(stored)
        if len(self._recent) > RECENT:
            self._recent.popleft().fold()

    def get(self, resource: str, key: str) -> Stored | None:
        """Return an object, or None."""
        shelf = self._shelves.get(resource)
        return shelf.objects.get(key) if shelf is not None else None

    def items(self, resource: str, namespace: str = "", after: str = "") -> Iterator[Stored]:
        """Yield the objects of a resource in key order, starting after the key `after`."""
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
        """Return the objects as of a version; raise Gone if that is too old."""
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

    def put(self, resource: str, key: str, object: Object, *, is_loaded: bool = False) -> Stored:
        """Store a new or changed object; sets its resourceVersion.

        Only a new object can be marked as loaded; a change keeps the mark. Raise StorageError if
        the journal cannot keep it; then nothing has changed.
        """
        shelf = self._shelf(resource)
        old = shelf.objects.get(key)
        if old is not None:
            is_loaded = old.is_loaded
        version = self.version + 1
        object["metadata"]["resourceVersion"] = str(version)
        stored = Stored(key, object, version, is_loaded=is_loaded)
        if self._journal is not None:
            self._journal.put(resource, key, version, stored.data, is_loaded)
        self.version = version
        stored.keep_by(self._note)
        shelf.objects[key] = stored
        if old is None:
            bisect.insort(shelf.keys, key)
        self._announce(StoreEvent(MODIFIED if old else ADDED, resource, stored, old))
        return stored

    def stored(self, object: Object) -> Stored | None:
        """Return the entry of an object (this very dict) that was just written, else None."""
        last = self._recent[-1] if self._recent else None
        return last if last is not None and last.holds(object) else None

    def delete(self, resource: str, key: str, last: Object | None = None) -> Stored:
        """Remove an object; return it as watchers see it.

        `last` is its final state, if that differs from the stored one. Raise StorageError if the
        journal cannot record the deletion; then nothing has changed.
        """
        shelf = self._shelf(resource)
        old = shelf.objects[key]
        version = self.version + 1
        seen = dict(last if last is not None else old.object)
        seen["metadata"] = seen["metadata"] | {"resourceVersion": str(version)}
        stored = Stored(key, seen, version)
        if self._journal is not None:
            self._journal.delete(resource, key, version)
        self.version = version
        stored.keep_by(self._note)
        del shelf.objects[key]
        shelf.keys.pop(bisect.bisect_left(shelf.keys, key))
        self._announce(StoreEvent(DELETED, resource, stored, old))
        return stored

    def _announce(self, event: StoreEvent) -> None:
        shelf = self._shelf(event.resource)
        shelf.ring.append(event)
        # Encoding here costs nothing extra: the response and the watches send the same bytes.
        shelf.ring_bytes += len(event.stored.data)
        while len(shelf.ring) > RING or shelf.ring_bytes > RING_BYTES:
            lost = shelf.ring.popleft()
            shelf.ring_bytes -= len(lost.stored.data)
            shelf.first = lost.version
        for listener in tuple(shelf.listeners):
            listener(event)

    def since(self, resource: str, version: int) -> list[StoreEvent]:
        """Return the events of a resource after a version; raise Gone if that is too old."""
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
        """Call a listener with every event of a resource; return a function that ends this."""
        listeners = self._shelf(resource).listeners
        listeners[listener] = None
        return lambda: listeners.pop(listener, None)

    def close(self) -> None:
        """Close the journal, which already has every acknowledged write."""
        if self._journal is not None:
            self._journal.close()
