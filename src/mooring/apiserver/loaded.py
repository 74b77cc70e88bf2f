"""Loaded objects: those of files and other clusters, and what controllers make for them.

They never start a process on this machine unless the user allows it. The mark is made when an
object is created and is no part of it, so neither its author nor a later request can change it.
"""

from __future__ import annotations

from typing import Any

from mooring.apiserver.resource_store import key_of
from mooring.apiserver.server_state import ServerState

Object = dict[str, Any]

_PODS = "/pods"


def derives(cluster: ServerState, metadata: Object) -> bool:
    """Return whether a new object belongs to a loaded one, or to a controller that is gone."""
    namespace = metadata.get("namespace", "")
    for owner in metadata.get("ownerReferences") or ():
        served = cluster.catalogue.find_kind(owner["apiVersion"], owner["kind"])
        stored = None
        if served is not None:
            key = key_of(namespace if served.namespaced else "", owner["name"])
            stored = cluster.store.get(served.store, key)
        if stored is None or stored.object["metadata"]["uid"] != owner["uid"]:
            # A controller may act for an owner that was just deleted, and that may have been
            # loaded.
            if owner.get("controller"):
                return True
        elif stored.is_loaded:
            return True
    return False


def is_loaded_pod(cluster: ServerState, namespace: str, name: str, uid: str) -> bool:
    """Return whether a pod is loaded; true if it does not exist any more."""
    stored = cluster.store.get(_PODS, key_of(namespace, name))
    if stored is None or stored.object["metadata"]["uid"] != uid:
        return True
    return stored.is_loaded
