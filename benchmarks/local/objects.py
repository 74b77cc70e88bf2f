"""The objects that the benchmark creates."""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.client.transport import Request

JSON = "application/json"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
NODES = "/api/v1/nodes"

encode = msgspec.json.encode


def pod(name: str, **spec: Any) -> dict[str, Any]:
    """Return a typical pod."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "bench", "tier": "web"}},
        "spec": template() | spec,
    }


def template() -> dict[str, Any]:
    """Return the spec of a pod with one small container."""
    requests = {"cpu": "10m", "memory": "16Mi"}
    container = {
        "name": "app",
        "image": "registry.example/app:1.0",
        "ports": [{"containerPort": 8080}],
        "resources": {"requests": requests},
    }
    return {"containers": [container], "automountServiceAccountToken": False}


def create(path: str, obj: dict[str, Any]) -> Request:
    """Return the request that creates an object."""
    return Request("POST", path, encode(obj), JSON, 60.0)


def deployment(name: str, replicas: int) -> dict[str, Any]:
    """Return a Deployment."""
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": template()},
        },
    }


def node(name: str) -> dict[str, Any]:
    """Return a node that is marked ready; no kubelet serves it."""
    size = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"capacity": size, "allocatable": size, "conditions": [ready]},
    }
