"""Builders for tests of devices: slices, classes, claims, and pods that use them."""

from __future__ import annotations

from typing import Any

from mooring.api import DeviceClass, Node, Pod, ResourceClaim, ResourceSlice
from tests.plugins.clusters import HOSTNAME, make, make_pod

DRIVER = "gpu.example.com"
GPU = "example.com/gpu"


def node(name: str, allocatable: dict[str, str] | None = None, **labels: str) -> Node:
    """Build a node with room for pods."""
    room = {"cpu": "4", "memory": "8Gi", "pods": "10", **(allocatable or {})}
    return make(
        Node,
        name,
        metadata={"labels": {HOSTNAME: name, **labels}},
        status={"allocatable": room, "capacity": room},
    )


def device_slice(node_name: str, *devices: str, **fields: Any) -> ResourceSlice:
    """Build the only slice of a node's pool; `fields` go into every device."""
    spec = {
        "driver": DRIVER,
        "nodeName": node_name,
        "pool": {"name": node_name, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": name, **fields} for name in devices],
    }
    return make(ResourceSlice, f"slice-{node_name}", spec=spec)


def device_class(name: str = "gpu", **spec: Any) -> DeviceClass:
    """Build a class."""
    return make(DeviceClass, name, spec=spec)


def claim(
    name: str = "c",
    device_class: str = "gpu",
    *,
    status: dict[str, Any] | None = None,
    alternatives: list[str] | None = None,
    **metadata: Any,
) -> ResourceClaim:
    """Build a claim for one device of a class, or of the first of some classes."""
    request: dict[str, Any] = {"name": "r", "exactly": {"deviceClassName": device_class}}
    if alternatives:
        parts = [{"name": one, "deviceClassName": one} for one in alternatives]
        request = {"name": "r", "firstAvailable": parts}
    return make(
        ResourceClaim,
        name,
        "default",
        metadata={"uid": f"uid-{name}", **metadata},
        spec={"devices": {"requests": [request]}},
        status=status or {},
    )


def allocated_on(node_name: str, device: str = "d0", **more: Any) -> dict[str, Any]:
    """Build the status of a claim that has a node's device."""
    result = {"request": "r", "driver": DRIVER, "pool": node_name, "device": device, **more}
    only = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    selector = {"nodeSelectorTerms": [{"matchFields": [only]}]}
    return {"allocation": {"devices": {"results": [result]}, "nodeSelector": selector}}


def user(name: str) -> dict[str, str]:
    """Build an entry of reservedFor for a pod."""
    return {"resource": "pods", "name": name, "uid": f"default/{name}"}


def pod(name: str = "pod", *claims: str, **spec: Any) -> Pod:
    """Build a pod that uses claims."""
    entries = [{"name": f"g{i}", "resourceClaimName": one} for i, one in enumerate(claims)]
    spec.setdefault("containers", [{"name": "x"}])
    return make_pod(name, resourceClaims=entries, schedulerName="default-scheduler", **spec)


def asks_for(resource: str, count: int = 1, name: str = "pod") -> Pod:
    """Build a pod with one container that requests a resource."""
    container = {"name": "x", "resources": {"requests": {resource: str(count)}}}
    return pod(name, containers=[container])
