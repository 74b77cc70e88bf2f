"""metrics.k8s.io: what nodes and pods use, for `kubectl top`.

Containers are simulated, so a running pod is reported to use what it requests.
"""

from __future__ import annotations

from typing import Any

from mooring.api.quantity import Quantity, parse_nanos
from mooring.apiserver import refusals, selecting
from mooring.apiserver.http import ApiRequest, ApiResponse, answer
from mooring.apiserver.request_paths import RequestInfo
from mooring.apiserver.resource_store import Stored
from mooring.apiserver.resource_table import Catalogue, Served
from mooring.apiserver.server_state import ServerState

Object = dict[str, Any]

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
_COUNTED = ("cpu", "memory")
_WINDOW = "30s"
#: Billionths of each resource, by node.
_Totals = dict[str, dict[str, int]]
_NOTHING = dict.fromkeys(_COUNTED, 0)


def serve(catalogue: Catalogue) -> None:
    """Add the group's resources to the catalogue."""
    for name, kind, namespaced in (("nodes", "NodeMetrics", False), ("pods", "PodMetrics", True)):
        catalogue.add(
            Served(
                group=GROUP,
                version=VERSION,
                name=name,
                kind=kind,
                singular="",
                namespaced=namespaced,
                verbs=("get", "list"),
                short_names=(),
                categories=(),
                hash="",
                type=None,
                list_kind=f"{kind}List",
            )
        )


def read(
    cluster: ServerState, request: ApiRequest, info: RequestInfo, served: Served
) -> ApiResponse:
    """Return the usage of one object, or of all that are selected."""
    place = f"/{served.name}"
    if info.verb == "get":
        key = f"{info.namespace}/{info.name}" if served.namespaced else info.name
        stored = cluster.store.get(place, key)
        totals = _node_totals(cluster) if served.name == "nodes" else {}
        found = _usage(cluster, served, stored, totals) if stored is not None else None
        if found is None:
            raise refusals.not_found(served.name, GROUP, info.name)
        return answer(found)
    selection = selecting.read(request, served)
    totals = _node_totals(cluster) if served.name == "nodes" else {}
    items = [
        found
        for stored in cluster.store.items(place, info.namespace)
        if selection.matches(stored)
        and (found := _usage(cluster, served, stored, totals)) is not None
    ]
    return answer(
        {
            "kind": served.list_kind,
            "apiVersion": served.group_version,
            "metadata": {},
            "items": items,
        }
    )


def _usage(cluster: ServerState, served: Served, stored: Stored, totals: _Totals) -> Object | None:
    metadata = stored.object["metadata"]
    shown = {key: metadata[key] for key in ("name", "namespace", "labels") if key in metadata}
    head: Object = {
        "kind": served.kind,
        "apiVersion": served.group_version,
        "metadata": shown | {"creationTimestamp": cluster.timestamp()},
        "timestamp": cluster.timestamp(),
        "window": _WINDOW,
    }
    if served.name == "nodes":
        return head | {"usage": _printed(totals.get(metadata["name"], _NOTHING))}
    if (stored.object.get("status") or {}).get("phase") != "Running":
        return None
    containers = [
        {"name": one["name"], "usage": _printed(_requests(one))}
        for one in stored.object["spec"].get("containers") or ()
    ]
    return head | {"containers": containers}


def _requests(container: Object) -> dict[str, int]:
    requests = (container.get("resources") or {}).get("requests") or {}
    return {name: parse_nanos(requests.get(name, 0)) for name in _COUNTED}


def _node_totals(cluster: ServerState) -> _Totals:
    """Return what the running pods of each node request; nodes without one are left out."""
    totals: _Totals = {}
    for stored in cluster.store.items("/pods"):
        pod = stored.object
        node = pod["spec"].get("nodeName")
        if node and (pod.get("status") or {}).get("phase") == "Running":
            total = totals.setdefault(node, dict(_NOTHING))
            for container in pod["spec"].get("containers") or ():
                for name, nanos in _requests(container).items():
                    total[name] += nanos
    return totals


def _printed(nanos: dict[str, int]) -> dict[str, str]:
    return {
        "cpu": str(Quantity.from_nanos(nanos["cpu"])),
        "memory": str(Quantity.from_nanos(nanos["memory"], "BinarySI")),
    }
