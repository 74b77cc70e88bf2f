"""Fields that the API server drops from requests: their features are off or were removed."""

# kube-apiserver: dropDisabledFields of pkg/api/pod/util.go and of pkg/registry/*/strategy.go

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Object = dict[str, Any]


def _without(*names: str) -> Callable[[Object], None]:
    def drop(value: Object) -> None:
        for name in names:
            value.pop(name, None)

    return drop


def _no_stop_signal(container: Object) -> None:
    lifecycle = container.get("lifecycle") or {}
    if lifecycle.pop("stopSignal", None) is not None and not lifecycle:
        del container["lifecycle"]


CONVERSIONS: dict[str, Callable[[Object], None]] = {
    "core.v1.Container": _no_stop_signal,
    "core.v1.VolumeProjection": _without("clusterTrustBundle", "podCertificate"),
    "storage.v1.CSIDriverSpec": _without("preventPodSchedulingIfMissing"),
    "coordination.v1.LeaseSpec": _without("strategy", "preferredHolder"),
    "apps.v1.RollingUpdateStatefulSetStrategy": _without("maxUnavailable"),
    "discovery.v1.Endpoint": _without("deprecatedTopology"),
    "resource.v1.DeviceAttribute": _without("bools", "ints", "strings", "versions"),
}
