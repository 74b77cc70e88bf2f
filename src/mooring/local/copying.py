"""Objects of another cluster, stored unchanged: with their uid, their owners and their status.

They are written to the store directly, not through the API: a server has validated them already,
and references by uid (owners, a volume's claim, a Job's labels) must stay valid here.
"""

from __future__ import annotations

from typing import Any

from mooring.api.scheduling import GROUP_FINALIZER
from mooring.apiserver import strategies, version_conversion
from mooring.apiserver.resource_store import key_of
from mooring.apiserver.resource_table import Served
from mooring.apiserver.schema.canonical import DecodeError, canonical
from mooring.apiserver.server_state import ServerState
from mooring.controlplane.type_table import types
from mooring.kubelet.fake_nodes import as_fake_node

Object = dict[str, Any]

#: The finalizers that a controller of the local cluster removes.
_FINALIZERS = frozenset(
    {"kubernetes.io/pv-protection", "kubernetes.io/pvc-protection", GROUP_FINALIZER}
)


def is_dumped(obj: Object) -> bool:
    """Return whether an object was read from a server: it then has a resource version and uid."""
    return bool(obj["metadata"].get("resourceVersion") and obj["metadata"].get("uid"))


def keep(cluster: ServerState, served: Served, obj: Object) -> bool:
    """Store an object of another cluster.

    Return False, without storing it, if it is being deleted or its name already exists. Raise
    DecodeError if a value has the wrong type: no server has validated what a file says.
    """
    full = _decoded(served, obj)
    metadata = full["metadata"]
    key = key_of(metadata.get("namespace", "") if served.namespaced else "", metadata["name"])
    if metadata.get("deletionTimestamp") or cluster.store.get(served.store, key) is not None:
        return False
    if served.store == "/nodes" and served.type is not None:
        full = canonical(served.type, as_fake_node(full))
    elif served.kind == "CustomResourceDefinition":
        # Conversion webhooks of the other cluster cannot be reached.
        full["spec"] = {**(full.get("spec") or {}), "conversion": {"strategy": "None"}}
    elif served.kind == "ControllerRevision":
        # Older servers write fields without a value as null, so the revision would not equal the
        # workload's template.
        full["data"] = _without_nulls(full.get("data"))
    # The controllers that remove other finalizers do not run here.
    finalizers = [one for one in metadata.get("finalizers") or () if one in _FINALIZERS]
    full["metadata"] = {**full["metadata"], "finalizers": finalizers}
    if not finalizers:
        del full["metadata"]["finalizers"]
    full = version_conversion.to_stored(served, full)
    stored = cluster.store.put(served.store, key, full, is_loaded=True)
    strategies.after_write(cluster, served, stored.object, None)
    return True


def _decoded(served: Served, obj: Object) -> Object:
    """Return an object of which each value has its type; of a custom resource, the metadata."""
    full = {**obj, "apiVersion": served.group_version, "kind": served.kind}
    if served.custom is None and served.type is not None:
        full = canonical(served.type, full)
    else:
        full["metadata"] = canonical(types().get("meta.v1.ObjectMeta"), obj.get("metadata") or {})
    if not (full.get("metadata") or {}).get("name"):
        raise DecodeError("metadata.name is missing")
    return full


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


def drop_lost_owners(cluster: ServerState) -> None:
    """Remove references to owners that do not exist, or their dependents would be deleted."""
    store = cluster.store
    known = {
        one.object["metadata"].get("uid") for place in store.resources for one in store.items(place)
    }
    for place in store.resources:
        for stored in list(store.items(place)):
            metadata = stored.object["metadata"]
            owners = metadata.get("ownerReferences") or ()
            left = [one for one in owners if one.get("uid") in known]
            if len(left) == len(owners):
                continue
            changed = {name: value for name, value in metadata.items() if name != "ownerReferences"}
            if left:
                changed["ownerReferences"] = left
            store.put(place, stored.key, {**stored.object, "metadata": changed})
