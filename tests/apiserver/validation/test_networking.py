from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.validation.objects import Object, made, refused, update_refusals

V1 = "networking.k8s.io/v1"


def _backend(name: str = "s", **port: Any) -> Object:
    return {"service": {"name": name, "port": port or {"number": 80}}}


def _path(**more: Any) -> Object:
    return {"http": {"paths": [{"path": "/", "pathType": "Exact", "backend": _backend()} | more]}}


INGRESSES: dict[str, tuple[Object, list[str]]] = {
    "an ingress": ({"rules": [{"host": "*.a.b", **_path()}], "defaultBackend": _backend()}, []),
    "neither rules nor a backend": (
        {},
        ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"],
    ),
    "an address as host": (
        {"rules": [{"host": "1.2.3.4"}]},
        ['spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address'],
    ),
    "bad hosts": (
        {"rules": [{"host": "A"}, {"host": "*.A"}, {"host": "a.*.b"}]},
        [
            'spec.rules[0].host: Invalid value: "A": <subdomain>',
            'spec.rules[1].host: Invalid value: "*.A": <wildcard subdomain>',
            'spec.rules[2].host: Invalid value: "a.*.b": <wildcard subdomain>',
        ],
    ),
    "no paths": (
        {"rules": [{"http": {"paths": []}}]},
        ["spec.rules[0].http.paths: Required value"],
    ),
    "an unknown type of path": (
        {"rules": [_path(pathType="Regex")]},
        [
            'spec.rules[0].http.paths[0].pathType: Unsupported value: "Regex": supported '
            'values: "Exact", "ImplementationSpecific", "Prefix"'
        ],
    ),
    "no type of path": (
        {"rules": [_path(pathType=None)]},
        ["spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified"],
    ),
    "a relative path": (
        {"rules": [_path(path="a", pathType="Prefix")]},
        ['spec.rules[0].http.paths[0].path: Invalid value: "a": must be an absolute path'],
    ),
    "a relative path that the controller reads": (
        {"rules": [_path(path="a", pathType="ImplementationSpecific")]},
        ['spec.rules[0].http.paths[0].path: Invalid value: "a": must be an absolute path'],
    ),
    "no path that the controller reads": (
        {"rules": [_path(path="", pathType="ImplementationSpecific")]},
        [],
    ),
    "a path with steps": (
        {"rules": [_path(path="/a//b/../c%2f/.")]},
        [
            'spec.rules[0].http.paths[0].path: Invalid value: "/a//b/../c%2f/.": must '
            "not contain '//'",
            'spec.rules[0].http.paths[0].path: Invalid value: "/a//b/../c%2f/.": must '
            "not contain '/../'",
            'spec.rules[0].http.paths[0].path: Invalid value: "/a//b/../c%2f/.": must '
            "not contain '%2f'",
            'spec.rules[0].http.paths[0].path: Invalid value: "/a//b/../c%2f/.": cannot '
            "end with '/.'",
        ],
    ),
    "an empty backend": (
        {"defaultBackend": {}},
        ['spec.defaultBackend: Invalid value: "": resource or service backend is required'],
    ),
    "two backends": (
        {"defaultBackend": _backend() | {"resource": {"kind": "k", "name": "n"}}},
        ['spec.defaultBackend: Invalid value: "": cannot set both resource and service backends'],
    ),
    "a bad resource as backend": (
        {"defaultBackend": {"resource": {"apiGroup": "A", "kind": "", "name": "a/b"}}},
        [
            'spec.defaultBackend.resource.apiGroup: Invalid value: "A": <subdomain>',
            "spec.defaultBackend.resource.kind: Required value",
            "spec.defaultBackend.resource.name: Invalid value: \"a/b\": may not contain '/'",
        ],
    ),
    "a service without a name and port": (
        {"defaultBackend": {"service": {"name": "", "port": {}}}},
        [
            "spec.defaultBackend.service.name: Required value",
            "spec.defaultBackend: Required value: port name or number is required",
        ],
    ),
    "a port by name and number": (
        {"defaultBackend": {"service": {"name": "s", "port": {"name": "p", "number": 1}}}},
        ['spec.defaultBackend: Invalid value: "": cannot set both port name & port number'],
    ),
    "a port by name": (
        {"defaultBackend": {"service": {"name": "s", "port": {"name": "P"}}}},
        [
            'spec.defaultBackend.service.port.name: Invalid value: "P": must contain '
            "only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
            'spec.defaultBackend.service.port.name: Invalid value: "P": must contain at '
            "least one letter (a-z)",
        ],
    ),
    "a bad port": (
        {"defaultBackend": _backend(number=70000)},
        [
            "spec.defaultBackend.service.port.number: Invalid value: 70000: must be "
            "between 1 and 65535, inclusive"
        ],
    ),
    "a bad name of a service": (
        {"defaultBackend": _backend("S_")},
        ['spec.defaultBackend.service.name: Invalid value: "S_": <label>'],
    ),
    "bad certificates and class": (
        {
            "defaultBackend": _backend(),
            "tls": [{"hosts": ["a", "*.B"], "secretName": "C"}],
            "ingressClassName": "D",
        },
        [
            'spec.tls[0].hosts[1]: Invalid value: "*.B": <wildcard subdomain>',
            'spec.tls[0].secretName: Invalid value: "C": <subdomain>',
            'spec.ingressClassName: Invalid value: "D": <subdomain>',
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), INGRESSES.values(), ids=INGRESSES)
def test_ingresses(spec: Object, expected: list[str]) -> None:
    assert refused(V1, "Ingress", spec=spec) == expected


def _parameters(**more: Any) -> Object:
    return {"controller": "a.io/c", "parameters": {"kind": "k", "name": "n", **more}}


CLASSES: dict[str, tuple[Object, list[str]]] = {
    "a class": (_parameters(scope="Namespace", namespace="n"), []),
    "no controller": ({}, ["spec.controller: Required value"]),
    "a long controller": (
        {"controller": "a.io/" + "c" * 250},
        ["spec.controller: Too long: may not be more than 250 bytes"],
    ),
    "an unknown scope": (
        _parameters(scope="World"),
        [
            'spec.parameters.scope: Unsupported value: "World": supported values: '
            '"Cluster", "Namespace"'
        ],
    ),
    "parameters of the cluster in a namespace": (
        _parameters(scope="Cluster", namespace="n"),
        ["spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
    ),
    "parameters of no namespace": (
        _parameters(scope="Namespace"),
        ["spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"],
    ),
    "a bad namespace": (
        _parameters(scope="Namespace", namespace="N"),
        ['spec.parameters.namespace: Invalid value: "N": <label>'],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), CLASSES.values(), ids=CLASSES)
def test_ingress_classes(spec: Object, expected: list[str]) -> None:
    assert refused(V1, "IngressClass", spec=spec) == expected


def _from(**peer: Any) -> Object:
    return {"podSelector": {}, "ingress": [{"from": [peer]}]}


def _port(**port: Any) -> Object:
    return {"podSelector": {}, "egress": [{"ports": [port]}]}


POLICIES: dict[str, tuple[Object, list[str]]] = {
    "a policy": (_from(ipBlock={"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}), []),
    "a bad selector": (
        {"podSelector": {"matchLabels": {"a b": ""}}},
        ['spec.podSelector.matchLabels: Invalid value: "a b": <qualified name>'],
    ),
    "no peer": (_from(), ["spec.ingress[0].from[0]: Required value: must specify a peer"]),
    "a bad peer": (
        _from(namespaceSelector={"matchLabels": {"a b": ""}}),
        [
            'spec.ingress[0].from[0].namespaceSelector.matchLabels: Invalid value: "a '
            'b": <qualified name>'
        ],
    ),
    "two kinds of peers": (
        _from(podSelector={}, ipBlock={"cidr": "10.0.0.0/8"}),
        ["spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer"],
    ),
    "no range": (
        _from(ipBlock={"cidr": ""}),
        ["spec.ingress[0].from[0].ipBlock.cidr: Required value"],
    ),
    "a bad range": (
        _from(ipBlock={"cidr": "x", "except": ["10.0.0.0/8"]}),
        [
            'spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "x": must be a valid '
            "CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
        ],
    ),
    "exceptions that are none": (
        _from(
            ipBlock={
                "cidr": "10.0.0.0/8",
                "except": ["x", "10.0.0.0/8", "11.0.0.0/16", "fd00::/64", "10.0.0.0"],
            }
        ),
        [
            'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "x": must be a '
            "valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
            'spec.ingress[0].from[0].ipBlock.except[1]: Invalid value: "10.0.0.0/8": '
            "must be a strict subset of `cidr`",
            'spec.ingress[0].from[0].ipBlock.except[2]: Invalid value: "11.0.0.0/16": '
            "must be a strict subset of `cidr`",
            'spec.ingress[0].from[0].ipBlock.except[3]: Invalid value: "fd00::/64": must '
            "be a strict subset of `cidr`",
            'spec.ingress[0].from[0].ipBlock.except[4]: Invalid value: "10.0.0.0": must '
            "be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
        ],
    ),
    "an unknown protocol": (
        _port(protocol="HTTP", port=80),
        [
            'spec.egress[0].ports[0].protocol: Unsupported value: "HTTP": supported '
            'values: "TCP", "UDP", "SCTP"'
        ],
    ),
    "an end of a range without its beginning": (
        _port(endPort=80),
        [
            "spec.egress[0].ports[0].endPort: Invalid value: 80: may not be specified "
            "when `port` is not specified"
        ],
    ),
    "an end of a range that begins with a name": (
        _port(port="web", endPort=80),
        [
            "spec.egress[0].ports[0].endPort: Invalid value: 80: may not be specified "
            "when `port` is non-numeric"
        ],
    ),
    "a range that falls": (
        _port(port=81, endPort=80),
        [
            "spec.egress[0].ports[0].endPort: Invalid value: 80: must be greater than or "
            "equal to `port`"
        ],
    ),
    "a bad range of ports": (
        _port(port=0, endPort=70000),
        [
            "spec.egress[0].ports[0].endPort: Invalid value: 70000: must be between 1 "
            "and 65535, inclusive",
            "spec.egress[0].ports[0].port: Invalid value: 0: must be between 1 and "
            "65535, inclusive",
        ],
    ),
    "an unknown type": (
        {"podSelector": {}, "policyTypes": ["Ingress", "Both"]},
        ['spec.policyTypes[1]: Unsupported value: "Both": supported values: "Ingress", "Egress"'],
    ),
    "three types": (
        {"podSelector": {}, "policyTypes": ["Ingress", "Egress", "Ingress"]},
        [
            'spec.policyTypes: Invalid value: ["Ingress","Egress","Ingress"]: may not '
            "specify more than two policyTypes"
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), POLICIES.values(), ids=POLICIES)
def test_network_policies(spec: Object, expected: list[str]) -> None:
    assert refused(V1, "NetworkPolicy", spec=spec) == expected


ADDRESSES: dict[str, tuple[Object, list[str]]] = {
    "an address": ({"parentRef": {"resource": "services", "name": "s", "namespace": "n"}}, []),
    "no parent": ({}, ["spec.parentRef: Required value"]),
    "a bad parent": (
        {"parentRef": {"group": "A", "resource": "", "name": "a/b", "namespace": "c%"}},
        [
            'spec.parentRef.group: Invalid value: "A": <subdomain>',
            "spec.parentRef.resource: Required value",
            "spec.parentRef.name: Invalid value: \"a/b\": may not contain '/'",
            "spec.parentRef.namespace: Invalid value: \"c%\": may not contain '%'",
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), ADDRESSES.values(), ids=ADDRESSES)
def test_addresses(spec: Object, expected: list[str]) -> None:
    assert refused(V1, "IPAddress", metadata={"name": "10.0.0.1"}, spec=spec) == expected


RANGES: dict[str, tuple[list[str], list[str]]] = {
    "a range of each family": (["10.0.0.0/8", "fd00::/64"], []),
    "no range": ([], ["spec.cidrs: Required value: at least one CIDR required"]),
    "three ranges": (
        ["10.0.0.0/8", "fd00::/64", "fd01::/64"],
        [
            "spec.cidrs: Invalid value: "
            '{"cidrs":["10.0.0.0/8","fd00::/64","fd01::/64"]}: may only hold up to 2 '
            "values"
        ],
    ),
    "two of one family": (
        ["10.0.0.0/8", "11.0.0.0/8"],
        [
            'spec.cidrs: Invalid value: ["10.0.0.0/8","11.0.0.0/8"]: may specify no more '
            "than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        ],
    ),
    "a bad one": (
        ["x", "10.0.0.0/8"],
        [
            'spec.cidrs[0]: Invalid value: "x": must be a valid CIDR value, (e.g. '
            "10.9.8.0/24 or 2001:db8::/64)"
        ],
    ),
}


@pytest.mark.parametrize(("cidrs", "expected"), RANGES.values(), ids=RANGES)
def test_ranges_of_services(cidrs: list[str], expected: list[str]) -> None:
    assert refused(V1, "ServiceCIDR", spec={"cidrs": cidrs}) == expected


_SERVICE = {"resource": "services", "name": "s"}
CHANGES: dict[str, tuple[str, Object, Object, list[str]]] = {
    "a controller stays": (
        "IngressClass",
        {"controller": "a.io/c"},
        {"controller": "a.io/d"},
        ['spec.controller: Invalid value: "a.io/d": field is immutable'],
    ),
    "a parent stays": (
        "IPAddress",
        {"parentRef": _SERVICE},
        {"parentRef": {"name": "t"}},
        ["spec.parentRef: Invalid value: null: field is immutable"],
    ),
    "a range stays": (
        "ServiceCIDR",
        {"cidrs": ["10.0.0.0/8"]},
        {"cidrs": ["11.0.0.0/8"]},
        ['spec.cidrs[0]: Invalid value: "11.0.0.0/8": field is immutable'],
    ),
    "a range of the other family is added": (
        "ServiceCIDR",
        {"cidrs": ["10.0.0.0/8"]},
        {"cidrs": ["10.0.0.0/8", "fd00::/64"]},
        [],
    ),
    "a range is added and the first one changes": (
        "ServiceCIDR",
        {"cidrs": ["10.0.0.0/8"]},
        {"cidrs": ["11.0.0.0/8", "fd00::/64"]},
        ['spec.cidrs[0]: Invalid value: "11.0.0.0/8": field is immutable'],
    ),
    "a range is not removed": (
        "ServiceCIDR",
        {"cidrs": ["10.0.0.0/8", "fd00::/64"]},
        {"cidrs": ["10.0.0.0/8"]},
        ['spec.cidrs: Invalid value: ["10.0.0.0/8"]: field is immutable'],
    ),
}


@pytest.mark.parametrize(("kind", "spec", "change", "expected"), CHANGES.values(), ids=CHANGES)
def test_changes(kind: str, spec: Object, change: Object, expected: list[str]) -> None:
    assert update_refusals(made(V1, kind, spec=spec), {"spec": change}) == expected


def test_the_name_of_an_address_is_an_address() -> None:
    (problem,) = refused(V1, "IPAddress", spec={"parentRef": _SERVICE})
    assert problem.startswith('metadata.name: Invalid value: "x": must be a valid IP address')


SLICES: dict[str, tuple[Object, list[str]]] = {
    "a slice": (
        {
            "addressType": "IPv4",
            "ports": [{"name": "a", "port": 80}],
            "endpoints": [{"addresses": ["10.0.0.1"]}],
        },
        [],
    ),
    "no type": ({"addressType": ""}, ["addressType: Required value"]),
    "an unknown type": (
        {"addressType": "MAC", "endpoints": [{"addresses": ["x"]}]},
        ['addressType: Unsupported value: "MAC": supported values: "FQDN", "IPv4", "IPv6"'],
    ),
    "bad ports": (
        {
            "addressType": "IPv4",
            "ports": [{"name": "A", "protocol": "HTTP", "appProtocol": "a b"}, {}, {}],
        },
        [
            'ports[0].name: Invalid value: "A": <label>',
            'ports[0].protocol: Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"',
            'ports[0].appProtocol: Invalid value: "a b": <qualified name>',
            'ports[2].name: Duplicate value: ""',
        ],
    ),
    "no addresses": (
        {"addressType": "IPv4", "endpoints": [{"addresses": []}]},
        ["endpoints[0].addresses: Required value"],
    ),
    "addresses of another family": (
        {"addressType": "IPv6", "endpoints": [{"addresses": ["10.0.0.1", "x"]}]},
        [
            'endpoints[0].addresses: Invalid value: "10.0.0.1": must be an IPv6 address',
            'endpoints[0].addresses[1]: Invalid value: "x": must be a valid IP address, '
            "(e.g. 10.9.8.7 or 2001:db8::ffff)",
        ],
    ),
    "bad names": (
        {
            "addressType": "FQDN",
            "endpoints": [
                {"addresses": ["A"], "nodeName": "B", "hostname": "C"},
                {"addresses": ["", "a", "a.b.", "x" * 64 + ".b"]},
            ],
        },
        [
            'endpoints[0].addresses[0]: Invalid value: "A": <subdomain>',
            'endpoints[0].nodeName: Invalid value: "B": <subdomain>',
            'endpoints[0].hostname: Invalid value: "C": <label>',
            "endpoints[1].addresses[0]: Required value",
            'endpoints[1].addresses[1]: Invalid value: "a": should be a domain with at '
            "least two segments separated by dots",
            'endpoints[1].addresses[3]: Invalid value: "x…": must be no more than 63 characters',
        ],
    ),
    "bad hints": (
        {
            "addressType": "FQDN",
            "endpoints": [
                {
                    "addresses": ["a.b"],
                    "hints": {
                        "forZones": [{"name": "z"}, {"name": "z"}, {"name": "a b"}],
                        "forNodes": [{"name": "N"}],
                    },
                }
            ],
        },
        [
            'endpoints[0].hints.forZones[1].name: Duplicate value: "z"',
            'endpoints[0].hints.forZones[2].name: Invalid value: "a b": <label value>',
            'endpoints[0].hints.forNodes[0].name: Invalid value: "N": <subdomain>',
        ],
    ),
}


@pytest.mark.parametrize(("fields", "expected"), SLICES.values(), ids=SLICES)
def test_endpoint_slices(fields: Object, expected: list[str]) -> None:
    assert refused("discovery.k8s.io/v1", "EndpointSlice", **fields) == expected


def test_the_type_of_a_slice_stays() -> None:
    old = made("discovery.k8s.io/v1", "EndpointSlice", addressType="IPv4", endpoints=[])
    assert update_refusals(old, {"addressType": "IPv6"}) == [
        "addressType: Invalid value: null: field is immutable"
    ]
