"""Owners: which objects belong to which controller, and their adoption and release."""

# kubernetes: pkg/controller/controller_ref_manager.go

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import Any

import msgspec

from mooring.api import CustomResource, KubeObject, LabelSelector, OwnerReference, Selector
from mooring.api.kinds import decode_as
from mooring.client.client import STRATEGIC
from mooring.client.resources import Resource
from mooring.controllers.work_queue import Key
from mooring.controllers.writer import Object, Writer
from mooring.informers.store import Store

_INDEX = "controller"


def controller_of(obj: KubeObject) -> OwnerReference | None:
    """Return the reference to the controller of an object."""
    for reference in obj.metadata.owner_references:
        if reference.controller:
            return reference
    return None


def controller_key(obj: KubeObject, kind: str) -> Key | None:
    """Return the key of an object's controller if it is of this kind, else None."""
    found = controller_of(obj)
    return (obj.metadata.namespace, found.name) if found and found.kind == kind else None


def reference_to(owner: CustomResource) -> Object:
    """Return a reference that makes `owner` the controller of an object."""
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def index_by_controller(store: Store[Any]) -> None:
    """Index objects by their controller, and orphans by their namespace and labels."""

    def keys(obj: KubeObject) -> Iterable[Hashable]:
        found = controller_of(obj)
        if found is not None:
            yield found.uid
            return
        namespace = obj.metadata.namespace
        yield namespace, None
        for label in obj.metadata.labels.items():
            yield namespace, label

    store.add_index(_INDEX, keys)


def owned(store: Store[Any], owner: KubeObject) -> list[Any]:
    """Return the objects that name `owner` as their controller."""
    return list(store.by_index(_INDEX, owner.metadata.uid))


def count(store: Store[Any], owner: KubeObject | None) -> int:
    """Return how many objects name `owner` as their controller."""
    return 0 if owner is None else store.count_by_index(_INDEX, owner.metadata.uid)


def orphans(store: Store[Any], owner: CustomResource) -> list[Any]:
    """Return the objects without a controller that `owner` might adopt."""
    # Looking up one of the required labels leaves few objects for the full selector.
    labels = owner.get("spec.selector.matchLabels") or {}
    label = next(iter(labels.items()), None)
    return list(store.by_index(_INDEX, (owner.metadata.namespace, label)))


def selector_of(raw: Object) -> Selector:
    """Compile the label selector of a workload."""
    selector = (raw.get("spec") or {}).get("selector")
    return _compiled(None if selector is None else msgspec.json.encode(selector))


# Cached, because every change of an orphaned pod is matched against the selectors of all
# workloads in its namespace.
@lru_cache(maxsize=4096)
def _compiled(selector: bytes | None) -> Selector:
    found = None if selector is None else decode_as(msgspec.json.decode(selector), LabelSelector)
    return Selector.from_label_selector(found)


def keys_for(obj: KubeObject, kind: str, store: Store[Any]) -> Iterable[Key]:
    """Return the keys to reconcile after an object changed: its owner, or possible adopters."""
    if controller_of(obj) is not None:
        key = controller_key(obj, kind)
        if key is not None:
            yield key
    elif obj.metadata.labels:
        for owner in store.list(obj.metadata.namespace):
            if selector_of(owner.raw).matches(obj.metadata.labels):
                yield owner.metadata.namespace, owner.metadata.name


async def claim(
    writer: Writer, owner: CustomResource, resource: Resource, store: Store[Any]
) -> list[Any]:
    """Adopt matching orphans and release objects that no longer match; return what is owned."""
    selector = selector_of(owner.raw)
    mine = []
    deleted = owner.metadata.deletion_timestamp is not None
    for obj in owned(store, owner):
        if selector.matches(obj.metadata.labels):
            mine.append(obj)
        elif not deleted:
            await _release(writer, owner, resource, obj)
    if deleted or selector.empty:
        return mine
    for obj in orphans(store, owner):
        if obj.metadata.deletion_timestamp is None and selector.matches(obj.metadata.labels):
            await _adopt(writer, owner, resource, obj)
            mine.append(obj)
    return mine


async def _adopt(writer: Writer, owner: CustomResource, resource: Resource, obj: Any) -> None:
    await _change(writer, resource, obj, reference_to(owner))


async def _release(writer: Writer, owner: CustomResource, resource: Resource, obj: Any) -> None:
    await _change(writer, resource, obj, {"$patch": "delete", "uid": owner.metadata.uid})


async def _change(writer: Writer, resource: Resource, obj: Any, reference: Object) -> None:
    metadata = obj.metadata
    patch = {"metadata": {"uid": metadata.uid, "ownerReferences": [reference]}}
    await writer.patch(resource, metadata.namespace, metadata.name, patch, patch_type=STRATEGIC)
