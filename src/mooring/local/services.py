"""The addresses and ports of services."""

# kube-apiserver: pkg/registry/core/service/storage/alloc.go

from __future__ import annotations

import ipaddress
from typing import Any

from mooring.local import refusals
from mooring.local.cluster import Cluster

Object = dict[str, Any]

RANGE = ipaddress.ip_network("10.0.0.0/24")
PORTS = range(30000, 32768)
_NONE = "None"
_PORTED = ("NodePort", "LoadBalancer")


def prepare(cluster: Cluster, service: Object, old: Object | None = None) -> None:
    """Give a service the cluster IP and the node ports that its type has."""
    spec = service.setdefault("spec", {})
    before = (old or {}).get("spec") or {}
    if before:
        _drop(spec, before)
    if spec.get("type") == "ExternalName":
        return
    given = spec.get("clusterIP") or before.get("clusterIP") or ""
    if not given:
        given = _free(cluster)
    elif given != _NONE and given != before.get("clusterIP"):
        _check(cluster, service, given)
    spec["clusterIP"] = given
    spec["clusterIPs"] = [given]
    spec.setdefault("ipFamilies", before.get("ipFamilies") or ["IPv4"])
    spec.setdefault("ipFamilyPolicy", before.get("ipFamilyPolicy") or "SingleStack")
    if spec.get("type") in _PORTED:
        _node_ports(cluster, service)


def _drop(spec: Object, before: Object) -> None:
    """Drop what belongs to the type that a service had, unless the request changes it."""
    # kube-apiserver: pkg/registry/core/service/strategy.go, dropTypeDependentFields
    kind, was = spec.get("type"), before.get("type")
    dropped: list[str] = []
    if kind == "ExternalName" != was:
        dropped += ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"]
        dropped.append("internalTrafficPolicy")
    if was in _PORTED and kind not in _PORTED:
        dropped.append("externalTrafficPolicy")
        ports = [one.get("nodePort") for one in before.get("ports") or ()]
        if ports == [one.get("nodePort") for one in spec.get("ports") or ()]:
            for port in spec.get("ports") or ():
                port.pop("nodePort", None)
    if was == "LoadBalancer" != kind:
        dropped += ["allocateLoadBalancerNodePorts", "loadBalancerClass", "healthCheckNodePort"]
    for name in dropped:
        if spec.get(name) == before.get(name):
            spec.pop(name, None)


def _others(cluster: Cluster, service: Object) -> list[Object]:
    uid = service["metadata"].get("uid")
    return [
        one.object["spec"]
        for one in cluster.store.items("/services")
        if one.object["metadata"].get("uid") != uid
    ]


def _free(cluster: Cluster) -> str:
    used = {one.object["spec"].get("clusterIP") for one in cluster.store.items("/services")}
    hosts = [str(one) for one in RANGE.hosts()][16:]
    left = [one for one in hosts if one not in used]
    if not left:
        raise refusals.internal("failed to allocate a serviceIP: range is full")
    return cluster.random.choice(left)


def _refuse(service: Object, field: str, value: Any, why: str) -> refusals.Refusal:
    shown = f'"{value}"' if isinstance(value, str) else value
    text = f"Invalid value: {shown}: {why}"
    problem = ("FieldValueInvalid", field, text)
    return refusals.invalid("Service", "", service["metadata"]["name"], [problem])


def _check(cluster: Cluster, service: Object, address: str) -> None:
    try:
        inside = ipaddress.ip_address(address) in RANGE
    except ValueError:
        return
    prefix = f"failed to allocate IP {address}: "
    if not inside:
        why = (
            f"{prefix}the provided IP ({address}) is not in the valid range. "
            f"The range of valid IPs is {RANGE}"
        )
        raise _refuse(service, "spec.clusterIPs", [address], why)
    if any(one.get("clusterIP") == address for one in _others(cluster, service)):
        raise _refuse(
            service, "spec.clusterIPs", [address], f"{prefix}provided IP is already allocated"
        )


def _node_ports(cluster: Cluster, service: Object) -> None:
    used = {
        port.get("nodePort") for one in _others(cluster, service) for port in one.get("ports") or ()
    }
    for i, port in enumerate(service["spec"].get("ports") or ()):
        wanted = port.get("nodePort")
        if not wanted:
            wanted = cluster.random.choice([one for one in PORTS if one not in used])
            port["nodePort"] = wanted
        elif wanted not in PORTS:
            why = "provided port is not in the valid range. The range of valid ports is 30000-32767"
            raise _refuse(service, f"spec.ports[{i}].nodePort", wanted, why)
        elif wanted in used:
            why = "provided port is already allocated"
            raise _refuse(service, f"spec.ports[{i}].nodePort", wanted, why)
        used.add(wanted)
