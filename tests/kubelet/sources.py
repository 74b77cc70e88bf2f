"""Sources of volumes and variables without an API server."""

from __future__ import annotations

from typing import Any

from mooring.kubelet.pod_sources import PodSources, SourceError

Object = dict[str, Any]


class FakeSources(PodSources):
    """ConfigMaps and Secrets that a test sets; tokens that count up."""

    def __init__(self) -> None:
        self.config_maps: dict[str, dict[str, bytes]] = {}
        self.secrets: dict[str, dict[str, bytes]] = {}
        self.tokens = 0

    async def config_map(self, name: str, optional: bool) -> dict[str, bytes]:
        return _find(self.config_maps, "configmap", name, optional)

    async def secret(self, name: str, optional: bool) -> dict[str, bytes]:
        return _find(self.secrets, "secret", name, optional)

    async def token(self, audience: str, seconds: int) -> str:
        self.tokens += 1
        return f"{audience}:{seconds}:{self.tokens}"


def _find(
    known: dict[str, dict[str, bytes]], kind: str, name: str, optional: bool
) -> dict[str, bytes]:
    if name not in known and not optional:
        raise SourceError(f'{kind} "{name}" not found')
    return known.get(name, {})


def pod_with(*volumes: Object, **container: Any) -> Object:
    """Return a pod as an API server shows it."""
    resources = {"requests": {"cpu": "250m", "memory": "64Mi"}}
    return {
        "metadata": {
            "name": "p",
            "namespace": "team",
            "uid": "123",
            "labels": {"app": "a", "tier": "b"},
        },
        "spec": {
            "nodeName": "node-1",
            "serviceAccountName": "default",
            "volumes": list(volumes),
            "containers": [{"name": "c", "resources": resources, **container}],
        },
        "status": {"podIP": "10.0.0.7", "podIPs": [{"ip": "10.0.0.7"}], "hostIP": "172.18.0.2"},
    }
