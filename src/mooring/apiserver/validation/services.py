"""Services."""

# kubernetes: pkg/apis/core/validation/validation.go (ValidateService)

from __future__ import annotations

from mooring.api.field_errors import (
    FieldError,
    duplicate,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
)
from mooring.apiserver.validation.containers import check_port
from mooring.apiserver.validation.field_problems import Object
from mooring.apiserver.validation.formats import (
    VALID_IP,
    cidr_problems,
    host_problems,
    ip_problems,
    label_key_problems,
    label_problems,
    port_problems,
    subdomain_problems,
)
from mooring.apiserver.validation.metadata import check_labels

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_AFFINITIES = ("ClientIP", "None")
_TRAFFIC = ("Cluster", "Local")
_NEARNESS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_BALANCERS = "may only be used when `type` is 'LoadBalancer'"
_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_DAY = 86400
_HEALTH_PORT = (
    "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
)


def check_service(service: Object) -> list[FieldError]:
    """Check a new service, apart from its metadata."""
    spec = service["spec"]
    kind = spec.get("type")
    problems: list[FieldError] = []
    ports = spec.get("ports") or []
    headless = spec.get("clusterIP") == "None"
    if not ports and not headless and kind != "ExternalName":
        problems.append(required("spec.ports"))
    found = _by_type(spec, kind)
    if any(VALID_IP in problem.message for problem in found):
        return found  # an invalid IP address is reported alone
    problems += found
    for i, port in enumerate(ports):
        problems += _port(port, len(ports) > 1, f"spec.ports[{i}]")
    problems += _repeated(ports)
    problems += _reserved(spec, kind)
    problems += check_labels(spec.get("selector"), "spec.selector")
    affinity = spec.get("sessionAffinity")
    if affinity not in _AFFINITIES:
        problems.append(not_supported("spec.sessionAffinity", affinity, _AFFINITIES))
    problems += _affinity_config(spec)
    for i, address in enumerate(spec.get("externalIPs") or ()):
        whys = ip_problems(address) or host_problems(address)
        problems += each(f"spec.externalIPs[{i}]", address, whys)
    if kind not in _TYPES:
        problems.append(not_supported("spec.type", kind, _TYPES))
    problems += _node_ports(spec, kind)
    return problems + _traffic(service, kind)


def _by_type(spec: Object, kind: str | None) -> list[FieldError]:
    problems: list[FieldError] = []
    address = spec.get("clusterIP")
    if kind == "ExternalName":
        if address:
            problems.append(
                forbidden("spec.clusterIPs", "may not be set for ExternalName services")
            )
        if name := spec.get("externalName", "").removesuffix("."):
            problems += each("spec.externalName", name, subdomain_problems(name))
        else:
            problems.append(required("spec.externalName"))
    elif kind in ("LoadBalancer", "NodePort") and address == "None":
        why = f"may not be set to 'None' for {kind} services"
        problems.append(invalid("spec.clusterIPs[0]", address, why))
    elif address and address != "None":
        problems += each("spec.clusterIPs[0]", address, ip_problems(address))
    return problems


