"""A client of a cluster in memory: writes go directly to the stores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from mooring.api import KubeObject, Pod, decode_as, encode
from mooring.controlplane.strategic_patch import patched
from mooring.errors import ApiError

T = TypeVar("T")


class StoredObjects(Protocol):
    """The objects of one kind; `informers.store.Store` is one."""

    def get(self, name: str, namespace: str = "") -> Any:
        """Return one object, or None."""
        ...

    def list(self, namespace: str | None = None) -> Iterable[Any]:
        """Return all objects, or those of one namespace."""
        ...

    def add(self, obj: Any) -> None:
        """Add an object, or replace the one with the same name."""
        ...

    def delete(self, name: str, namespace: str = "") -> Any:
        """Remove an object."""
        ...


class StoresByKind(Protocol):
    """The objects of a cluster; `MemoryCluster` is one."""

    def store(self, kind: Any) -> StoredObjects:
        """Return the objects of a kind."""
        ...


class MemoryList(msgspec.Struct, frozen=True):
    """The objects of one kind (`framework.handle.ListedObjects`)."""

    items: list[Any]


class MemoryClient:
    """A `framework.handle.Client` that writes to a MemoryCluster. It never suspends."""

    def __init__(self, cluster: StoresByKind) -> None:
        self._cluster = cluster
        self._version = 0

    async def get(self, kind: type[T], name: str, namespace: str = "") -> T:
        """Read one object."""
        found: T = _find(self._store(kind), kind, name, namespace)
        return found

    async def list(
        self,
        kind: type[Any] | str,
        namespace: str = "",
        *,
        timeout: float = 0.0,
        retries: int = 0,
        max_bytes: int = 0,
    ) -> MemoryList:
        """Read all objects of a kind, of all namespaces unless one is named; nothing limits it."""
        found = self._cluster.store(kind).list(namespace or None)
        return MemoryList([*found])

    async def create(self, obj: T) -> T:
        """Create an object; generate a missing name and uid, as the server does."""
        store = self._store(type(obj))
        meta = obj.metadata  # type: ignore[attr-defined]
        name = meta.name or f"{meta.generate_name}{self._version}"
        meta = replace(meta, name=name, uid=meta.uid or f"{meta.namespace}/{name}")
        if store.get(meta.name, meta.namespace) is not None:
            raise ApiError(409, f'"{meta.name}" already exists', reason="AlreadyExists")
        created: T = replace(obj, metadata=meta)  # type: ignore[type-var]
        return self._write(store, created)

    async def update(self, obj: T) -> T:
        """Replace an object; its resourceVersion, if it has one, must be the latest."""
        store = self._store(type(obj))
        meta = obj.metadata  # type: ignore[attr-defined]
        old = _find(store, type(obj), meta.name, meta.namespace)
        _check_version(old, meta.resource_version)
        return self._write(store, obj)

    async def patch(
        self,
        kind: type[T],
        name: str,
        namespace: str,
        patch: dict[str, Any],
        *,
        subresource: str = "",
    ) -> T:
        """Apply a strategic merge patch; custom resources do not support them."""
        store = self._store(kind)
        old = _find(store, kind, name, namespace)
        _check_version(old, patch.get("metadata", {}).get("resourceVersion", ""))
        if subresource:
            patch = {key: value for key, value in patch.items() if key == subresource}
        changed: T = decode_as(patched(encode(old), patch), type(old))
        return self._write(store, changed)

    async def add_finalizer(self, obj: T, finalizer: str) -> T:
        """Add a finalizer; the object's resourceVersion, if it has one, must be the latest."""
        meta = obj.metadata  # type: ignore[attr-defined]
        patch = {"resourceVersion": meta.resource_version, "finalizers": [finalizer]}
        return await self.patch(type(obj), meta.name, meta.namespace, {"metadata": patch})

    async def delete(
        self, kind: type[Any], name: str, namespace: str = "", *, uid: str = ""
    ) -> None:
        """Delete an object at once; with `uid`, only if it has that uid."""
        store = self._store(kind)
        old = _find(store, kind, name, namespace)
        if uid and old.metadata.uid != uid:
            raise ApiError(409, f'"{name}" has another uid', reason="Conflict")
        store.delete(name, namespace)

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Bind a pod to a node."""
        store = self._store(Pod)
        old = _find(store, Pod, pod.metadata.name, pod.metadata.namespace)
        if old.spec.node_name:
            raise ApiError(
                409, f"pod {old.metadata.name} is already assigned to node", reason="Conflict"
            )
        bound = replace(
            old,
            spec=replace(old.spec, node_name=node_name),
            status=replace(old.status, nominated_node_name=""),
        )
        self._write(store, bound)

    def _store(self, kind: type[Any]) -> StoredObjects:
        return self._cluster.store(kind)

    def _write(self, store: StoredObjects, obj: T) -> T:
        meta = obj.metadata  # type: ignore[attr-defined]
        before = store.get(meta.name, meta.namespace)
        version = self._next_version("" if before is None else before.metadata.resource_version)
        written: T = replace(obj, metadata=replace(meta, resource_version=version))  # type: ignore[type-var]
        self.show(store, written)
        return written

    def _next_version(self, before: str) -> str:
        """Return a later version than `before`; subclasses may override."""
        self._version = max(self._version, int(before) if before.isdecimal() else 0) + 1
        return str(self._version)

    def show(self, store: StoredObjects, obj: Any) -> None:
        """Show a written object to readers; subclasses may override."""
        store.add(obj)


def _find(store: StoredObjects, kind: type[Any], name: str, namespace: str) -> Any:
    found: KubeObject | None = store.get(name, namespace)
    if found is None:
        raise ApiError(404, f'{kind.__name__} "{name}" not found', reason="NotFound")
    return found


def _check_version(old: KubeObject, version: str) -> None:
    if version and version != old.metadata.resource_version:
        raise ApiError(
            409,
            f'Operation cannot be fulfilled on "{old.metadata.name}": the object has been '
            "modified; please apply your changes to the latest version and try again",
            reason="Conflict",
        )
