"""Nodes and pods as scheduler_perf makes them, built fast in large numbers."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from mooring.api import DeviceClass, Node, Pod, ResourceClaim, ResourceSlice, decode

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
RACK = "example.com/rack"
DRIVERS = ("gpu.example.com", "nic.example.com")


def make_nodes(count: int, zones: int = 1, cpu: str = "4", racks: int = 0) -> list[Node]:
    """Return nodes with 4 CPU, 32Gi and 110 pods, spread over zones, and over racks if asked."""
    return [
        decode(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {
                    "name": f"node-{i}",
                    "labels": {
                        HOSTNAME: f"node-{i}",
                        ZONE: f"zone{i % zones + 1}",
                        **({RACK: f"rack-{i % racks}"} if racks else {}),
                    },
                },
                "status": {
                    "allocatable": {"cpu": cpu, "memory": "32Gi", "pods": "110"},
                    "capacity": {"cpu": cpu, "memory": "32Gi", "pods": "110"},
                },
            }
        )
        for i in range(count)
    ]


def make_slices(nodes: int, devices: int = 8) -> list[ResourceSlice]:
    """Return the slices of nodes with devices of two drivers and two models, each with a uuid."""
    each = devices // len(DRIVERS)
    return [
        decode(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceSlice",
                "metadata": {"name": f"node-{i}-{driver}"},
                "spec": {
                    "driver": driver,
                    "nodeName": f"node-{i}",
                    "pool": {"name": f"node-{i}", "generation": 1, "resourceSliceCount": 1},
                    "devices": [_device(f"{driver}-{i}-{k}", k) for k in range(each)],
                },
            }
        )
        for i in range(nodes)
        for driver in DRIVERS
    ]


def _device(uuid: str, number: int) -> dict[str, Any]:
    return {
        "name": f"device-{number}",
        "attributes": {
            "uuid": {"string": uuid},
            "model": {"string": "large" if number % 2 else "small"},
        },
        "capacity": {"memory": {"value": "80Gi" if number % 2 else "40Gi"}},
    }


def make_device_class(name: str, expression: str) -> DeviceClass:
    """Return a class of the devices that a CEL expression selects."""
    return decode(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": name},
            "spec": {"selectors": [{"cel": {"expression": expression}}]},
        }
    )


def make_claim(
    name: str, class_name: str, expression: str, namespace: str = "sched-1"
) -> ResourceClaim:
    """Return a claim for one device of a class that a CEL expression selects."""
    exactly = {
        "deviceClassName": class_name,
        "selectors": [{"cel": {"expression": expression}}],
    }
    return decode(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": namespace, "uid": name},
            "spec": {"devices": {"requests": [{"name": "device", "exactly": exactly}]}},
        }
    )


class PodTemplate:
    """A template of pods that differ only in name, namespace and node."""

    def __init__(
        self,
        *,
        cpu: str = "100m",
        memory: str = "500Mi",
        labels: dict[str, str] | None = None,
        priority: int | None = 0,
        owner: dict[str, Any] | None = None,
        **spec: Any,
    ) -> None:
        container = {"name": "pause", "image": "registry.k8s.io/pause:3.10"}
        requests = {"cpu": cpu, "memory": memory}
        self._pod: Pod = decode(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": "template",
                    "namespace": "sched-0",
                    "labels": labels or {},
                    "ownerReferences": [owner] if owner else [],
                },
                "spec": {
                    "containers": [{**container, "resources": {"requests": requests}}],
                    "schedulerName": "default-scheduler",
                    **({} if priority is None else {"priority": priority}),
                    **spec,
                },
                "status": {"phase": "Pending"},
            }
        )

    def make(self, name: str, namespace: str = "sched-0", node_name: str = "") -> Pod:
        """Return one pod; with a node name it is running there."""
        pod = self._pod
        meta = replace(pod.metadata, name=name, namespace=namespace, uid=f"{namespace}/{name}")
        if not node_name:
            return replace(pod, metadata=meta)
        return replace(
            pod,
            metadata=meta,
            spec=replace(pod.spec, node_name=node_name),
            status=replace(pod.status, phase="Running", start_time="2026-01-01T00:00:00Z"),
        )
