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
    "core.v1.PodSpec": _without("evictionResponders"),
    "core.v1.PodStatus": _without("volumeHealth"),
    "core.v1.PersistentVolumeClaimStatus": _without("healthStatus"),
    "core.v1.NodeSpec": _without("podPreemptionPolicy"),
    "core.v1.HTTPGetAction": _without("protocol"),
    "core.v1.GRPCAction": _without("mode"),
    "core.v1.VolumeMount": _without("bindMountOptions"),
    "core.v1.EmptyDirVolumeSource": _without("mode"),
    "core.v1.ConfigMapVolumeSource": _without("defaultUser"),
    "core.v1.SecretVolumeSource": _without("defaultUser"),
    "core.v1.DownwardAPIVolumeSource": _without("defaultUser"),
    "core.v1.ProjectedVolumeSource": _without("defaultUser"),
    "core.v1.KeyToPath": _without("user"),
    "core.v1.DownwardAPIVolumeFile": _without("user"),
    "core.v1.ServiceAccountTokenProjection": _without("user"),
    "core.v1.ClusterTrustBundleProjection": _without("user"),
    "core.v1.PodCertificateProjection": _without("user"),
    "batch.v1.JobSpec": _without("scheduling"),
    "coordination.v1.LeaseSpec": _without("strategy", "preferredHolder"),
    "discovery.v1.Endpoint": _without("deprecatedTopology"),
    "resource.v1.DeviceAttribute": _without("bools", "ints", "strings", "versions"),
    "resource.v1.DeviceRequestAllocationResult": _without("skipNodeOperations"),
    "resource.v1.ResourceSliceSpec": _without("partitionTypeAttribute", "skipNodeOperations"),
}
