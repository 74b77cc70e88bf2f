"""The scale subresource of built-in and custom resources."""

# kube-apiserver: pkg/registry/apps/deployment/storage/storage.go, ScaleREST
# apiextensions-apiserver: pkg/registry/customresource/etcd.go, ScaleREST

from __future__ import annotations

from typing import Any

from mooring.api.field_errors import invalid
from mooring.apiserver import bodies, refusals, writing
from mooring.apiserver.deleting import copy_of
from mooring.apiserver.http import ApiRequest, ApiResponse
from mooring.apiserver.patch import patching
from mooring.apiserver.printing import rendering
from mooring.apiserver.printing.printer import map_text, selector_text
from mooring.apiserver.request_paths import RequestInfo
from mooring.apiserver.resource_store import Stored
from mooring.apiserver.resource_table import Served
from mooring.apiserver.server_state import ServerState
from mooring.apiserver.write import Write

Object = dict[str, Any]

_VERSION = "autoscaling/v1"


def get(
    cluster: ServerState, request: ApiRequest, info: RequestInfo, served: Served
) -> ApiResponse:
    """Return a response with the scale of an object."""
    live = cluster.find(served, info.namespace, info.name)
    return _respond(cluster, request, _scale(served, live.object), 200)


def update(
    cluster: ServerState, request: ApiRequest, info: RequestInfo, served: Served
) -> ApiResponse:
    """Set the replicas of an object."""
    how = bodies.options(request)
    live = cluster.find(served, info.namespace, info.name)
    type = cluster.catalogue.table.find(_VERSION, "Scale")
    assert type is not None
    scale = bodies.read_typed(request, type, "Scale", _VERSION, how)
    return _store(cluster, request, info, served, live, scale, how)


def patch(
    cluster: ServerState, request: ApiRequest, info: RequestInfo, served: Served
) -> ApiResponse:
    """Patch the replicas of an object."""
    how = bodies.options(request)
    media = bodies.media_type(request)
    known = (patching.JSON_PATCH, patching.MERGE_PATCH, patching.STRATEGIC_PATCH)
    if media not in known:
        raise refusals.unsupported_media_type(known)
    live = cluster.find(served, info.namespace, info.name)
    type = cluster.catalogue.table.find(_VERSION, "Scale")
    scale, warnings = patching.patch_object(
        type, _scale(served, live.object), request.body, media, how.validation
    )
    how.warnings += warnings
    return _store(cluster, request, info, served, live, scale, how)


def _store(
    cluster: ServerState,
    request: ApiRequest,
    info: RequestInfo,
    served: Served,
    live: Stored,
    scale: Object,
    how: bodies.WriteOptions,
) -> ApiResponse:
    metadata = scale.get("metadata") or {}
    there = live.object["metadata"]
    if metadata.get("name") not in (None, "", info.name):
        raise refusals.bad_request(writing.NAME_MISMATCH.format(metadata["name"], info.name))
    version = metadata.get("resourceVersion")
    if version and version != there["resourceVersion"]:
        raise refusals.conflict(served.name, served.group, info.name, refusals.MODIFIED)
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    if replicas < 0:
        problem = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise refusals.invalid("Scale", "autoscaling", info.name, [problem])
    obj = copy_of(live.object)
    _put(obj, _paths(served)[0], replicas)
    write = Write(cluster, request, info, served, how)
    # managedFields records the scale subresource; the strategy must see an update of the object.
    writing.track(write, live.object, obj)
    info.subresource = ""
    changed = writing.replace(write, live, obj)
    response = _respond(cluster, request, _scale(served, changed), 200)
    response.warnings = how.warnings
    return response


def _respond(cluster: ServerState, request: ApiRequest, scale: Object, code: int) -> ApiResponse:
    served = Served(
        "autoscaling", "v1", "scales", "Scale", "", True, (), (), (), "", None, list_kind=""
    )
    return rendering.respond(cluster, request, served, scale, code)


def _paths(served: Served) -> tuple[str, str, str]:
    if served.custom is None:
        return "spec.replicas", "status.replicas", ""
    scale = served.custom.subresources["scale"]
    return (
        scale["specReplicasPath"].lstrip("."),
        scale["statusReplicasPath"].lstrip("."),
        (scale.get("labelSelectorPath") or "").lstrip("."),
    )


def _find(obj: Any, path: str) -> Any:
    for step in path.split("."):
        obj = obj.get(step) if isinstance(obj, dict) else None
    return obj


def _put(obj: Object, path: str, value: Any) -> None:
    *steps, last = path.split(".")
    for step in steps:
        obj = obj.setdefault(step, {})
    obj[last] = value


def _scale(served: Served, obj: Object) -> Object:
    spec_path, status_path, selector_path = _paths(served)
    metadata = {
        key: obj["metadata"][key]
        for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        if key in obj["metadata"]
    }
    replicas = _find(obj, spec_path)
    status: Object = {"replicas": _find(obj, status_path) or 0}
    if selector := _selector(served, obj, selector_path):
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": _VERSION,
        "metadata": metadata,
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def _selector(served: Served, obj: Object, path: str) -> str:
    if served.custom is not None:
        return str(_find(obj, path) or "") if path else ""
    selector = (obj.get("spec") or {}).get("selector")
    if not selector:
        return ""
    text = map_text(selector) if served.store == "/replicationcontrollers" else None
    return text if text is not None else selector_text(selector)
