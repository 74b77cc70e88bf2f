"""A cluster in memory: the objects by kind, which are also the informers of a scheduler."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from mooring.api import CustomResource, FinishedPod, KubeObject, Node, Pod, find_kind
from mooring.api.kinds import BY_STRUCT, KINDS
from mooring.errors import ObjectError
from mooring.framework.listers import Lister
from mooring.informers.store import EventHandler, Store

T = TypeVar("T", bound=KubeObject)


#: The name of a kind of the core group may end with a dot.
_STRUCTS: Mapping[str, type[KubeObject]] = {
    kind.resource.rstrip("."): kind.struct for kind in KINDS
}


def _key(kind: type[KubeObject] | str) -> type[KubeObject] | str:
    """Return the one name of a kind that may be named by its Struct or as text."""
    if isinstance(kind, str):
        return _STRUCTS.get(kind.rstrip("."), kind)
    if kind not in BY_STRUCT and kind is not FinishedPod:
        raise ObjectError(f"{kind.__name__} is not in the table of kinds")
    return kind


class VersionedStore(Store[T]):
    """A store that gives a changed object another resource version, as an API server does."""

    def add(self, obj: T) -> None:
        """Add an object, or replace the one with the same name."""
        meta = obj.metadata
        old = self.get(meta.name, meta.namespace)
        if old is not None and old is not obj:
            version = meta.resource_version
            if version == old.metadata.resource_version:
                later = str(int(version) + 1) if version.isdecimal() else f"{version}+"
                obj = replace(obj, metadata=replace(meta, resource_version=later))
        super().add(obj)


#: Handlers that have not been called for the objects there are, with their store.
_Waiting = list[tuple[Store[Any], EventHandler[Any]]]


class MemoryInformer:
    """The informer of one kind."""

    def __init__(self, store: Store[Any], waiting: _Waiting | None) -> None:
        self.store = store
        self._waiting = waiting

    def add_handler(self, handler: EventHandler[Any]) -> None:
        """Call a handler for every object there is, and for every change from now on."""
        if self._waiting is None:
            self.store.add_handler(handler)
        else:
            self._waiting.append((self.store, handler))


class MemoryCluster:
    """The stores of all objects. Owned by its simulation.

    Pods that have succeeded or failed are in a store of their own (FinishedPod), because a
    scheduler does not list them as Pod.
    """

    #: The class of the stores.
    store_type: type[Store[Any]] = VersionedStore

    def __init__(self, objects: Iterable[KubeObject] = ()) -> None:
        self._stores: dict[Any, Store[Any]] = {}
        self.pods: Store[Pod] = self.store(Pod)
        self.nodes: Store[Node] = self.store(Node)
        #: None once `inform` has been called.
        self._waiting: _Waiting | None = []
        self._initial: Sequence[KubeObject] = tuple(objects)
        for obj in self._initial:
            self.add(obj)

    # Reading.

    def store(self, kind: type[KubeObject] | str) -> Store[Any]:
        """Return the store of a kind; a custom resource is named "plural.version.group"."""
        key = _key(kind)
        found = self._stores.get(key)
        if found is None:
            found = self._stores[key] = self.store_type()
        return found

    def has(self, kind: type[KubeObject] | str) -> bool:
        """Return whether a kind has been asked for."""
        return _key(kind) in self._stores

    def lister(self, kind: type[KubeObject] | str) -> Lister[Any]:
        """Return read access to a kind."""
        return self.store(kind)

    def informer(self, kind: type[KubeObject] | str) -> MemoryInformer:
        """Return the informer of a kind."""
        return MemoryInformer(self.store(kind), self._waiting)

    def inform(self) -> None:
        """Call the handlers for the objects there are; changes reach them from now on.

        The objects come in the order in which they were given, whatever their kinds: the order of
        the nodes in the cache depends on it.
        """
        waiting, self._waiting = self._waiting or (), None
        by_store: dict[int, list[EventHandler[Any]]] = {}
        for store, handler in waiting:
            by_store.setdefault(id(store), []).append(handler)
            store.add_handler(handler, existing=False)
        for store, obj in self._in_order():
            for handler in by_store.get(id(store), ()):
                if handler.on_add is not None:
                    handler.on_add(obj)
        self._initial = ()

    def _in_order(self) -> Iterator[tuple[Store[Any], KubeObject]]:
        """Yield every object once, in its latest version."""
        yielded: set[tuple[int, str, str]] = set()
        for obj in (*self._initial, *self.objects()):
            store, meta = self.store_of(obj), obj.metadata
            key = id(store), meta.namespace, meta.name
            current = store.get(meta.name, meta.namespace)
            if current is not None and key not in yielded:
                yielded.add(key)
                yield store, current

    def objects(self) -> Iterator[KubeObject]:
        """Yield every object."""
        for store in tuple(self._stores.values()):
            yield from tuple(store)

    def store_of(self, obj: KubeObject) -> Store[Any]:
        """Return the store an object belongs in."""
        if isinstance(obj, CustomResource):
            group, _, version = obj.api_version.rpartition("/")
            known = find_kind(obj.api_version, obj.kind)
            plural = known.plural if known else f"{obj.kind.lower()}s"
            return self.store(f"{plural}.{version}.{group}")
        if isinstance(obj, Pod) and obj.is_finished:
            return self.store(FinishedPod)
        return self.store(type(obj))

    # Changes from outside.

    def add(self, obj: KubeObject) -> None:
        """Add an object, or replace the object of the same name."""
        if isinstance(obj, Pod):
            other = self.pods if obj.is_finished else self.store(FinishedPod)
            other.delete(obj.metadata.name, obj.metadata.namespace)
        self.store_of(obj).add(obj)

    def delete(self, obj: KubeObject) -> None:
        """Remove an object if it exists."""
        self.store_of(obj).delete(obj.metadata.name, obj.metadata.namespace)
