"""Allocation of cluster IPs and node ports to services."""

# kube-apiserver: pkg/registry/core/service/storage/alloc.go

from __future__ import annotations

import ipaddress
from collections.abc import Sequence, Set
from typing import Any, TypeVar

from mooring.api.field_errors import FieldError, duplicate, invalid, not_supported
from mooring.apiserver import refusals
from mooring.apiserver.server_state import ServerState
from mooring.apiserver.validation.field_problems import repeated
from mooring.apiserver.validation.formats import VALID_IP, ip_problems

Object = dict[str, Any]
T = TypeVar("T")

RANGE = ipaddress.ip_network("10.0.0.0/24")
PORTS = range(30000, 32768)
#: How many of the lowest addresses and ports are drawn only if no other is left: these are the ones
#: that users choose themselves.
_GIVEN_ADDRESSES = 16
_GIVEN_PORTS = 86
_NONE = "None"
_PORTED = ("NodePort", "LoadBalancer")
_FAMILIES = ("IPv4", "IPv6")
_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
#: The first port in the response to a dry run; kube-apiserver: portallocator/operation.go
_DRY_RUN_PORT = 32769


def prepare(
    cluster: ServerState, service: Object, old: Object | None = None, *, dry_run: bool = False
) -> None:
    """Give a service the cluster IP and the node ports that its type needs."""
    spec = service.setdefault("spec", {})
    before = (old or {}).get("spec") or {}
    if before:
        _drop(service, before)
    if spec.get("type") == "ExternalName":
        return
    if not before:
        _refuse_all(service, _address_problems(spec))
    given = spec.get("clusterIP") or before.get("clusterIP") or ""
    if given:
        spec["clusterIP"], spec["clusterIPs"] = given, [given]
    _families(service, before)
    if not given:
        given = _free(cluster, service)
    elif given != _NONE and not before.get("clusterIP"):
        # If the service had an address, validation refuses a change.
        _check(cluster, service, given, dry_run)
    spec["clusterIP"], spec["clusterIPs"] = given, [given]
    if spec.get("type") in _PORTED:
        if before.get("type") in _PORTED:
            _keep_ports(spec, before)
        _node_ports(cluster, service, dry_run)
    if spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local":
        _health_port(cluster, service, before)


def _address_problems(spec: Object) -> list[FieldError]:
    """Return the problems if `clusterIP` and `clusterIPs` do not agree."""
    # kube-apiserver: pkg/apis/core/validation/validation.go, ValidateServiceClusterIPsRelatedFields
    first, listed = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    path = "spec.clusterIPs"
    problems: list[FieldError] = []
    if listed and not first:
        problems.append(invalid(path, listed, "must be empty when `clusterIP` is not specified"))
        problems += [
            invalid(f"{path}[{i}]", one, VALID_IP)
            for i, one in enumerate(listed)
            if ip_problems(one)
        ]
    elif listed and listed[0] != first:
        problems.append(invalid(path, listed, "first value must match `clusterIP`"))
    elif len(listed) == 2 and (":" in listed[0]) == (":" in listed[1]):
        why = "may specify no more than one IP for each IP family"
        problems.append(invalid(path, listed, why))
    return problems


def _health_port(cluster: ServerState, service: Object, before: Object) -> None:
    """Give a load balancer with local traffic policy a health check port."""
    # kube-apiserver: pkg/registry/core/service/storage/alloc.go, allocHealthCheckNodePort
    spec = service["spec"]
    if given := spec.get("healthCheckNodePort"):
        if not before.get("healthCheckNodePort"):
            why = _port_problem(given, _used_ports(cluster, service))
            if why:
                start = f"failed to allocate requested HealthCheck NodePort {given}"
                raise refusals.internal(f"{start}: {why}")
        return
    if before.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before["healthCheckNodePort"]
        return
    port = _draw(cluster, PORTS, _used_ports(cluster, service) | _own_ports(spec), _GIVEN_PORTS)
    if port is not None:
        spec["healthCheckNodePort"] = port


def _own_ports(spec: Object) -> set[int | None]:
    ports = {port.get("nodePort") for port in spec.get("ports") or ()}
    return {*ports, spec.get("healthCheckNodePort")}


def _used_ports(cluster: ServerState, service: Object) -> set[int | None]:
    return {port for one in _others(cluster, service) for port in _own_ports(one)}


