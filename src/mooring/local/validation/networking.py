"""Ingresses, network policies and endpoint slices."""

# kubernetes: pkg/apis/{networking,discovery}/validation/validation.go

from __future__ import annotations

import ipaddress

from mooring.local.validation.containers import check_port
from mooring.local.validation.metadata import check_selector
from mooring.local.validation.problems import (
    Object,
    Problem,
    each,
    forbidden,
    immutable,
    invalid,
    not_supported,
    required,
)
from mooring.local.validation.texts import (
    cidr_problems,
    ip_problems,
    label_problems,
    subdomain_problems,
)

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")


def check_ingress(ingress: Object) -> list[Problem]:
    """Check an ingress."""
    spec = ingress["spec"]
    problems: list[Problem] = []
    if not spec.get("rules") and spec.get("defaultBackend") is None:
        why = "either `defaultBackend` or `rules` must be specified"
        problems.append(invalid("spec", None, why))
    for i, rule in enumerate(spec.get("rules") or ()):
        problems += _ingress_rule(rule, f"spec.rules[{i}]")
    if (backend := spec.get("defaultBackend")) is not None:
        problems += _backend(backend, "spec.defaultBackend")
    for i, tls in enumerate(spec.get("tls") or ()):
        for j, host in enumerate(tls.get("hosts") or ()):
            bare = host.removeprefix("*.")
            problems += each(f"spec.tls[{i}].hosts[{j}]", host, subdomain_problems(bare))
    if name := spec.get("ingressClassName"):
        problems += each("spec.ingressClassName", name, subdomain_problems(name))
    return problems


def _ingress_rule(rule: Object, path: str) -> list[Problem]:
    problems: list[Problem] = []
    if host := rule.get("host"):
        if not ip_problems(host):
            problems.append(invalid(f"{path}.host", host, "must be a DNS name, not an IP address"))
        else:
            problems += each(f"{path}.host", host, subdomain_problems(host.removeprefix("*.")))
    if (http := rule.get("http")) is None:
        return problems
    if not http.get("paths"):
        return [*problems, required(f"{path}.http.paths")]
    for i, one in enumerate(http["paths"]):
        problems += _ingress_path(one, f"{path}.http.paths[{i}]")
    return problems


def _ingress_path(one: Object, path: str) -> list[Problem]:
    kind = one.get("pathType")
    if kind is None:
        return [required(f"{path}.pathType", "pathType must be specified")]
    problems: list[Problem] = []
    given = one.get("path", "")
    if kind not in _PATH_TYPES:
        problems.append(not_supported(f"{path}.pathType", kind, _PATH_TYPES))
    elif kind in ("Exact", "Prefix") and not given.startswith("/"):
        problems.append(invalid(f"{path}.path", given, "must be an absolute path"))
    return problems + _backend(one["backend"], f"{path}.backend")


def _backend(backend: Object, path: str) -> list[Problem]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        return [invalid(path, "", "cannot set both resource and service backends")]
    if service is None:
        if resource is None:
            return [required(path, "resource or service backend is required")]
        return []
    problems: list[Problem] = []
    if not service["name"]:
        problems.append(required(f"{path}.service.name"))
    port = service.get("port") or {}
    if port.get("name") and port.get("number"):
        problems.append(invalid(path, "", "cannot set both port name & port number"))
    elif port.get("name"):
        problems += check_port(port["name"], f"{path}.service.port.name")
    elif port.get("number"):
        problems += check_port(port["number"], f"{path}.service.port.number")
    else:
        problems.append(required(path, "port name or number is required"))
    return problems


def check_ingress_class(ingress_class: Object) -> list[Problem]:
    """Check an ingress class."""
    controller = ingress_class["spec"].get("controller", "")
    if "/" not in controller:
        why = 'must be a domain-prefixed path (such as "acme.io/foo")'
        return [invalid("spec.controller", controller, why)]
    return []


def check_ingress_class_update(ingress_class: Object, old: Object) -> list[Problem]:
    """Check the change of an ingress class: its controller stays."""
    new, before = ingress_class["spec"].get("controller"), old["spec"].get("controller")
    return immutable("spec.controller", new, before)


