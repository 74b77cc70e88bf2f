"""Assumed objects: a layer over a lister, with changes not yet written to the API server."""

# kube-scheduler: plugins/volumebinding/passive_assume_cache.go

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from mooring.api import TypedObject
from mooring.framework.listers import Lister

T = TypeVar("T", bound=TypedObject)

#: When a layer holds more objects than this, outdated ones are dropped.
_PRUNE_FROM = 256


class AssumedObjects(Generic[T]):
    """Assumed objects that replace those of a lister.

    If the lister has a newer version than the one an assumption is based on, the lister's counts.
    Owned by the scheduling loop, shared by profiles.
    """

    def __init__(self, lister: Lister[T], plural: str) -> None:
        self.lister = lister
        self._plural = plural
        #: By key: the object as stored, and as assumed.
        self._assumed: dict[str, tuple[T, T]] = {}
        self._prune_at = _PRUNE_FROM

    @property
    def count(self) -> int:
        """The number of objects that are held, outdated ones included."""
        return len(self._assumed)

    def not_found(self, name: str, namespace: str = "") -> str:
        """Return the message for an object that does not exist."""
        key = f"{namespace}/{name}" if namespace else name
        return f'{self._plural} "{key}" not found'

    def get(self, name: str, namespace: str = "") -> T | None:
        """Return an object, as assumed if it is, or None."""
        stored = self.lister.get(name, namespace)
        return None if stored is None else self.over(stored)

    def over(self, stored: T) -> T:
        """Return the assumed version of a lister's object, or else the object itself."""
        if not self._assumed:
            return stored
        found = self._assumed.get(stored.key)
        return found[1] if found is not None and _same(found[0], stored) else stored

    def by_index(self, index: str, key: Hashable) -> Iterator[T]:
        """Yield the objects of an index of the lister, in their assumed versions."""
        for stored in self.lister.by_index(index, key):
            yield self.over(stored)

    def assume(self, changed: T) -> str:
        """Assume a changed object; return "", or the reason why that is not possible.

        The change must be based on the lister's latest version.
        """
        metadata = changed.metadata
        stored = self.lister.get(metadata.name, metadata.namespace)
        if stored is None:
            return self.not_found(metadata.name, metadata.namespace)
        if stored.metadata.resource_version != metadata.resource_version:
            return (
                f'"{changed.key}" is out of sync (stored: {stored.metadata.resource_version}, '
                f"assume: {metadata.resource_version})"
            )
        self._assumed[changed.key] = (stored, changed)
        if len(self._assumed) > self._prune_at:
            self._prune()
        return ""

    def restore(self, changed: T) -> None:
        """Drop an assumed object, unless another version has been assumed since."""
        found = self._assumed.get(changed.key)
        if found is not None and found[1].metadata.resource_version == (
            changed.metadata.resource_version
        ):
            del self._assumed[changed.key]

    def _prune(self) -> None:
        for key, (made_of, _) in list(self._assumed.items()):
            stored = self.lister.get(made_of.metadata.name, made_of.metadata.namespace)
            if stored is None or not _same(made_of, stored):
                del self._assumed[key]
        self._prune_at = max(_PRUNE_FROM, 2 * len(self._assumed))


def _same(made_of: TypedObject, stored: TypedObject) -> bool:
    """Return whether the lister still has the version that an assumption is based on."""
    version = stored.metadata.resource_version
    return made_of is stored or (version != "" and made_of.metadata.resource_version == version)
