"""Objects of another cluster, kept as they are: with their uid, their owners and their status.

They do not go through the API: a server has checked them already, and what refers to an object by
its uid (owners, a volume's claim, a Job's labels) must find it here too.
"""

from __future__ import annotations

from typing import Any

from mooring.apiserver import strategies, version_conversion
from mooring.apiserver.resource_store import key_of
from mooring.apiserver.resource_table import Served
from mooring.apiserver.schema.canonical import canonical
from mooring.apiserver.server_state import ServerState
from mooring.kubelet.fake_nodes import as_fake_node

Object = dict[str, Any]

#: What has a controller here that takes it off again.
_FINALIZERS = frozenset({"kubernetes.io/pv-protection", "kubernetes.io/pvc-protection"})


def is_dumped(obj: Object) -> bool:
    """Return whether an object was read from a server: nobody writes its version by hand."""
    return bool(obj["metadata"].get("resourceVersion") and obj["metadata"].get("uid"))


def keep(cluster: ServerState, served: Served, obj: Object) -> bool:
    """Keep an object of another cluster; False where it is ending, or one of its name is there."""
    metadata = obj["metadata"]
    key = key_of(metadata.get("namespace", "") if served.namespaced else "", metadata["name"])
    if metadata.get("deletionTimestamp") or cluster.store.get(served.store, key) is not None:
        return False
    full = {**obj, "apiVersion": served.group_version, "kind": served.kind}
    if served.store == "/nodes":
        full = as_fake_node(full)
    elif served.kind == "CustomResourceDefinition":
        # Webhooks that convert are not within reach.
        full["spec"] = {**full["spec"], "conversion": {"strategy": "None"}}
    elif served.kind == "ControllerRevision":
        # Older servers write what has no value; a template would not be known again by it.
        full["data"] = _without_nulls(full.get("data"))
    if served.custom is None and served.type is not None:
        full = canonical(served.type, full)
    # Other finalizers wait for controllers that are not here.
    finalizers = [one for one in metadata.get("finalizers") or () if one in _FINALIZERS]
    full["metadata"] = {**full["metadata"], "finalizers": finalizers}
    if not finalizers:
        del full["metadata"]["finalizers"]
    stored = cluster.store.put(served.store, key, version_conversion.to_stored(served, full))
    strategies.after_write(cluster, served, stored.object, None)
    return True


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


def drop_lost_owners(cluster: ServerState) -> None:
    """Take away references to owners that are not here; what they own would be collected."""
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