def check_network_policy(policy: Object) -> list[Problem]:
    """Check a network policy."""
    spec = policy.get("spec") or {}
    problems = check_selector(spec.get("podSelector"), "spec.podSelector")
    for field, peers in (("ingress", "from"), ("egress", "to")):
        for i, rule in enumerate(spec.get(field) or ()):
            where = f"spec.{field}[{i}]"
            for j, port in enumerate(rule.get("ports") or ()):
                problems += _policy_port(port, f"{where}.ports[{j}]")
            for j, peer in enumerate(rule.get(peers) or ()):
                problems += _peer(peer, f"{where}.{peers}[{j}]")
    for i, kind in enumerate(spec.get("policyTypes") or ()):
        if kind not in ("Ingress", "Egress"):
            supported = ("Ingress", "Egress")
            problems.append(not_supported(f"spec.policyTypes[{i}]", kind, supported))
    return problems


def _policy_port(port: Object, path: str) -> list[Problem]:
    problems: list[Problem] = []
    protocols = ("TCP", "UDP", "SCTP")
    if port.get("protocol") not in (None, *protocols):
        problems.append(not_supported(f"{path}.protocol", port["protocol"], protocols))
    number, end = port.get("port"), port.get("endPort")
    if number is None:
        if end is not None:
            why = "may not be specified when `port` is not specified"
            problems.append(invalid(f"{path}.endPort", end, why))
        return problems
    if end is not None and isinstance(number, str):
        why = "may not be specified when `port` is non-numeric"
        problems.append(invalid(f"{path}.endPort", end, why))
    elif end is not None and end < number:
        why = "must be greater than or equal to `port`"
        problems.append(invalid(f"{path}.endPort", end, why))
    return problems + check_port(number, f"{path}.port")


def _peer(peer: Object, path: str) -> list[Problem]:
    problems: list[Problem] = []
    selectors = [n for n in ("podSelector", "namespaceSelector") if peer.get(n) is not None]
    for name in selectors:
        problems += check_selector(peer[name], f"{path}.{name}")
    block = peer.get("ipBlock")
    if block is not None:
        where = f"{path}.ipBlock.cidr"
        if not block["cidr"]:
            problems.append(required(where))
        else:
            problems += each(where, block["cidr"], cidr_problems(block["cidr"]))
        if selectors:
            why = "may not specify both ipBlock and another peer"
            problems.append(forbidden(path, why))
    elif not selectors:
        problems.append(required(path, "must specify a peer"))
    return problems


def check_endpoint_slice(endpoint_slice: Object) -> list[Problem]:
    """Check an endpoint slice."""
    problems: list[Problem] = []
    kind = endpoint_slice["addressType"]
    kinds = ("FQDN", "IPv4", "IPv6")
    if not kind:
        problems.append(required("addressType"))
    elif kind not in kinds:
        problems.append(not_supported("addressType", kind, kinds))
    for i, port in enumerate(endpoint_slice.get("ports") or ()):
        if name := port.get("name"):
            problems += each(f"ports[{i}].name", name, label_problems(name))
        if port.get("protocol") not in ("SCTP", "TCP", "UDP"):
            supported = ("SCTP", "TCP", "UDP")
            given = port.get("protocol")
            problems.append(not_supported(f"ports[{i}].protocol", given, supported))
    for i, endpoint in enumerate(endpoint_slice.get("endpoints") or ()):
        problems += _endpoint(endpoint, kind, f"endpoints[{i}]")
    return problems


def _endpoint(endpoint: Object, kind: str, path: str) -> list[Problem]:
    problems: list[Problem] = []
    addresses = endpoint.get("addresses") or []
    if not addresses:
        problems.append(required(f"{path}.addresses", "must contain at least 1 address"))
    for i, address in enumerate(addresses):
        where = f"{path}.addresses[{i}]"
        if kind == "FQDN":
            problems += each(where, address, subdomain_problems(address))
        elif kind in ("IPv4", "IPv6"):
            problems += each(where, address, _family_problems(address, kind))
    if name := endpoint.get("nodeName"):
        problems += each(f"{path}.nodeName", name, subdomain_problems(name))
    return problems


def _family_problems(address: str, kind: str) -> list[str]:
    if whys := ip_problems(address):
        return whys
    version = ipaddress.ip_address(address).version
    return [] if kind == f"IPv{version}" else [f"must be an {kind} address"]


def check_endpoint_slice_update(endpoint_slice: Object, old: Object) -> list[Problem]:
    """Check the change of an endpoint slice: the kind of its addresses stays."""
    problems = check_endpoint_slice(endpoint_slice)
    return problems + immutable("addressType", endpoint_slice["addressType"], old["addressType"])