def _families(service: Object, before: Object) -> None:
    """Fill in the address families of a service; the cluster has only IPv4."""
    spec = service["spec"]
    free = spec.get("clusterIP") == _NONE and not spec.get("selector")
    default = "RequireDualStack" if free else "SingleStack"
    policy = spec.get("ipFamilyPolicy")
    if policy is None:
        policy = before.get("ipFamilyPolicy") or default
    spec["ipFamilyPolicy"] = policy
    families = spec.get("ipFamilies") or before.get("ipFamilies") or []
    _refuse_all(service, _family_problems(spec, families, policy))
    if free:
        families = families or ["IPv4"]
        if len(families) == 1 and policy != "SingleStack":
            families = [*families, "IPv6" if families == ["IPv4"] else "IPv4"]
        spec["ipFamilies"] = families
        return
    problems: list[FieldError] = []
    if policy == "RequireDualStack":
        why = "this cluster is not configured for dual-stack services"
        problems.append(invalid("spec.ipFamilyPolicy", policy, why))
    problems += [
        invalid(f"spec.ipFamilies[{i}]", family, "not configured on this cluster")
        for i, family in enumerate(families)
        if family != "IPv4"
    ]
    _refuse_all(service, problems)
    spec["ipFamilies"] = families or ["IPv4"]


def _family_problems(spec: Object, families: list[str], policy: str) -> list[FieldError]:
    # kube-apiserver: pkg/apis/core/validation/validation.go, ValidateServiceClusterIPsRelatedFields
    problems: list[FieldError] = []
    again = set(repeated(families))
    for i, family in enumerate(families):
        where = f"spec.ipFamilies[{i}]"
        if family not in _FAMILIES:
            problems.append(not_supported(where, family, _FAMILIES))
        if i in again:
            problems.append(duplicate(where, family))
    if policy not in _POLICIES:
        problems.append(not_supported("spec.ipFamilyPolicy", policy, _POLICIES))
    address = spec.get("clusterIP") or _NONE
    if address != _NONE and families and (families[0] == "IPv6") != (":" in address):
        why = f"expected an {families[0]} value as indicated by `ipFamilies[0]`"
        problems.append(invalid("spec.clusterIPs[0]", address, why))
    if policy == "SingleStack" and len(set(families)) == 2:
        why = (
            "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are "
            "specified"
        )
        problems.append(invalid("spec.ipFamilyPolicy", policy, why))
    return problems


def _refuse_all(service: Object, problems: list[FieldError]) -> None:
    if problems:
        raise refusals.invalid("Service", "", service["metadata"].get("name") or "", problems)


def _drop(service: Object, before: Object) -> None:
    """Drop fields of the service's previous type, unless the request changes them."""
    # kube-apiserver: pkg/registry/core/service/strategy.go, dropTypeDependentFields
    spec = service["spec"]
    kind, was = spec.get("type"), before.get("type")
    dropped: list[str] = []
    if kind != "LoadBalancer" and (service.get("status") or {}).get("loadBalancer"):
        service["status"] = service["status"] | {"loadBalancer": {}}
    if kind == "ExternalName" != was:
        dropped += ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"]
        dropped.append("internalTrafficPolicy")
    if was in _PORTED and kind not in _PORTED:
        if kind != "ClusterIP" or not spec.get("externalIPs"):
            dropped.append("externalTrafficPolicy")
        ports = [one.get("nodePort") for one in before.get("ports") or ()]
        if ports == [one.get("nodePort") for one in spec.get("ports") or ()]:
            for port in spec.get("ports") or ():
                port.pop("nodePort", None)
    if was == "LoadBalancer" != kind:
        dropped += ["allocateLoadBalancerNodePorts", "loadBalancerClass", "healthCheckNodePort"]
    local = {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}.items()
    if local <= before.items() and not local <= spec.items():
        dropped.append("healthCheckNodePort")
    for name in dropped:
        if spec.get(name) == before.get(name):
            spec.pop(name, None)


def _others(cluster: ServerState, service: Object) -> list[Object]:
    uid = service["metadata"].get("uid")
    return [
        one.object["spec"]
        for one in cluster.store.items("/services")
        if one.object["metadata"].get("uid") != uid
    ]