def _port(port: Object, named: bool, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    name = port.get("name")
    if named and not name:
        problems.append(required(f"{path}.name"))
    elif name:
        problems += each(f"{path}.name", name, label_problems(name))
    problems += each(f"{path}.port", port["port"], port_problems(port["port"]))
    if port.get("protocol") not in _PROTOCOLS:
        problems.append(not_supported(f"{path}.protocol", port.get("protocol"), _PROTOCOLS))
    problems += check_port(port["targetPort"], f"{path}.targetPort")
    if (protocol := port.get("appProtocol")) is not None:
        problems += each(f"{path}.appProtocol", protocol, label_key_problems(protocol))
    return problems


def _reserved(spec: Object, kind: str | None) -> list[FieldError]:
    """Check the fields that only load balancers have, and the traffic distribution."""
    problems: list[FieldError] = []
    balancer = spec.get("loadBalancerClass")
    problems += [
        forbidden(f"spec.{name}", _BALANCERS)
        for name in ("allocateLoadBalancerNodePorts", "loadBalancerClass")
        if spec.get(name) is not None and kind != "LoadBalancer"
    ]
    if balancer is not None and kind == "LoadBalancer":
        problems += each("spec.loadBalancerClass", balancer, label_key_problems(balancer))
    nearness = spec.get("trafficDistribution")
    if nearness is not None and nearness not in _NEARNESS:
        problems.append(not_supported("spec.trafficDistribution", nearness, _NEARNESS))
    return problems


def _repeated(ports: list[Object]) -> list[FieldError]:
    problems: list[FieldError] = []
    names: set[str] = set()
    seen: set[tuple[str, int]] = set()
    for i, port in enumerate(ports):
        name = port.get("name")
        if name and name in names:
            problems.append(duplicate(f"spec.ports[{i}].name", name))
        names.add(name or "")
        pair = (port.get("protocol", ""), port["port"])
        if pair in seen:
            problems.append(duplicate(f"spec.ports[{i}]", {"port": port["port"]}))
        seen.add(pair)
    taken: set[tuple[str, int]] = set()
    for i, port in enumerate(ports):
        number = port.get("nodePort")
        if number and (port.get("protocol", ""), number) in taken:
            problems.append(duplicate(f"spec.ports[{i}].nodePort", number))
        taken.add((port.get("protocol", ""), number or 0))
    return problems


def _affinity_config(spec: Object) -> list[FieldError]:
    if spec.get("sessionAffinity") != "ClientIP":
        return []
    config = spec.get("sessionAffinityConfig") or {}
    seconds = (config.get("clientIP") or {}).get("timeoutSeconds")
    if seconds is None or not 0 < seconds <= _DAY:
        where = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
        return [invalid(where, seconds, f"must be greater than 0 and less than {_DAY}")]
    return []


def _node_ports(spec: Object, kind: str | None) -> list[FieldError]:
    if kind not in ("ClusterIP", "ExternalName"):
        return []
    why = f"may not be used when `type` is '{kind}'"
    return [
        forbidden(f"spec.ports[{i}].nodePort", why)
        for i, port in enumerate(spec.get("ports") or ())
        if port.get("nodePort")
    ]


def _traffic(service: Object, kind: str | None) -> list[FieldError]:
    spec = service["spec"]
    problems: list[FieldError] = []
    if spec.get("loadBalancerSourceRanges") and kind != "LoadBalancer":
        problems.append(forbidden("spec.LoadBalancerSourceRanges", _BALANCERS))
    noted = (service["metadata"].get("annotations") or {}).get(_RANGES, "").strip()
    if noted and not spec.get("loadBalancerSourceRanges"):
        where = f"metadata.annotations[{_RANGES}]"
        if kind != "LoadBalancer":
            problems.append(forbidden(where, _BALANCERS))
        for cidr in noted.split(","):
            problems += each(where, cidr.strip(), cidr_problems(cidr.strip()))
    for i, cidr in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        where = f"spec.LoadBalancerSourceRanges[{i}]"
        problems += each(where, cidr, cidr_problems(cidr.strip()))
    external = spec.get("externalTrafficPolicy")
    reachable = kind in ("LoadBalancer", "NodePort")
    reachable = reachable or (kind == "ClusterIP" and bool(spec.get("externalIPs")))
    if not reachable:
        if external:
            why = "may only be set for externally-accessible services"
            problems.append(invalid("spec.externalTrafficPolicy", external, why))
    elif external not in _TRAFFIC:
        problems.append(not_supported("spec.externalTrafficPolicy", external, _TRAFFIC))
    health = spec.get("healthCheckNodePort")
    if health and not (kind == "LoadBalancer" and external == "Local"):
        problems.append(invalid("spec.healthCheckNodePort", health, _HEALTH_PORT))
    elif health:
        problems += each("spec.healthCheckNodePort", health, port_problems(health))
    internal = spec.get("internalTrafficPolicy")
    if internal is not None and internal not in _TRAFFIC:
        problems.append(not_supported("spec.internalTrafficPolicy", internal, _TRAFFIC))
    return problems


def check_service_update(service: Object, old: Object) -> list[FieldError]:
    """Check an update of a service: its cluster IP may not change."""
    problems: list[FieldError] = []
    new, before = service["spec"], old["spec"]
    fixed = "ExternalName" not in (new.get("type"), before.get("type"))
    address = before.get("clusterIP")
    given = new.get("clusterIP")
    changed = given not in (None, "", address)
    if fixed and address and changed and (given == "None" or not ip_problems(given)):
        why = "may not change once set"
        problems.append(invalid("spec.clusterIPs[0]", new.get("clusterIPs") or [], why))
    if new.get("type") == before.get("type") == "LoadBalancer":
        mine, theirs = new.get("loadBalancerClass"), before.get("loadBalancerClass")
        if mine != theirs:
            problems.append(invalid("spec.loadBalancerClass", mine, "may not change once set"))
        ports = [one.get("healthCheckNodePort") for one in (new, before)]
        if None not in ports and ports[0] != ports[1]:
            problems.append(forbidden("spec.healthCheckNodePort", "field is immutable"))
    return problems + check_service(service)
