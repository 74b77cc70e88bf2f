"""Defaults of the core group, except pods."""

# kubernetes: pkg/apis/core/v1/{defaults.go,conversion.go}

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from mooring.controlplane.default_values import allocatable, with_name_label
from mooring.controlplane.field_defaults import CLAIM_SPEC, CLAIM_STATUS, VOLUME_SPEC, fill

Object = dict[str, Any]

_AFFINITY_SECONDS = 10800
_WITH_CLUSTER_IP = ("NodePort", "LoadBalancer", "ClusterIP")


def _replication_controller(controller: Object) -> None:
    spec = controller["spec"]
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        if not controller["metadata"].get("labels"):
            controller["metadata"]["labels"] = dict(labels)


def _service(service: Object) -> None:
    spec = service["spec"]
    affinity = spec.setdefault("sessionAffinity", "None")
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if client.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}
    kind = spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port["port"]
    external = kind in ("NodePort", "LoadBalancer")
    external = external or (kind == "ClusterIP" and bool(spec.get("externalIPs")))
    if external:
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in _WITH_CLUSTER_IP:
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in (service["status"].get("loadBalancer") or {}).get("ingress") or ():
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


def _secret(secret: Object) -> None:
    secret.setdefault("type", "Opaque")


def _convert_secret(secret: Object) -> None:
    if given := secret.pop("stringData", None):
        data = secret.setdefault("data", {})
        for name, text in given.items():
            data[name] = base64.b64encode(text.encode()).decode()


def _volume(volume: Object) -> None:
    volume["status"].setdefault("phase", "Pending")
    fill(volume["spec"], VOLUME_SPEC)


def _claim(claim: Object) -> None:
    fill(claim["status"], CLAIM_STATUS)


def _claim_spec(spec: Object) -> None:
    fill(spec, CLAIM_SPEC)


def _endpoints(endpoints: Object) -> None:
    for subset in endpoints.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def _namespace(namespace: Object) -> None:
    metadata = namespace["metadata"]
    if name := metadata.get("name"):
        metadata["labels"] = with_name_label(metadata.get("labels"), name)


def _namespace_status(status: Object) -> None:
    status.setdefault("phase", "Active")


def _convert_node_spec(spec: Object) -> None:
    spec.pop("configSource", None)  # kubelets no longer read it
    first, listed = spec.get("podCIDR"), spec.get("podCIDRs")
    if first and (not listed or listed[0] != first):
        spec["podCIDRs"] = [first]
    elif listed:
        spec["podCIDR"] = listed[0]


def _node_status(status: Object) -> None:
    amounts = allocatable(status.get("allocatable"), status.get("capacity"))
    if amounts is not None:
        status["allocatable"] = amounts


def _limit_range_item(item: Object) -> None:
    if item.get("type") != "Container":
        return
    defaults = {**(item.get("max") or {}), **(item.get("default") or {})}
    requests = {**(item.get("min") or {}), **defaults, **(item.get("defaultRequest") or {})}
    for name, amounts in (("default", defaults), ("defaultRequest", requests)):
        if amounts:
            item[name] = amounts


DEFAULTERS: dict[str, Callable[[Object], None]] = {
    "core.v1.ReplicationController": _replication_controller,
    "core.v1.Service": _service,
    "core.v1.Secret": _secret,
    "core.v1.PersistentVolume": _volume,
    "core.v1.PersistentVolumeClaim": _claim,
    "core.v1.PersistentVolumeClaimSpec": _claim_spec,
    "core.v1.Endpoints": _endpoints,
    "core.v1.Namespace": _namespace,
    "core.v1.NamespaceStatus": _namespace_status,
    "core.v1.NodeStatus": _node_status,
    "core.v1.LimitRangeItem": _limit_range_item,
}
CONVERSIONS: dict[str, Callable[[Object], None]] = {
    "core.v1.Secret": _convert_secret,
    "core.v1.NodeSpec": _convert_node_spec,
}
