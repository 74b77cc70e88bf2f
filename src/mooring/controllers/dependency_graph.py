"""The graph of owners and dependents, by uid. Does no I/O."""

# kubernetes: pkg/controller/garbagecollector/{graph,graph_builder}.go

from __future__ import annotations

import msgspec

from mooring.api import KubeObject, ObjectMeta
from mooring.client.resources import Resource

FOREGROUND_FINALIZER = "foregroundDeletion"
ORPHAN_FINALIZER = "orphan"


class Item(msgspec.Struct, frozen=True):
    """An object as the collector knows it: its resource and metadata."""

    resource: Resource
    metadata: ObjectMeta

    @property
    def deleting(self) -> bool:
        """Return whether the object is being deleted."""
        return self.metadata.deletion_timestamp is not None

    @property
    def waits_for_dependents(self) -> bool:
        """Return whether the object is deleted only after its dependents."""
        return self.deleting and FOREGROUND_FINALIZER in self.metadata.finalizers

    @property
    def orphans_dependents(self) -> bool:
        """Return whether the object's dependents must outlive it."""
        return self.deleting and ORPHAN_FINALIZER in self.metadata.finalizers

    def is_blocking(self, owner: str) -> bool:
        """Return whether an owner that waits for its dependents must wait for this object."""
        return any(
            one.uid == owner and one.block_owner_deletion for one in self.metadata.owner_references
        )


class DependencyGraph:
    """All watched objects, and which objects each of them owns."""

    def __init__(self) -> None:
        self._items: dict[str, Item] = {}
        self._dependents: dict[str, set[str]] = {}

    def get(self, uid: str) -> Item | None:
        """Return the object of this uid; None if it is unknown."""
        return self._items.get(uid)

    def dependents(self, uid: str) -> list[Item]:
        """Return the objects that an object owns."""
        return [self._items[one] for one in sorted(self._dependents.get(uid, ()))]

    def owners(self, metadata: ObjectMeta) -> list[Item | None]:
        """Return the owners of an object, with None for each unknown owner."""
        return [self._items.get(one.uid) for one in metadata.owner_references]

    def put(self, resource: Resource, obj: KubeObject) -> Item:
        """Add an object, or replace it with its new state."""
        metadata = obj.metadata
        self.drop(metadata.uid)
        item = self._items[metadata.uid] = Item(resource, metadata)
        for reference in metadata.owner_references:
            self._dependents.setdefault(reference.uid, set()).add(metadata.uid)
        return item

    def drop(self, uid: str) -> None:
        """Remove an object; objects that name it as their owner stay its dependents."""
        item = self._items.pop(uid, None)
        if item is None:
            return
        for reference in item.metadata.owner_references:
            group = self._dependents.get(reference.uid)
            if group is not None:
                group.discard(uid)
                if not group:
                    del self._dependents[reference.uid]
