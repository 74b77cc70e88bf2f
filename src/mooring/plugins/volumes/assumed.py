"""Objects as they will be once the API server has been told: a layer over a lister."""

# kube-scheduler: plugins/volumebinding/passive_assume_cache.go

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from mooring.api import TypedObject
from mooring.framework.listers import Lister

T = TypeVar("T", bound=TypedObject)

#: Layers that hold more than this drop what the server has overtaken.
_PRUNE_FROM = 256


class AssumedObjects(Generic[T]):
    """Changed objects over the ones a lister has. Owned by the scheduling loop, shared by profiles.

    An object of the lister that is newer than the one an assumption was made of always wins.
    """

    def __init__(self, lister: Lister[T], plural: str) -> None:
        self.lister = lister
        self._plural = plural
        #: By key: the object that was changed, and what it was changed to.
        self._assumed: dict[str, tuple[T, T]] = {}
        self._prune_at = _PRUNE_FROM

    def not_found(self, name: str, namespace: str = "") -> str:
        """Word the answer for an object that does not exist."""
        key = f"{namespace}/{name}" if namespace else name
        return f'{self._plural} "{key}" not found'

    def get(self, name: str, namespace: str = "") -> T | None:
        """Return an object as it is assumed to be, or None."""
        stored = self.lister.get(name, namespace)
        return None if stored is None else self.over(stored)

    def over(self, stored: T) -> T:
        """Return what an object of the lister is assumed to be."""
        if not self._assumed:
            return stored
        found = self._assumed.get(stored.key)
        return found[1] if found is not None and _same(found[0], stored) else stored

    def by_index(self, index: str, key: Hashable) -> Iterator[T]:
        """Yield the objects of an index of the lister, as they are assumed to be."""
        for stored in self.lister.by_index(index, key):
            yield self.over(stored)

    def assume(self, changed: T) -> str:
        """Take an object as changed; return why not, or "".

        The change must have been made of the lister's latest version.
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
        """Go back to the lister's object, unless a later version has been assumed."""
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
    """Tell whether the lister still has the version that an assumption was made of."""
    version = stored.metadata.resource_version
    return made_of is stored or (version != "" and made_of.metadata.resource_version == version)
