"""ObjectStore: the objects of a simulated API server as JSON, with all their changes.

A scheduler under test is checked against this state.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

Json = dict[str, Any]
Key = tuple[str, str]

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"

PODS = "/api/v1/pods"
NODES = "/api/v1/nodes"


class Refusal(Exception):
    """A request that the server refuses."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message


class Change(msgspec.Struct, frozen=True):
    """One write: an object before and after it; for a deletion, its last state."""

    version: int
    type: str
    object: Json
    before: Json | None


class ObjectStore:
    """Collections of objects by namespace and name, and every change since the beginning.

    Collections are named by their path without a namespace. Objects are never changed in place.
    """

    def __init__(self) -> None:
        self.version = 1
        #: A watch from before this version is refused, because those changes were compacted.
        self.oldest = 0
        self._objects: dict[str, dict[Key, Json]] = {}
        self._changes: dict[str, list[Change]] = {}
        self._listeners: dict[object, Callable[[str], None]] = {}
        self._uids = 0

    def listen(self, listener: Callable[[str], None]) -> object:
        """Call `listener(collection)` after every change; return a token for `unlisten`."""
        token = object()
        self._listeners[token] = listener
        return token

    def unlisten(self, token: object) -> None:
        """Stop calling a listener."""
        self._listeners.pop(token, None)

    def list(self, collection: str, namespace: str = "") -> list[Json]:
        """Return the objects of a collection, in the order of their creation."""
        found = self._objects.get(collection, {})
        return [obj for key, obj in found.items() if not namespace or key[0] == namespace]

    def find(self, collection: str, name: str, namespace: str = "") -> Json | None:
        """Return one object, or None."""
        return self._objects.get(collection, {}).get((namespace, name))

    def get(self, collection: str, name: str, namespace: str = "") -> Json:
        """Return one object, or raise a Refusal with 404."""
        found = self.find(collection, name, namespace)
        if found is None:
            plural = collection.rpartition("/")[2]
            raise Refusal(404, "NotFound", f'{plural} "{name}" not found')
        return found

    def create(self, collection: str, obj: Json) -> Json:
        """Add an object with a new uid."""
        meta = obj["metadata"]
        if self.find(collection, meta["name"], meta.get("namespace", "")) is not None:
            plural = collection.rpartition("/")[2]
            raise Refusal(409, "AlreadyExists", f'{plural} "{meta["name"]}" already exists')
        self._uids += 1
        uid = f"00000000-0000-0000-0000-{self._uids:012}"
        return self._write(collection, {**obj, "metadata": {**meta, "uid": uid}}, ADDED, None)

    def replace(self, collection: str, obj: Json) -> Json:
        """Replace an object; do nothing if it is unchanged."""
        meta = obj["metadata"]
        old = self.get(collection, meta["name"], meta.get("namespace", ""))
        if obj == old:
            return old
        return self._write(collection, obj, MODIFIED, old)

    def remove(self, collection: str, obj: Json) -> Json:
        """Remove an object, and return its last state."""
        meta = obj["metadata"]
        old = self.get(collection, meta["name"], meta.get("namespace", ""))
        return self._write(collection, old, DELETED, old)

    def since(self, collection: str, version: int) -> Iterable[Change]:
        """Return the changes of a collection after a version."""
        changes = self._changes.get(collection, [])
        return changes[bisect_right(changes, version, key=lambda change: change.version) :]

    def compact(self) -> None:
        """Forget every change so far."""
        self.oldest = self.version

    def drop_changes(self) -> None:
        """Free the memory of every change so far; all watches must have sent them."""
        self._changes.clear()

    def _write(self, collection: str, obj: Json, type: str, before: Json | None) -> Json:
        self.version += 1
        meta = {**obj["metadata"], "resourceVersion": str(self.version)}
        written = {**obj, "metadata": meta}
        objects = self._objects.setdefault(collection, {})
        key = (meta.get("namespace", ""), meta["name"])
        if type == DELETED:
            del objects[key]
        else:
            objects[key] = written
        change = Change(self.version, type, written, before)
        self._changes.setdefault(collection, []).append(change)
        for listener in list(self._listeners.values()):
            listener(collection)
        return written
