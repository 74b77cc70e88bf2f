"""The objects that a local cluster starts with, from manifests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from mooring.api.manifest_reading import Where
from mooring.apiserver import bootstrap
from mooring.apiserver.resource_table import Served
from mooring.apiserver.schema.canonical import DecodeError
from mooring.apiserver.server_state import ServerState
from mooring.client.client import Client
from mooring.errors import ApiError, ObjectError
from mooring.kubelet.fake_nodes import as_fake_node
from mooring.local import copying

Object = dict[str, Any]

#: kubectl: cli-runtime, pkg/resource
NO_SUCH_KIND = 'no matches for kind "{}" in version "{}"'
#: The group of PodGroups and ElasticQuotas until scheduler-plugins v0.24.
_RENAMED = "scheduling.sigs.k8s.io/"
RENAMED = ": scheduler-plugins v0.25 renamed the group; write scheduling.x-k8s.io/v1alpha1"

#: Other objects need these to exist, so they are created first, wherever they are in a file.
_FIRST = ("Namespace", "CustomResourceDefinition", "PriorityClass", "StorageClass", "Node")


async def seed(
    cluster: ServerState, client: Client, objects: Iterable[tuple[Object, Where]]
) -> None:
    """Create objects in their order; those that already exist are left as they are.

    Nodes become fake nodes. An object read from a server is stored unchanged, with its uid and
    status. Raise ObjectError with the file and line of an object that is refused.
    """
    dumped = False
    for obj, where in sorted(objects, key=lambda found: _rank(found[0])):
        served = cluster.catalogue.find_kind(obj["apiVersion"], obj["kind"])
        if served is None:
            advice = RENAMED if obj["apiVersion"].startswith(_RENAMED) else ""
            raise _error(NO_SUCH_KIND.format(obj["kind"], obj["apiVersion"]) + advice, where)
        namespace = ""
        if served.namespaced:
            namespace = obj["metadata"].get("namespace") or "default"
            # A dump of pods alone does not contain their namespace.
            metadata = {"name": namespace}
            bootstrap.ensure(cluster, "", "v1", "namespaces", {"metadata": metadata})
        if copying.is_dumped(obj):
            dumped = True
            try:
                copying.keep(cluster, served, obj)
            except DecodeError as error:
                raise _error(str(error), where) from None
            continue
        try:
            await _create(client, served, namespace, obj)
        except ApiError as error:
            if not error.is_already_exists:
                raise _error(error.message, where) from None
    if dumped:
        copying.drop_lost_owners(cluster)


async def _create(client: Client, served: Served, namespace: str, obj: Object) -> None:
    if served.store == "/nodes":
        obj = _sized(as_fake_node(obj))
    root = f"/apis/{served.group_version}" if served.group else f"/api/{served.version}"
    place = f"/namespaces/{namespace}" if namespace else ""
    await client.request("POST", f"{root}{place}/{served.name}", msgspec.json.encode(obj))


def _sized(node: Object) -> Object:
    """Return the node with its capacity set to its allocatable resources if it has none."""
    status = node.get("status") or {}
    if not status.get("allocatable"):
        return node
    return {**node, "status": {"capacity": status["allocatable"], **status}}


def _rank(obj: Object) -> int:
    return _FIRST.index(obj["kind"]) if obj["kind"] in _FIRST else len(_FIRST)


def _error(message: str, where: Where) -> ObjectError:
    return ObjectError(
        message,
        path=where.path or None,
        file=where.file,
        document=where.document,
        line=where.line,
    )
