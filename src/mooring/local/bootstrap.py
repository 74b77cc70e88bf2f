"""The objects that a cluster has from the start."""

from __future__ import annotations

from typing import Any

from mooring.local import writing
from mooring.local.bodies import Options
from mooring.local.cluster import Cluster
from mooring.local.exchange import Request
from mooring.local.paths import RequestInfo
from mooring.local.store import key_of

Object = dict[str, Any]

_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


def fill(cluster: Cluster) -> None:
    """Create what is not there yet."""
    for name in _NAMESPACES:
        ensure(cluster, "", "v1", "namespaces", {"metadata": {"name": name}})


def ensure(cluster: Cluster, group: str, version: str, resource: str, obj: Object) -> None:
    """Create an object unless it is there."""
    served = cluster.catalogue.get(group, version, resource)
    assert served is not None
    metadata = obj["metadata"]
    namespace = metadata.get("namespace", "")
    if cluster.store.get(served.store, key_of(namespace, metadata["name"])) is not None:
        return
    request = Request("POST", "", {}, {"user-agent": "kube-apiserver"})
    info = RequestInfo("create", "", group, version, resource, namespace=namespace)
    write = writing.Write(cluster, request, info, served, Options(manager="kube-apiserver"))
    full = {"apiVersion": served.group_version, "kind": served.kind, **obj}
    writing.create(write, full)
