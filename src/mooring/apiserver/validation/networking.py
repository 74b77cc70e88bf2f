"""Ingresses, network policies and endpoint slices."""

# kubernetes: pkg/apis/{networking,discovery}/validation/validation.go

from __future__ import annotations

import ipaddress

from mooring.api.field_errors import (
    FieldError,
    duplicate,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from mooring.apiserver.validation.autoscaler_metrics import segment
from mooring.apiserver.validation.containers import check_port
from mooring.apiserver.validation.field_problems import Object, immutable, repeated
from mooring.apiserver.validation.file_paths import prefixed_path
from mooring.apiserver.validation.formats import (
    cidr_problems,
    ip_problems,
    label_key_problems,
    label_problems,
    label_value_problems,
    subdomain_problems,
    wildcard_problems,
)
from mooring.apiserver.validation.metadata import check_selector

_CONTROLLER_LENGTH = 250
_NOT_IN_PATHS = ("//", "/./", "/../", "%2f", "%2F")
_NOT_LAST = ("/..", "/.")
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")


def check_ingress(ingress: Object) -> list[FieldError]:
    """Check an ingress."""
    spec = ingress["spec"]
    problems: list[FieldError] = []
    if not spec.get("rules") and spec.get("defaultBackend") is None:
        why = "either `defaultBackend` or `rules` must be specified"
        problems.append(invalid("spec", None, why))
    for i, rule in enumerate(spec.get("rules") or ()):
        problems += _ingress_rule(rule, f"spec.rules[{i}]")
    if (backend := spec.get("defaultBackend")) is not None:
        problems += _backend(backend, "spec.defaultBackend")
    for i, tls in enumerate(spec.get("tls") or ()):
        for j, host in enumerate(tls.get("hosts") or ()):
            problems += each(f"spec.tls[{i}].hosts[{j}]", host, wildcard_problems(host))
        if secret := tls.get("secretName"):
            problems += each(f"spec.tls[{i}].secretName", secret, subdomain_problems(secret))
    if (name := spec.get("ingressClassName")) is not None:
        problems += each("spec.ingressClassName", name, subdomain_problems(name))
    return problems


def _ingress_rule(rule: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    if host := rule.get("host"):
        if not ip_problems(host):
            problems.append(invalid(f"{path}.host", host, "must be a DNS name, not an IP address"))
        problems += each(f"{path}.host", host, wildcard_problems(host))
    if (http := rule.get("http")) is None:
        return problems
    if not http.get("paths"):
        return [*problems, required(f"{path}.http.paths")]
    for i, one in enumerate(http["paths"]):
        problems += _ingress_path(one, f"{path}.http.paths[{i}]")
    return problems


def _ingress_path(one: Object, path: str) -> list[FieldError]:
    kind = one.get("pathType")
    if kind is None:
        return [required(f"{path}.pathType", "pathType must be specified")]
    problems: list[FieldError] = []
    given = one.get("path", "")
    if kind not in _PATH_TYPES:
        problems.append(not_supported(f"{path}.pathType", kind, _PATH_TYPES))
    elif not given.startswith("/") and (given or kind != "ImplementationSpecific"):
        problems.append(invalid(f"{path}.path", given, "must be an absolute path"))
    if kind in ("Exact", "Prefix"):
        whys = [f"must not contain '{one}'" for one in _NOT_IN_PATHS if one in given]
        whys += [f"cannot end with '{one}'" for one in _NOT_LAST if given.endswith(one)]
        problems += each(f"{path}.path", given, whys)
    return problems + _backend(one["backend"], f"{path}.backend")


def _backend(backend: Object, path: str) -> list[FieldError]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        return [invalid(path, "", "cannot set both resource and service backends")]
    if service is None:
        if resource is None:
            return [invalid(path, "", "resource or service backend is required")]
        return _typed_reference(resource, f"{path}.resource")
    problems: list[FieldError] = []
    if not service["name"]:
        problems.append(required(f"{path}.service.name"))
    else:
        problems += each(f"{path}.service.name", service["name"], label_problems(service["name"]))
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


def check_ingress_class(ingress_class: Object) -> list[FieldError]:
    """Check an ingress class."""
    controller = ingress_class["spec"].get("controller", "")
    problems: list[FieldError] = []
    if len(controller) > _CONTROLLER_LENGTH:
        problems.append(too_long("spec.controller", _CONTROLLER_LENGTH))
    problems += prefixed_path(controller, "spec.controller")
    if (parameters := ingress_class["spec"].get("parameters")) is not None:
        problems += _parameters(parameters, "spec.parameters")
    return problems


def _parameters(parameters: Object, path: str) -> list[FieldError]:
    problems = _typed_reference(parameters, path)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    where = f"{path}.namespace"
    if scope is None:
        problems.append(required(f"{path}.scope"))
    elif scope not in ("Cluster", "Namespace"):
        problems.append(not_supported(f"{path}.scope", scope, ("Cluster", "Namespace")))
    elif scope == "Cluster" and namespace is not None:
        problems.append(forbidden(where, "`parameters.scope` is set to 'Cluster'"))
    elif scope == "Namespace" and namespace is None:
        problems.append(required(where, "`parameters.scope` is set to 'Namespace'"))
    elif scope == "Namespace":
        problems += each(where, namespace, label_problems(namespace or ""))
    return problems


def _typed_reference(reference: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    if (group := reference.get("apiGroup")) is not None:
        problems += each(f"{path}.apiGroup", group, subdomain_problems(group))
    for name in ("kind", "name"):
        problems += segment(reference.get(name) or "", f"{path}.{name}")
    return problems


def check_ingress_class_update(ingress_class: Object, old: Object) -> list[FieldError]:
    """Check an update of an ingress class: its controller may not change."""
    new, before = (one["spec"].get("controller") or "" for one in (ingress_class, old))
    return immutable("spec.controller", new, before) + check_ingress_class(ingress_class)


def check_network_policy(policy: Object) -> list[FieldError]:
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
    kinds = spec.get("policyTypes") or ()
    if len(kinds) > 2:
        why = "may not specify more than two policyTypes"
        return [*problems, invalid("spec.policyTypes", kinds, why)]
    for i, kind in enumerate(kinds):
        if kind not in ("Ingress", "Egress"):
            supported = ("Ingress", "Egress")
            problems.append(not_supported(f"spec.policyTypes[{i}]", kind, supported))
    return problems


def _policy_port(port: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
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
    elif end is not None:
        problems += check_port(end, f"{path}.endPort")
        if end < number:
            why = "must be greater than or equal to `port`"
            problems.append(invalid(f"{path}.endPort", end, why))
    return problems + check_port(number, f"{path}.port")


def _peer(peer: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
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
            problems += _exceptions(block, f"{path}.ipBlock.except")
        if selectors:
            why = "may not specify both ipBlock and another peer"
            problems.append(forbidden(path, why))
    elif not selectors:
        problems.append(required(path, "must specify a peer"))
    return problems


def _exceptions(block: Object, path: str) -> list[FieldError]:
    """Check that each exception is a proper subset of the block."""
    problems: list[FieldError] = []
    whole = _network(block["cidr"])
    if whole is None:
        return problems
    for i, cidr in enumerate(block.get("except") or ()):
        problems += each(f"{path}[{i}]", cidr, cidr_problems(cidr))
        part = _network(cidr)
        if part is None:
            continue
        inside = part.version == whole.version and part.network_address in whole
        if not inside or whole.prefixlen >= part.prefixlen:
            why = "must be a strict subset of `cidr`"
            problems.append(invalid(f"{path}[{i}]", cidr, why))
    return problems


def _network(cidr: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    if "/" not in cidr:
        return None
    try:
        return ipaddress.ip_network(cidr, strict=False)
    except ValueError:
        return None


def check_address(address: Object) -> list[FieldError]:
    """Check an IPAddress, including its parent reference."""
    parent, path = address["spec"].get("parentRef"), "spec.parentRef"
    if parent is None:
        return [required(path)]
    problems: list[FieldError] = []
    if group := parent.get("group"):
        problems += each(f"{path}.group", group, subdomain_problems(group))
    for name in ("resource", "name"):
        problems += segment(parent.get(name) or "", f"{path}.{name}")
    if namespace := parent.get("namespace"):
        problems += segment(namespace, f"{path}.namespace")
    return problems


def check_address_update(address: Object, old: Object) -> list[FieldError]:
    """Check an update of an IPAddress: its parent reference may not change."""
    parents = (address["spec"].get("parentRef"), old["spec"].get("parentRef"))
    return check_address(address) + immutable("spec.parentRef", *parents, shown=False)


def check_service_range(service_range: Object) -> list[FieldError]:
    """Check a ServiceCIDR, from which services get their addresses."""
    cidrs, path = service_range["spec"].get("cidrs") or [], "spec.cidrs"
    if not cidrs:
        return [required(path, "at least one CIDR required")]
    if len(cidrs) > 2:
        return [invalid(path, service_range["spec"], "may only hold up to 2 values")]
    problems: list[FieldError] = []
    for i, cidr in enumerate(cidrs):
        problems += each(f"{path}[{i}]", cidr, cidr_problems(cidr))
    networks = [_network(cidr) for cidr in cidrs]
    versions = [network.version for network in networks if network is not None]
    if versions in ([4, 4], [6, 6]):
        why = (
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and "
            "2001:db8::/64"
        )
        problems.append(invalid(path, cidrs, why))
    return problems


def check_service_range_update(service_range: Object, old: Object) -> list[FieldError]:
    """Check an update of a ServiceCIDR: ranges stay, but one of a second family may be added."""
    # kubernetes: pkg/apis/networking/validation/validation.go, ValidateServiceCIDRUpdate
    new, before = service_range["spec"].get("cidrs"), old["spec"].get("cidrs") or []
    path = "spec.cidrs"
    if len(before) == 1 and len(new or ()) == 2:
        problems = immutable(f"{path}[0]", (new or [""])[0], before[0])
        return problems + check_service_range(service_range)
    if len(new or ()) != len(before):
        return immutable(path, new, before)
    problems = []
    for i, (now, was) in enumerate(zip(new or (), before, strict=True)):
        problems += immutable(f"{path}[{i}]", now, was)
    return problems


def check_endpoint_slice(endpoint_slice: Object) -> list[FieldError]:
    """Check an endpoint slice."""
    problems: list[FieldError] = []
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
        if (protocol := port.get("appProtocol")) is not None:
            problems += each(f"ports[{i}].appProtocol", protocol, label_key_problems(protocol))
    names = [port.get("name") or "" for port in endpoint_slice.get("ports") or ()]
    problems += [duplicate(f"ports[{i}].name", names[i]) for i in repeated(names)]
    for i, endpoint in enumerate(endpoint_slice.get("endpoints") or ()):
        problems += _endpoint(endpoint, kind, f"endpoints[{i}]")
    return problems


def _endpoint(endpoint: Object, kind: str, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    addresses = endpoint.get("addresses") or []
    if not addresses:
        problems.append(required(f"{path}.addresses"))
    for i, address in enumerate(addresses):
        where = f"{path}.addresses[{i}]"
        if kind == "FQDN":
            problems += _domain_name(address, where)
        elif kind in ("IPv4", "IPv6"):
            problems += each(where, address, ip_problems(address))
            if not ip_problems(address) and f"IPv{ipaddress.ip_address(address).version}" != kind:
                # The API server reports the list, not the address.
                why = f"must be an {kind} address"
                problems.append(invalid(f"{path}.addresses", address, why))
    if (name := endpoint.get("nodeName")) is not None:
        problems += each(f"{path}.nodeName", name, subdomain_problems(name))
    if (name := endpoint.get("hostname")) is not None:
        problems += each(f"{path}.hostname", name, label_problems(name))
    hints = endpoint.get("hints") or {}
    for field, check in (("forZones", label_value_problems), ("forNodes", subdomain_problems)):
        seen: set[str] = set()
        for i, hint in enumerate(hints.get(field) or ()):
            where, name = f"{path}.hints.{field}[{i}].name", hint.get("name") or ""
            if name in seen:
                problems.append(duplicate(where, name))
            else:
                problems += each(where, name, check(name))
            seen.add(name)
    return problems


def _domain_name(address: str, path: str) -> list[FieldError]:
    # apimachinery: pkg/util/validation/validation.go, IsFullyQualifiedDomainName
    if not address:
        return [required(path)]
    name = address.removesuffix(".")
    if whys := subdomain_problems(name):
        return [invalid(path, name, ",".join(whys))]
    if "." not in name:
        why = "should be a domain with at least two segments separated by dots"
        return [invalid(path, name, why)]
    for label in name.split("."):
        if whys := label_problems(label):
            return [invalid(path, label, ",".join(whys))]
    return []


def check_endpoint_slice_update(endpoint_slice: Object, old: Object) -> list[FieldError]:
    """Check an update of an endpoint slice: its address type may not change."""
    problems = check_endpoint_slice(endpoint_slice)
    types = endpoint_slice["addressType"], old["addressType"]
    return problems + immutable("addressType", *types, shown=False)
