from __future__ import annotations

import base64

import pytest

from tests.apiserver.validation.objects import (
    Object,
    made,
    refused,
    template,
    update_refusals,
)


def _data(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


MAPS: dict[str, tuple[Object, list[str]]] = {
    "a config map": ({"data": {"a": "b"}, "binaryData": {"c": "YQ=="}}, []),
    "bad keys": (
        {"data": {"a b": ""}, "binaryData": {"..": "YQ=="}},
        [
            'data[a b]: Invalid value: "a b": <config key>',
            "binaryData[..]: Invalid value: \"..\": must not be '..'",
        ],
    ),
    "a key of both": (
        {"data": {"a": ""}, "binaryData": {"a": "YQ=="}},
        ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
    ),
    "more than a mebibyte": (
        {"data": {"a": "x" * 2**20}, "binaryData": {"b": _data("y" * 3)}},
        ["[]: Too long: may not be more than 1048576 bytes"],
    ),
}


@pytest.mark.parametrize(("fields", "expected"), MAPS.values(), ids=MAPS)
def test_config_maps(fields: Object, expected: list[str]) -> None:
    assert refused("v1", "ConfigMap", **fields) == expected


FROZEN: dict[str, tuple[Object, list[str]]] = {
    "labels may change": ({"metadata": {"labels": {"a": "b"}}}, []),
    "data stays": (
        {"data": {"a": "c"}},
        ["data: Forbidden: field is immutable when `immutable` is set"],
    ),
    "binary data stays": (
        {"binaryData": {"b": "YQ=="}},
        ["binaryData: Forbidden: field is immutable when `immutable` is set"],
    ),
    "it stays immutable": (
        {"immutable": False},
        ["immutable: Forbidden: field is immutable when `immutable` is set"],
    ),
}


@pytest.mark.parametrize(("change", "expected"), FROZEN.values(), ids=FROZEN)
def test_immutable_config_maps(change: Object, expected: list[str]) -> None:
    old = made("v1", "ConfigMap", data={"a": "b"}, immutable=True)
    assert update_refusals(old, change) == expected


def test_other_config_maps_change() -> None:
    old = made("v1", "ConfigMap", data={"a": "b"})
    assert update_refusals(old, {"data": {"a": "c"}, "immutable": True}) == []
    assert update_refusals(old, {"data": {"a b": "c"}}) != []


_ACCOUNT = {"kubernetes.io/service-account.name": "default"}
SECRETS: dict[str, tuple[Object, list[str]]] = {
    "an opaque secret": ({"data": {"a": "YQ=="}}, []),
    "a bad key": ({"data": {"a b": "YQ=="}}, ['data[a b]: Invalid value: "a b": <config key>']),
    "more than a mebibyte": (
        {"data": {"a": _data("x" * (2**20 + 3))}},
        ["data: Too long: may not be more than 1048576 bytes"],
    ),
    "a token without an account": (
        {"type": "kubernetes.io/service-account-token"},
        ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
    ),
    "a token of an account": (
        {"type": "kubernetes.io/service-account-token", "metadata": {"annotations": _ACCOUNT}},
        [],
    ),
    "no user and no password": (
        {"type": "kubernetes.io/basic-auth"},
        [
            "data[username]: Required value",
            "data[password]: Required value",
        ],
    ),
    "a user without a password": (
        {"type": "kubernetes.io/basic-auth", "data": {"username": "YQ=="}},
        [],
    ),
    "no key of SSH": ({"type": "kubernetes.io/ssh-auth"}, ["data[ssh-privatekey]: Required value"]),
    "a certificate without a key": (
        {"type": "kubernetes.io/tls", "data": {"tls.crt": "YQ=="}},
        ["data[tls.key]: Required value"],
    ),
    "no access to a registry": (
        {"type": "kubernetes.io/dockercfg"},
        ["data[.dockercfg]: Required value"],
    ),
    "access to a registry that is not JSON": (
        {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": _data("x")}},
        [
            'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": '
            "invalid character 'x' looking for beginning of value"
        ],
    ),
    "empty access to a registry": (
        {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": ""}},
        [
            'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": '
            "unexpected end of JSON input"
        ],
    ),
    "access to a registry": (
        {"type": "kubernetes.io/dockercfg", "data": {".dockercfg": _data("{}")}},
        [],
    ),
}


@pytest.mark.parametrize(("fields", "expected"), SECRETS.values(), ids=SECRETS)
def test_secrets(fields: Object, expected: list[str]) -> None:
    assert refused("v1", "Secret", **fields) == expected


def test_the_type_of_a_secret_and_the_data_of_an_immutable_one_stay() -> None:
    old = made("v1", "Secret", data={"a": "YQ=="})
    assert update_refusals(old, {"data": {"a": "Yg=="}}) == []
    assert update_refusals(old, {"type": "mine"}) == [
        'type: Invalid value: "mine": field is immutable'
    ]
    old = made("v1", "Secret", data={"a": "YQ=="}, immutable=True)
    assert update_refusals(old, {"data": {"a": "Yg=="}}) == [
        "data: Forbidden: field is immutable when `immutable` is set"
    ]


def test_namespaces() -> None:
    assert refused("v1", "Namespace", metadata={"name": "a.b"}) == [
        'metadata.name: Invalid value: "a.b": must not contain dots'
    ]
    assert refused(
        "v1", "Namespace", spec={"finalizers": ["kubernetes", "a/b", "mine", "c d"]}
    ) == [
        'spec.finalizers: Invalid value: "mine": name is neither a standard '
        "finalizer name nor is it fully qualified",
        'spec.finalizers: Invalid value: "c d": <qualified name>',
        'spec.finalizers: Invalid value: "c d": name is neither a standard finalizer '
        "name nor is it fully qualified",
    ]


def test_finalizers_of_a_namespace_change_through_their_subresource() -> None:
    old = made("v1", "Namespace")
    change = {"spec": {"finalizers": ["kubernetes", "a/b", "mine"]}}
    assert update_refusals(old, change, "finalize") == [
        'spec.finalizers[2]: Invalid value: "mine": name is neither a standard '
        "finalizer name nor is it fully qualified"
    ]
    assert update_refusals(old, change) == []


PHASES: dict[str, tuple[Object, str, list[str]]] = {
    "active": ({}, "Active", []),
    "terminating": ({"deletionTimestamp": "t"}, "Terminating", []),
    "terminating although it stays": (
        {},
        "Terminating",
        [
            "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if "
            "`deletionTimestamp` is empty"
        ],
    ),
    "active although it goes": (
        {"deletionTimestamp": "t"},
        "Active",
        [
            "status.Phase: Invalid value: \"Active\": may only be 'Terminating' if "
            "`deletionTimestamp` is not empty"
        ],
    ),
}


@pytest.mark.parametrize(("metadata", "phase", "expected"), PHASES.values(), ids=PHASES)
def test_phases_of_namespaces(metadata: Object, phase: str, expected: list[str]) -> None:
    old = made("v1", "Namespace")
    old["metadata"] |= metadata
    assert update_refusals(old, {"status": {"phase": phase}}, "status") == expected


CONTROLLERS: dict[str, tuple[Object, list[str]]] = {
    "a selector that matches": ({"selector": {"a": "b"}, "template": template()}, []),
    "the selector of the template by default": ({"template": template()}, []),
    "a selector that does not match": (
        {"selector": {"a": "c"}, "template": template()},
        [
            'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does '
            "not match template `labels`"
        ],
    ),
    "no selector and no template": (
        {"replicas": -1, "minReadySeconds": -1},
        [
            "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
            "spec.selector: Required value",
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
            "spec.template: Required value",
        ],
    ),
    "pods that end": (
        {"template": template(restartPolicy="Never", activeDeadlineSeconds=5)},
        [
            'spec.template.spec.restartPolicy: Unsupported value: "Never": supported '
            'values: "Always"',
            "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds "
            "in ReplicationController is not Supported",
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), CONTROLLERS.values(), ids=CONTROLLERS)
def test_replication_controllers(spec: Object, expected: list[str]) -> None:
    assert refused("v1", "ReplicationController", spec=spec) == expected


ENDPOINTS: dict[str, tuple[Object, list[str]]] = {
    "an address and a port": (
        {"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]},
        [],
    ),
    "no addresses": (
        {"ports": [{"port": 80}]},
        ["subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"],
    ),
    "bad addresses": (
        {
            "addresses": [{"ip": "x"}],
            "notReadyAddresses": [{"ip": "10.0.0.1", "hostname": "A", "nodeName": "B"}],
        },
        [
            'subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address, '
            "(e.g. 10.9.8.7 or 2001:db8::ffff)",
            'subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address',
            'subsets[0].notReadyAddresses[0].hostname: Invalid value: "A": <label>',
            'subsets[0].notReadyAddresses[0].nodeName: Invalid value: "B": <subdomain>',
        ],
    ),
    "bad ports": (
        {
            "addresses": [{"ip": "10.0.0.1"}],
            "ports": [
                {"port": 0},
                {"port": 80, "name": "A", "protocol": "HTTP", "appProtocol": "a b"},
            ],
        },
        [
            "subsets[0].ports[0].name: Required value",
            "subsets[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
            'subsets[0].ports[1].name: Invalid value: "A": <label>',
            'subsets[0].ports[1].protocol: Unsupported value: "HTTP": supported values: '
            '"SCTP", "TCP", "UDP"',
            'subsets[0].ports[1].appProtocol: Invalid value: "a b": <qualified name>',
        ],
    ),
}


@pytest.mark.parametrize(("subset", "expected"), ENDPOINTS.values(), ids=ENDPOINTS)
def test_endpoints(subset: Object, expected: list[str]) -> None:
    assert refused("v1", "Endpoints", subsets=[subset]) == expected
