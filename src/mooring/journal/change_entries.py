"""Makes the journal entries of object changes: the whole object, or only the new parts of a pod.

Most changes of pods are binds and status reports of kubelets, which change only a small part of the
pod. An entry with only that part is written and read in a fraction of the time.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from mooring.api import FinishedPod, Pod
from mooring.client.resources import find_resource
from mooring.journal.entries import FINISHED_PODS, Change, PodUpdate
from mooring.journal.omission import encode_object, encode_status


def change_entry(time: float, kind: Any, old: Any, new: Any) -> Change | PodUpdate:
    """Return the entry of a change; `old` is None if the object is new, `new` if it is deleted."""
    if kind is Pod and old is not None and new is not None:
        update = _pod_update(time, old, new)
        if update is not None:
            return update
    obj = old if new is None else new
    meta = obj.metadata
    name = FINISHED_PODS if kind is FinishedPod else find_resource(kind).name
    return Change(
        time,
        name,
        meta.namespace,
        meta.name,
        encode_object(obj, name),
        old is not None,
        new is None,
    )


def _pod_update(time: float, old: Pod, new: Pod) -> PodUpdate | None:
    """Return the short entry of a change; None if it cannot hold everything that changed."""
    spec, node = old.spec, new.spec.node_name
    if node != spec.node_name:
        spec = replace(spec, node_name=node)
    meta, before = new.metadata, old.metadata
    version, labels = meta.resource_version, meta.labels
    if new.spec != spec or meta != replace(before, resource_version=version, labels=labels):
        return None
    return PodUpdate(
        time,
        meta.namespace,
        meta.name,
        version,
        node,
        encode_status(new.status),
        None if labels == before.labels else labels,
    )
