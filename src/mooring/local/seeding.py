"""The objects that a local cluster begins with, as manifests have them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from mooring.api.manifests import Where
from mooring.apiserver import bootstrap
from mooring.apiserver.resource_table import Served
from mooring.apiserver.server_state import ServerState
from mooring.client.client import Client
from mooring.errors import ApiError, ObjectError
from mooring.kubelet.fake_nodes import as_fake_node
from mooring.local import copying

Object = dict[str, Any]

NO_SUCH_KIND = 'no matches for kind "{}" in version "{}"'
"""kubectl: cli-runtime, pkg/resource"""

#: Others need these to be there, wherever in a file they stand.
_FIRST = ("Namespace", "CustomResourceDefinition", "PriorityClass", "StorageClass", "Node")


async def seed(
    cluster: ServerState, client: Client, objects: Iterable[tuple[Object, Where]]
) -> None:
    """Create objects in their order; those that are there already are left as they are.

    Nodes become fake ones. An object that a server once printed is kept as it is, with its uid and
    status. Raises ObjectError with the place of what is refused.
    """
    dumped = False
    for obj, where in sorted(objects, key=lambda found: _rank(found[0])):
        served = cluster.catalogue.find_kind(obj["apiVersion"], obj["kind"])
        if served is None:
            raise _error(NO_SUCH_KIND.format(obj["kind"], obj["apiVersion"]), where)
        namespace = ""
        if served.namespaced:
            namespace = obj["metadata"].get("namespace") or "default"
            # As in a dump of pods alone.
            metadata = {"name": namespace}
            bootstrap.ensure(cluster, "", "v1", "namespaces", {"metadata": metadata})
        if copying.is_dumped(obj):
            dumped = True
            copying.keep(cluster, served, obj)
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
    """Return a node that has all it can allocate, where only that is said."""
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
