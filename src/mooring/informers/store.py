"""Store: the objects of one kind, by key, with indexes. Does no I/O itself."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

import msgspec

from mooring.api import KubeObject
from mooring.framework.plugin_errors import error_text, raise_if_external
from mooring.observe.logs import log_error

log = logging.getLogger(__name__)

T = TypeVar("T", bound=KubeObject)

_Key = tuple[str, str]


class EventHandler(msgspec.Struct, Generic[T], frozen=True):
    """Callbacks for changes; each is optional."""

    on_add: Callable[[T], None] | None = None
    on_update: Callable[[T, T], None] | None = None
    on_delete: Callable[[T], None] | None = None


class _Index(Generic[T]):
    def __init__(self, keys: Callable[[T], Iterable[Hashable]]) -> None:
        self.keys = keys
        self.found: dict[Hashable, dict[_Key, T]] = {}

    def _keys_of(self, obj: T) -> Iterable[Hashable]:
        """Return the keys of an object; none if a plugin's function fails."""
        try:
            keys = tuple(self.keys(obj))
            for key in keys:
                hash(key)
        except BaseException as error:
            raise_if_external(error)
            log_error(
                log, error_text(error), "An index failed; it does not find the object", object=obj
            )
            return ()
        return keys

    def add(self, key: _Key, obj: T) -> None:
        for value in self._keys_of(obj):
            self.found.setdefault(value, {})[key] = obj

    def remove(self, key: _Key, obj: T) -> None:
        for value in self._keys_of(obj):
            group = self.found.get(value)
            if group is not None and group.pop(key, None) is not None and not group:
                del self.found[value]


class Store(Generic[T]):
    """The objects of one kind by namespace and name; handlers are called for every change."""

    def __init__(self, objects: Iterable[T] = ()) -> None:
        #: Grows with every change of any object.
        self.version = 0
        self._objects: dict[_Key, T] = {}
        self._by_namespace: dict[str, dict[_Key, T]] = {}
        self._indexes: dict[str, _Index[T]] = {}
        self._handlers: list[EventHandler[T]] = []
        for obj in objects:
            self.add(obj)

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        return iter(self._objects.values())

    # Reading: the Lister interface.

    def get(self, name: str, namespace: str = "") -> T | None:
        """Return one object, or None."""
        return self._objects.get((namespace, name))

    def list(self, namespace: str | None = None) -> Iterable[T]:
        """Return all objects, or those of one namespace, in the order in which they were added."""
        if namespace is None:
            return self._objects.values()
        return self._by_namespace.get(namespace, {}).values()

    def add_index(self, index: str, keys: Callable[[T], Iterable[Hashable]]) -> None:
        """Add an index: `keys(object)` returns its keys. Idempotent by name."""
        if index in self._indexes:
            return
        made = self._indexes[index] = _Index(keys)
        for key, obj in self._objects.items():
            made.add(key, obj)

    def by_index(self, index: str, key: Hashable) -> Iterable[T]:
        """Return the objects that an index lists under `key`."""
        return self._indexes[index].found.get(key, {}).values()

    def count(self, namespace: str) -> int:
        """Return the number of objects in a namespace."""
        return len(self._by_namespace.get(namespace, ()))

    def count_by_index(self, index: str, key: Hashable) -> int:
        """Return the number of objects that an index lists under `key`."""
        return len(self._indexes[index].found.get(key, ()))

    def subscribe(self, changed: Callable[[T | None, T | None], None]) -> None:
        """Call `changed(old, new)` for every object there is, and for each change from now on."""
        self.add_handler(
            EventHandler(
                on_add=lambda new: changed(None, new),
                on_update=changed,
                on_delete=lambda old: changed(old, None),
            )
        )

    # Writing.

    def add_handler(self, handler: EventHandler[T], *, existing: bool = True) -> None:
        """Call a handler for every object there is, and for every change from now on.

        Without `existing`, only for the changes.
        """
        self._handlers.append(handler)
        if existing and handler.on_add is not None:
            for obj in list(self._objects.values()):
                handler.on_add(obj)

    def remove_handler(self, handler: EventHandler[T]) -> None:
        """Stop calling a handler."""
        self._handlers = [other for other in self._handlers if other is not handler]

    def add(self, obj: T) -> None:
        """Add an object, or replace the one with the same name."""
        key = (obj.metadata.namespace, obj.metadata.name)
        old = self._objects.get(key)
        if old is not None:
            for index in self._indexes.values():
                index.remove(key, old)
        self.version += 1
        self._objects[key] = obj
        self._by_namespace.setdefault(key[0], {})[key] = obj
        for index in self._indexes.values():
            index.add(key, obj)
        if old is None:
            self._tell("on_add", obj)
        else:
            self._tell("on_update", old, obj)

    def update(self, obj: T) -> None:
        """Replace an object, or add it if there is none."""
        self.add(obj)

    def delete(self, name: str, namespace: str = "", *, last: T | None = None) -> T | None:
        """Remove an object and return it; None if there is none.

        Handlers receive `last` instead of the stored object, if it is given: a more recent state.
        """
        key = (namespace, name)
        old = self._objects.pop(key, None)
        if old is None:
            return None
        group = self._by_namespace[namespace]
        del group[key]
        if not group:
            del self._by_namespace[namespace]
        self.version += 1
        for index in self._indexes.values():
            index.remove(key, old)
        self._tell("on_delete", old if last is None else last)
        return old

    def replace(self, objects: Iterable[T]) -> None:
        """Replace all objects; those whose resource version is unchanged are left alone.

        If a handler fails, the replacement still completes; the first error is raised at the end.
        """
        failure: Exception | None = None
        gone = dict.fromkeys(self._objects)
        for obj in objects:
            meta = obj.metadata
            key = (meta.namespace, meta.name)
            gone.pop(key, None)
            old = self._objects.get(key)
            if old is not None and old.metadata.resource_version == meta.resource_version != "":
                continue
            try:
                self.add(obj)
            except Exception as error:
                failure = failure or error
        for namespace, name in gone:
            try:
                self.delete(name, namespace)
            except Exception as error:
                failure = failure or error
        if failure is not None:
            raise failure

    def _tell(self, point: str, *objects: T) -> None:
        """Call every handler, even if another fails; then raise the first error."""
        failure: Exception | None = None
        # A handler that was added by another handler has been called for this change already.
        for handler in itertools.islice(self._handlers, len(self._handlers)):
            call = getattr(handler, point)
            if call is not None:
                try:
                    call(*objects)
                except BaseException as error:
                    raise_if_external(error)
                    failure = failure or _as_failure(error)
        if failure is not None:
            raise failure


def _as_failure(error: BaseException) -> Exception:
    """Return what a handler raised as an exception that ends neither a task nor the process."""
    if isinstance(error, Exception):
        return error
    failure = RuntimeError(f"a handler raised {error_text(error)}")
    failure.__cause__ = error
    return failure
