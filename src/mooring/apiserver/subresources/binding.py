"""The binding subresource: binds a pod to a node."""

# kube-apiserver: pkg/registry/core/pod/storage/storage.go, BindingREST

from __future__ import annotations

from typing import Any

from mooring.api.field_errors import aggregate
from mooring.apiserver import bodies, refusals
from mooring.apiserver.deleting import copy_of
from mooring.apiserver.http import ApiRequest, ApiResponse, answer
from mooring.apiserver.object_status import set_condition, success
from mooring.apiserver.request_paths import RequestInfo
from mooring.apiserver.resource_table import Served
from mooring.apiserver.server_state import ServerState
from mooring.apiserver.validation.pods import check_binding

Object = dict[str, Any]

NAME_MISMATCH = "name in URL does not match name in Binding object"
_TOPOLOGY = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


def bind(
    cluster: ServerState, request: ApiRequest, info: RequestInfo, served: Served
) -> ApiResponse:
    """Bind a pod to a node; the pod is named in the path or in the body."""
    how = bodies.options(request)
    type = cluster.catalogue.table.find("v1", "Binding")
    assert type is not None
    binding = bodies.read_typed(request, type, "Binding", "v1", how)
    metadata = binding.get("metadata") or {}
    name = info.name or metadata.get("name", "")
    if metadata.get("name", "") != name:
        raise refusals.bad_request(NAME_MISMATCH)
    bodies.check_namespace(metadata, info.namespace)
    if problems := check_binding(binding):
        raise refusals.failure(aggregate(problems))
    target = str(binding["target"]["name"])
    pods = cluster.catalogue.get("", "v1", "pods")
    assert pods is not None
    live = cluster.find(pods, info.namespace, name)
    _check(live.object, metadata)
    pod = copy_of(live.object)
    pod["spec"]["nodeName"] = target
    _copy_metadata(cluster, pod, metadata, target)
    status = pod.setdefault("status", {})
    status.pop("nominatedNodeName", None)
    set_condition(cluster, status, {"type": "PodScheduled", "status": "True"})
    if not how.dry_run:
        cluster.store.put(pods.store, live.key, pod)
    return answer(success(201), 201)


def _check(pod: Object, binding: Object) -> None:
    metadata, name = pod["metadata"], pod["metadata"]["name"]
    if binding.get("uid") and binding["uid"] != metadata["uid"]:
        where = f"Key: /registry/pods/{metadata['namespace']}/{name}, ResourceVersion: 0"
        why = (
            f"StorageError: invalid object, Code: 4, {where}, AdditionalErrorMsg: Precondition "
            f"failed: UID in precondition: {binding['uid']}, UID in object meta: {metadata['uid']}"
        )
        raise refusals.conflict("pods", "", name, why)
    if metadata.get("deletionTimestamp"):
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif pod["spec"].get("nodeName"):
        why = f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"'
    elif pod["spec"].get("schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    else:
        return
    raise refusals.conflict("pods/binding", "", name, why)


def _copy_metadata(cluster: ServerState, pod: Object, binding: Object, target: str) -> None:
    """Copy the binding's annotations and labels and the node's topology labels to the pod."""
    # kube-apiserver: plugin/pkg/admission/podtopologylabels/admission.go
    metadata = pod["metadata"]
    if annotations := binding.get("annotations"):
        metadata["annotations"] = (metadata.get("annotations") or {}) | annotations
    node = cluster.lookup("/nodes", "", target)
    there = ((node or {}).get("metadata") or {}).get("labels") or {}
    labels = (binding.get("labels") or {}) | {k: there[k] for k in _TOPOLOGY if k in there}
    if labels:
        metadata["labels"] = (metadata.get("labels") or {}) | labels
