"""Pods and nodes as extenders receive them: the JSON that Go produces.

Go writes some fields even if they are empty (a container's `resources`, a node's `nodeInfo`), and
an extender may rely on that. apiVersion and kind are missing, as in kube-scheduler, whose objects
do not have them at this point.

# k8s.io/api: core/v1/types.go (fields without omitempty, and Structs, which it does not omit)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from mooring.api import Node, Pod
from mooring.framework.node_info import NodeInfo

_NODE_INFO = {
    "machineID": "",
    "systemUUID": "",
    "bootID": "",
    "kernelVersion": "",
    "osImage": "",
    "containerRuntimeVersion": "",
    "kubeletVersion": "",
    "kubeProxyVersion": "",
    "operatingSystem": "",
    "architecture": "",
}
_POD_CONDITION = {"lastProbeTime": None, "lastTransitionTime": None}
_NODE_CONDITION = {"lastHeartbeatTime": None, "lastTransitionTime": None}
_CONTAINER_STATUS: dict[str, Any] = {
    "state": {},
    "lastState": {},
    "ready": False,
    "restartCount": 0,
    "image": "",
    "imageID": "",
}
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_STATUSES = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")


def node_json(node: Node) -> bytes:
    """Return a node as Go writes it."""
    document = _with_parts(node)
    status = document["status"]
    status["nodeInfo"] = {**_NODE_INFO, **status.get("nodeInfo", {})}
    endpoints = status.setdefault("daemonEndpoints", {})
    endpoints.setdefault("kubeletEndpoint", {"Port": 0})
    _fill(status.get("conditions", ()), _NODE_CONDITION)
    return msgspec.json.encode(document)


def pod_json(pod: Pod) -> bytes:
    """Return a pod as Go writes it."""
    document = _with_parts(pod)
    spec, status = document["spec"], document["status"]
    spec.setdefault("containers", None)
    for field in _CONTAINERS:
        for container in spec.get(field) or ():
            container.setdefault("resources", {})
    for field in _STATUSES:
        _fill(status.get(field, ()), _CONTAINER_STATUS)
    _fill(status.get("conditions", ()), _POD_CONDITION)
    return msgspec.json.encode(document)


def _with_parts(obj: Pod | Node) -> dict[str, Any]:
    document: dict[str, Any] = {"metadata": {}, "spec": {}, "status": {}}
    document.update(msgspec.to_builtins(obj))
    return document


def _fill(items: Iterable[dict[str, Any]], fields: dict[str, Any]) -> None:
    for item in items:
        for name, zero in fields.items():
            item.setdefault(name, zero)


def node_list_json(nodes: Iterable[NodeInfo]) -> bytes:
    """Return a v1.NodeList of nodes as Go writes it."""
    items = b",".join([node_json(info.node) for info in nodes])
    return b'{"metadata":{},"items":[' + items + b"]}"
