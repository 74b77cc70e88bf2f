"""Nodes as kubelets would register and report them."""

# kubernetes: pkg/kubelet/kubelet_node_status.go, pkg/kubelet/nodestatus/setters.go

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mooring.api import Node
from mooring.api.kubernetes_version import KUBERNETES_VERSION

Object = dict[str, Any]

#: Marks a node that has no kubelet of its own, as in KWOK.
ANNOTATION = "kwok.x-k8s.io/node"
FAKE = "fake"
#: The reason that the node lifecycle controller gives if a kubelet stops reporting.
SILENT = "NodeStatusUnknown"

_VERSION = f"v{KUBERNETES_VERSION}"
_MEMORY = "kubelet has sufficient memory available"
_CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", _MEMORY),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def is_fake(node: Node) -> bool:
    """Return whether a node is a fake node."""
    return node.metadata.annotations.get(ANNOTATION) == FAKE


def ready_condition(node: Node) -> str:
    """Return the status of a node's Ready condition, or "" if it has none."""
    for condition in node.status.conditions:
        if condition.type == "Ready":
            return condition.status
    return ""


def internal_ip(node: Node) -> str:
    """Return the InternalIP of a node, or "" if it has none."""
    for address in node.status.addresses:
        if address.type == "InternalIP":
            return address.address
    return ""


def manifest(name: str, capacity: dict[str, str]) -> Object:
    """Return the manifest of a fake node to create."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {ANNOTATION: FAKE, "node.alpha.kubernetes.io/ttl": "0"},
            "labels": {
                "beta.kubernetes.io/arch": "amd64",
                "beta.kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
            },
        },
        "status": {"capacity": capacity, "allocatable": capacity},
    }


def first_report(
    node: Node,
    address: str,
    capacity: dict[str, str],
    when: str,
    declared_features: Sequence[str] = (),
) -> Object:
    """Return the status fields that a node lacks when its kubelet starts.

    `declared_features` are the features that the kubelet declares.
    """
    known = node.status
    status: Object = {"conditions": conditions(node, when)}
    if not known.capacity:
        status["capacity"] = capacity
    if not known.allocatable:
        status["allocatable"] = known.capacity or capacity
    if not internal_ip(node):
        missing = addresses(node.metadata.name, address)
        there = [{"type": one.type, "address": one.address} for one in known.addresses]
        types = {one.type for one in known.addresses}
        status["addresses"] = [*there, *(one for one in missing if one["type"] not in types)]
    if not known.node_info.kubelet_version:
        status["nodeInfo"] = {
            "architecture": "amd64",
            "bootID": "",
            "containerRuntimeVersion": "containerd://2.1.0",
            "kernelVersion": "6.12.0",
            "kubeProxyVersion": "",
            "kubeletVersion": _VERSION,
            "machineID": "",
            "operatingSystem": "linux",
            "osImage": "Mooring fake node",
            "systemUUID": "",
        }
    if not known.daemon_endpoints:
        status["daemonEndpoints"] = {"kubeletEndpoint": {"Port": 10250}}
    if declared_features and not known.declared_features:
        status["declaredFeatures"] = list(declared_features)
    return status


def addresses(name: str, address: str) -> list[Object]:
    """Return the addresses in a node's status."""
    return [
        {"type": "InternalIP", "address": address},
        {"type": "Hostname", "address": name},
    ]


def renamed(node: Object, name: str, address: str) -> Object:
    """Return a fake node that differs from another one in its name and its address alone."""
    metadata = node["metadata"]
    labels = {**metadata["labels"], "kubernetes.io/hostname": name}
    return {
        **node,
        "metadata": {**metadata, "name": name, "labels": labels},
        "status": {**node["status"], "addresses": addresses(name, address)},
    }


def conditions(node: Node, when: str) -> list[Object]:
    """Return the conditions of a healthy node; existing conditions are kept.

    A condition that the lifecycle controller set because the kubelet was silent is replaced.
    """
    known = {one.type: one for one in node.status.conditions}
    made = []
    for type, status, reason, message in _CONDITIONS:
        found = known.get(type)
        condition: Object = {"type": type, "lastHeartbeatTime": when}
        if found is None or found.reason == SILENT:
            condition |= {
                "status": status,
                "reason": reason,
                "message": message,
                "lastTransitionTime": when,
            }
        made.append(condition)
    return made
