from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.validation.objects import Object, made, refused, update_refusals

PORTS = [{"port": 80}]


def _ports(*ports: Object) -> Object:
    return {"ports": list(ports)}


SERVICES: dict[str, tuple[Object, list[str]]] = {
    "a service": ({}, []),
    "no ports": ({"ports": []}, ["spec.ports: Required value"]),
    "a headless service needs none": ({"ports": [], "clusterIP": "None"}, []),
    "a bad address is reported alone": (
        {"ports": [{"port": 0}], "clusterIP": "x"},
        [
            'spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. '
            "10.9.8.7 or 2001:db8::ffff)"
        ],
    ),
    "an external name": ({"type": "ExternalName", "externalName": "a.b.", "ports": []}, []),
    "no external name, and an address": (
        {"type": "ExternalName", "clusterIP": "10.0.0.1", "ports": []},
        [
            "spec.clusterIPs: Forbidden: may not be set for ExternalName services",
            "spec.externalName: Required value",
        ],
    ),
    "a bad external name": (
        {"type": "ExternalName", "externalName": "A", "ports": []},
        ['spec.externalName: Invalid value: "A": <subdomain>'],
    ),
    "a headless service with ports of nodes": (
        {"type": "NodePort", "clusterIP": "None"},
        [
            "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for "
            "NodePort services"
        ],
    ),
    "an unknown type": (
        {"type": "Tunnel"},
        [
            'spec.type: Unsupported value: "Tunnel": supported values: "ClusterIP", '
            '"ExternalName", "LoadBalancer", "NodePort"'
        ],
    ),
    "ports without names": (
        _ports({"port": 80}, {"port": 81}),
        [
            "spec.ports[0].name: Required value",
            "spec.ports[1].name: Required value",
        ],
    ),
    "bad ports": (
        _ports({"port": 0, "name": "A", "protocol": "HTTP", "targetPort": 0, "appProtocol": "a b"}),
        [
            'spec.ports[0].name: Invalid value: "A": <label>',
            "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
            'spec.ports[0].protocol: Unsupported value: "HTTP": supported values: '
            '"SCTP", "TCP", "UDP"',
            "spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive",
            'spec.ports[0].appProtocol: Invalid value: "a b": <qualified name>',
        ],
    ),
    "ports twice": (
        _ports({"port": 80, "name": "a"}, {"port": 80, "name": "a"}),
        [
            'spec.ports[1].name: Duplicate value: "a"',
            'spec.ports[1]: Duplicate value: {"port":80}',
        ],
    ),
    "a node's port twice": (
        {
            "type": "NodePort",
            **_ports(
                {"port": 80, "name": "a", "nodePort": 30000},
                {"port": 81, "name": "b", "nodePort": 30000},
            ),
        },
        ["spec.ports[1].nodePort: Duplicate value: 30000"],
    ),
    "a node's port of an inner service": (
        _ports({"port": 80, "nodePort": 30000}),
        ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
    ),
    "a bad selector": (
        {"selector": {"a b": ""}},
        ['spec.selector: Invalid value: "a b": <qualified name>'],
    ),
    "an unknown affinity": (
        {"sessionAffinity": "Cookie"},
        ['spec.sessionAffinity: Unsupported value: "Cookie": supported values: "ClientIP", "None"'],
    ),
    "an affinity that never ends": (
        {
            "sessionAffinity": "ClientIP",
            "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}},
        },
        [
            "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: "
            "must be greater than 0 and less than 86400"
        ],
    ),
    "bad external addresses": (
        {"externalIPs": ["x", "127.0.0.1", "10.0.0.1"]},
        [
            'spec.externalIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. '
            "10.9.8.7 or 2001:db8::ffff)",
            'spec.externalIPs[1]: Invalid value: "127.0.0.1": may not be in the loopback '
            "range (127.0.0.0/8, ::1/128)",
        ],
    ),
    "fields of balancers": (
        {
            "loadBalancerClass": "a.io/b",
            "allocateLoadBalancerNodePorts": True,
            "loadBalancerSourceRanges": ["10.0.0.0/8"],
        },
        [
            "spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` "
            "is 'LoadBalancer'",
            "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
            "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is "
            "'LoadBalancer'",
        ],
    ),
    "bad fields of a balancer": (
        {
            "type": "LoadBalancer",
            "loadBalancerClass": "a b",
            "loadBalancerSourceRanges": ["x"],
            "externalTrafficPolicy": "All",
        },
        [
            'spec.loadBalancerClass: Invalid value: "a b": <qualified name>',
            'spec.LoadBalancerSourceRanges[0]: Invalid value: "x": must be a valid CIDR '
            "value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
            'spec.externalTrafficPolicy: Unsupported value: "All": supported values: '
            '"Cluster", "Local"',
        ],
    ),
    "a port of health checks": (
        {
            "type": "LoadBalancer",
            "externalTrafficPolicy": "Local",
            "healthCheckNodePort": 70000,
        },
        ["spec.healthCheckNodePort: Invalid value: 70000: must be between 1 and 65535, inclusive"],
    ),
    "a port of health checks of a service without a balancer": (
        {"healthCheckNodePort": 1},
        [
            "spec.healthCheckNodePort: Invalid value: 1: may only be set when `type` is "
            "'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        ],
    ),
    "outer traffic of an inner service": (
        {"externalTrafficPolicy": "Local"},
        [
            'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for '
            "externally-accessible services"
        ],
    ),
    "unknown inner traffic": (
        {"internalTrafficPolicy": "All"},
        [
            'spec.internalTrafficPolicy: Unsupported value: "All": supported values: '
            '"Cluster", "Local"'
        ],
    ),
    "an unknown distribution": (
        {"trafficDistribution": "Random"},
        [
            'spec.trafficDistribution: Unsupported value: "Random": supported values: '
            '"PreferClose", "PreferSameZone", "PreferSameNode"'
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), SERVICES.values(), ids=SERVICES)
def test_services(spec: Object, expected: list[str]) -> None:
    assert refused("v1", "Service", spec={"ports": PORTS} | spec) == expected


def test_ranges_in_an_annotation() -> None:
    name = "service.beta.kubernetes.io/load-balancer-source-ranges"
    metadata = {"annotations": {name: "10.0.0.0/8, x"}}
    assert refused("v1", "Service", metadata=metadata, spec={"ports": PORTS}) == [
        "metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]: "
        "Forbidden: may only be used when `type` is 'LoadBalancer'",
        "metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]: "
        'Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or '
        "2001:db8::/64)",
    ]


def _service(**spec: Any) -> Object:
    given = {"ports": PORTS, "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]} | spec
    return made("v1", "Service", spec=given)


_BALANCER = {
    "type": "LoadBalancer",
    "externalTrafficPolicy": "Local",
    "healthCheckNodePort": 30000,
    "loadBalancerClass": "a.io/b",
}
CHANGES: dict[str, tuple[Object, Object, list[str]]] = {
    "the ports change": ({}, {"ports": [{"port": 81, "protocol": "TCP", "targetPort": 81}]}, []),
    "the address stays": (
        {},
        {"clusterIP": "10.0.0.2", "clusterIPs": ["10.0.0.2"]},
        ['spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set'],
    ),
    "the address may be left out": ({}, {"clusterIP": "", "clusterIPs": None}, []),
    "an external name gives the address up": (
        {},
        {"type": "ExternalName", "externalName": "a", "clusterIP": "", "clusterIPs": None},
        [],
    ),
    "a balancer's class stays": (
        _BALANCER,
        {"loadBalancerClass": "a.io/c"},
        ['spec.loadBalancerClass: Invalid value: "a.io/c": may not change once set'],
    ),
    "a balancer's port of health checks stays": (
        _BALANCER,
        {"healthCheckNodePort": 30001},
        ["spec.healthCheckNodePort: Forbidden: field is immutable"],
    ),
}


@pytest.mark.parametrize(("spec", "change", "expected"), CHANGES.values(), ids=CHANGES)
def test_changes_of_services(spec: Object, change: Object, expected: list[str]) -> None:
    assert update_refusals(_service(**spec), {"spec": change}) == expected