def _free(cluster: ServerState, service: Object) -> str:
    used: set[str] = {
        one.object["spec"].get("clusterIP") for one in cluster.store.items("/services")
    }
    there: list[str] = [str(one) for one in RANGE.hosts()]
    address = _draw(cluster, there, used, _GIVEN_ADDRESSES)
    if address is None:
        name = service["metadata"].get("name") or ""
        raise refusals.internal(
            f'failed to allocate a serviceIP for Service "{name}": range is full'
        )
    return address


def _draw(cluster: ServerState, there: Sequence[T], used: Set[T], low: int) -> T | None:
    """Return a random unused item, one of the `low` first ones only if no other is left."""
    for band in (there[low:], there[:low]):
        if left := [one for one in band if one not in used]:
            return cluster.random.choice(left)
    return None


def _refuse(service: Object, field: str, value: Any, why: str) -> refusals.Refusal:
    return refusals.invalid(
        "Service", "", service["metadata"].get("name") or "", [invalid(field, value, why)]
    )


def _check(cluster: ServerState, service: Object, address: str, dry_run: bool) -> None:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return
    prefix = f"failed to allocate IP {address}: "
    ends = (RANGE.network_address, RANGE.broadcast_address)
    if parsed not in RANGE and dry_run:
        why = (
            f"{prefix}the provided IP ({address}) is not in the valid range. The range of valid "
            f"IPs is {RANGE}"
        )
        raise _refuse(service, "spec.clusterIPs", [address], why)
    if dry_run:
        return
    if parsed not in RANGE or parsed in ends:
        why = f"{prefix}the provided network does not match the current range"
        raise _refuse(service, "spec.clusterIPs", [address], why)
    if any(one.get("clusterIP") == address for one in _others(cluster, service)):
        raise _refuse(
            service, "spec.clusterIPs", [address], f"{prefix}provided IP is already allocated"
        )


def _keep_ports(spec: Object, before: Object) -> None:
    """Restore the node ports that ports of the same name had."""
    # kube-apiserver: pkg/registry/core/service/storage/storage.go, patchAllocatedValues
    had = {port.get("name", ""): port.get("nodePort") for port in before.get("ports") or ()}
    taken = {port.get("nodePort") for port in spec.get("ports") or ()} & set(had.values())
    for port in spec.get("ports") or ():
        there = had.get(port.get("name", ""))
        if not port.get("nodePort") and there and there not in taken:
            port["nodePort"] = there


def _node_ports(cluster: ServerState, service: Object, dry_run: bool) -> None:
    spec = service["spec"]
    used = _used_ports(cluster, service)
    automatic = spec["type"] == "NodePort" or spec.get("allocateLoadBalancerNodePorts", True)
    ports = spec.get("ports") or []
    # The node ports of this service by port: the protocols of one port share a node port.
    given: dict[int, int] = {}
    for i, port in enumerate(ports):
        wanted = port.get("nodePort")
        if not wanted and not automatic:
            continue
        number = port["port"]
        asked = (one["nodePort"] for one in ports if one["port"] == number and one.get("nodePort"))
        wanted = wanted or given.get(number) or next(asked, 0)
        if not wanted:
            wanted = _next_port(cluster, used, given, dry_run)
        elif given.get(number) != wanted and not dry_run:
            _check_port(service, i, wanted, used)
        port["nodePort"] = wanted
        given.setdefault(number, wanted)
        used.add(wanted)


def _next_port(
    cluster: ServerState, used: set[int | None], given: dict[int, int], dry_run: bool
) -> int:
    if dry_run:
        return max(given.values(), default=_DRY_RUN_PORT - 1) + 1
    port = _draw(cluster, PORTS, used, _GIVEN_PORTS)
    if port is None:
        raise refusals.internal("failed to allocate a nodePort: range is full")
    return port


def _port_problem(wanted: int, used: set[int | None]) -> str:
    if wanted not in PORTS:
        return "provided port is not in the valid range. The range of valid ports is 30000-32767"
    return "provided port is already allocated" if wanted in used else ""


def _check_port(service: Object, index: int, wanted: int, used: set[int | None]) -> None:
    why = _port_problem(wanted, used)
    if why:
        raise _refuse(service, f"spec.ports[{index}].nodePort", wanted, why)
