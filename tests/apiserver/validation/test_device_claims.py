from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.validation.device_claims import (
    check_configuration,
    driver_name,
    qualified_name,
)
from tests.apiserver.validation.objects import Object, made, refused, texts, update_refusals

V1 = "resource.k8s.io/v1"


def _claim(**exactly: Any) -> Object:
    return {"requests": [{"name": "r", "exactly": {"deviceClassName": "c", **exactly}}]}


def _config(**opaque: Any) -> Object:
    return _claim() | {"config": [{"opaque": {"driver": "d.io", "parameters": {}} | opaque}]}


_EACH = {"deviceClassName": "c", "name": "a"}
CLAIMS: dict[str, tuple[Object, list[str]]] = {
    "a claim": (_claim(), []),
    "no class": (
        _claim(deviceClassName=""),
        ["spec.devices.requests[0].exactly.deviceClassName: Required value"],
    ),
    "a bad class": (
        _claim(deviceClassName="C"),
        ['spec.devices.requests[0].exactly.deviceClassName: Invalid value: "C": <subdomain>'],
    ),
    "an unknown mode": (
        _claim(allocationMode="Some"),
        [
            'spec.devices.requests[0].exactly.allocationMode: Unsupported value: "Some": '
            'supported values: "All", "ExactCount"'
        ],
    ),
    "fewer than no devices": (
        _claim(count=-1),
        ["spec.devices.requests[0].exactly.count: Invalid value: -1: must be greater than zero"],
    ),
    "a number of all devices": (
        _claim(allocationMode="All", count=1),
        [
            "spec.devices.requests[0].exactly.count: Invalid value: 1: must not be "
            "specified when allocationMode is 'All'"
        ],
    ),
    "neither kind of request": (
        {"requests": [{"name": "R"}]},
        [
            'spec.devices.requests[0].name: Invalid value: "R": <label>',
            "spec.devices.requests[0]: Required value: exactly one of `exactly` or "
            "`firstAvailable` is required",
        ],
    ),
    "both kinds of requests": (
        {
            "requests": [
                {"name": "r", "exactly": {"deviceClassName": "c"}, "firstAvailable": [_EACH]}
            ]
        },
        [
            "spec.devices.requests[0]: Invalid value: null: exactly one of `exactly` or "
            "`firstAvailable` is required, but multiple fields are set"
        ],
    ),
    "requests of one name": (
        {"requests": _claim()["requests"] * 2},
        [
            "spec.devices.requests[1]: Duplicate value: "
            '{"name":"r","exactly":{"deviceClassName":"c","allocationMode":"ExactCount","count":1}}'
        ],
    ),
    "alternatives of one name, with a bad name": (
        {"requests": [{"name": "r", "firstAvailable": [_EACH, _EACH, _EACH | {"name": "B"}]}]},
        [
            "spec.devices.requests[0].firstAvailable[1]: Duplicate value: "
            '{"deviceClassName":"c","name":"a","allocationMode":"ExactCount","count":1}',
            'spec.devices.requests[0].firstAvailable[2].name: Invalid value: "B": <label>',
        ],
    ),
    "too many requests": (
        {"requests": [{"name": f"r{i}", "exactly": {"deviceClassName": "c"}} for i in range(33)]},
        ["spec.devices.requests: Too many: 33: must have at most 32 items"],
    ),
    "bad tolerations": (
        _claim(
            tolerations=[
                {"key": "a b", "operator": "Exists", "value": "v", "effect": "Evict"},
                {"operator": "Equal", "value": "c d"},
                {"operator": "Is"},
            ]
        ),
        [
            'spec.devices.requests[0].exactly.tolerations[0].key: Invalid value: "a b": '
            "<qualified name>",
            'spec.devices.requests[0].exactly.tolerations[0].value: Invalid value: "v": '
            "must be empty for operator `Exists`",
            "spec.devices.requests[0].exactly.tolerations[0].effect: Unsupported value: "
            '"Evict": supported values: "NoExecute", "NoSchedule", "None"',
            'spec.devices.requests[0].exactly.tolerations[1].value: Invalid value: "c '
            'd": <label value>',
            "spec.devices.requests[0].exactly.tolerations[2].operator: Unsupported "
            'value: "Is": supported values: "Equal", "Exists"',
        ],
    ),
    "no expression": (
        _claim(selectors=[{}]),
        ["spec.devices.requests[0].exactly.selectors[0].cel: Required value"],
    ),
    "too many selectors": (
        _claim(selectors=[{"cel": {"expression": "true"}}] * 33),
        ["spec.devices.requests[0].exactly.selectors: Too many: 33: must have at most 32 items"],
    ),
    "a constraint": (
        _claim() | {"constraints": [{"requests": ["r"], "matchAttribute": "a.io/model"}]},
        [],
    ),
    "a constraint of an alternative": (
        {
            "requests": [{"name": "r", "firstAvailable": [_EACH]}],
            "constraints": [{"requests": ["r/a"], "distinctAttribute": "a.io/model"}],
        },
        [],
    ),
    "a constraint of nothing": (
        _claim() | {"constraints": [{}]},
        [
            "spec.devices.constraints[0]: Required value: exactly one of "
            '"matchAttribute" or "distinctAttribute" is required, but multiple fields '
            "are set"
        ],
    ),
    "a constraint without a domain": (
        _claim() | {"constraints": [{"matchAttribute": "a"}]},
        [
            'spec.devices.constraints[0].matchAttribute: Invalid value: "a": a fully '
            "qualified name must be a domain and a name separated by a slash"
        ],
    ),
    "constraints of requests that do not exist": (
        _claim()
        | {"constraints": [{"requests": ["r", "r", "x", "a/b/c"], "matchAttribute": "a.io/m"}]},
        [
            'spec.devices.constraints[0].requests[1]: Duplicate value: "r"',
            'spec.devices.constraints[0].requests[2]: Invalid value: "x": must be the '
            "name of a request in the claim or the name of a request and a subrequest "
            "separated by '/'",
            'spec.devices.constraints[0].requests[3]: Invalid value: "a/b/c": must be '
            "the name of a request in the claim or the name of a request and a "
            "subrequest separated by '/'",
            'spec.devices.constraints[0].requests[3]: Invalid value: "a/b/c": must be '
            "the name of a request in the claim or the name of a request and a "
            "subrequest separated by '/'",
        ],
    ),
    "configuration": (_config(), []),
    "no configuration": (
        _claim() | {"config": [{}]},
        ["spec.devices.config[0].opaque: Required value"],
    ),
    "no driver and no parameters": (
        _config(driver="", parameters=None),
        [
            "spec.devices.config[0].opaque.driver: Required value",
            "spec.devices.config[0].opaque.parameters: Required value",
        ],
    ),
    "parameters that are no object": (
        _config(parameters=[1]),
        [
            'spec.devices.config[0].opaque.parameters: Invalid value: "<value omitted>": '
            "must be a valid JSON object"
        ],
    ),
    "long parameters": (
        _config(parameters={"a": "x" * 10240}),
        ["spec.devices.config[0].opaque.parameters: Too long: may not be more than 10240 bytes"],
    ),
}


@pytest.mark.parametrize(("devices", "expected"), CLAIMS.values(), ids=CLAIMS)
def test_claims(devices: Object, expected: list[str]) -> None:
    assert refused(V1, "ResourceClaim", spec={"devices": devices}) == expected


def test_templates() -> None:
    spec = {"metadata": {"name": "n"}, "spec": {"devices": _claim(deviceClassName="")}}
    assert refused(V1, "ResourceClaimTemplate", spec=spec) == [
        "spec.metadata.name: Forbidden: cannot be set",
        "spec.spec.devices.requests[0].exactly.deviceClassName: Required value",
    ]


def test_claims_and_templates_stay() -> None:
    claim = made(V1, "ResourceClaim", spec={"devices": _claim()})
    (problem,) = update_refusals(claim, {"spec": {"devices": {"requests": []}}})
    assert problem == "spec: Invalid value: null: field is immutable"
    template = made(V1, "ResourceClaimTemplate", spec={"spec": {"devices": _claim()}})
    assert update_refusals(template, {"metadata": {"labels": {"a": "b"}}}) == []
    assert update_refusals(template, {"spec": {"metadata": {"labels": {"a": "b"}}}}) != []


CLASSES: dict[str, tuple[Object, list[str]]] = {
    "a class": (
        {
            "selectors": [{"cel": {"expression": "device.driver == 'd'"}}],
            "extendedResourceName": "a.io/gpu",
        },
        [],
    ),
    "a bad class": (
        {"selectors": [{}], "config": [{}], "extendedResourceName": "cpu"},
        [
            "spec.selectors[0].cel: Required value",
            "spec.config[0].opaque: Required value",
            'spec.extendedResourceName: Invalid value: "cpu": a name must be a domain-prefixed '
            "path, such as 'example.com/my-prop'",
        ],
    ),
    "a resource of Kubernetes": (
        {"extendedResourceName": "requests.kubernetes.io/cpu"},
        [
            'spec.extendedResourceName: Invalid value: "requests.kubernetes.io/cpu": must not '
            'have "kubernetes.io/" domain',
            'spec.extendedResourceName: Invalid value: "requests.kubernetes.io/cpu": must not '
            'have "requests." prefix',
        ],
    ),
    "a resource that cannot have a quota": (
        {"extendedResourceName": f"a.io/{'x' * 64}"},
        [
            'spec.extendedResourceName: Invalid value: "a.io/x…": name part must be no more than '
            "63 bytes"
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), CLASSES.values(), ids=CLASSES)
def test_classes(spec: Object, expected: list[str]) -> None:
    assert refused(V1, "DeviceClass", spec=spec) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.io/model", []),
        ("/model", ['f: Invalid value: "": prefix must not be empty']),
        ("a.io/", ['f: Invalid value: "": name must not be empty']),
        ("A/b", ['f: Invalid value: "A": prefix: <subdomain>']),
        (f"{'a' * 64}/b", ["f: Too long: may not be more than 63 bytes"]),
    ],
)
def test_names_whose_rule_is_declared(name: str, expected: list[str]) -> None:
    assert texts(qualified_name(name, "f", declared=True)) == expected


def test_the_driver_of_a_configuration_may_have_upper_case() -> None:
    config = {"opaque": {"driver": "Example.com", "parameters": {}}}
    assert texts(check_configuration(config, "f")) == []
    config["opaque"]["driver"] = "Bad_Name"
    (problem,) = texts(check_configuration(config, "f"))
    assert problem.startswith(
        'f.opaque.driver: Invalid value: "Bad_Name": an RFC 1123 subdomain must consist of '
        "alphanumeric characters, '-' or '.'"
    )


NAMES: dict[str, tuple[str, list[str]]] = {
    "a name": ("model", []),
    "a name of a domain": ("a.io/model", []),
    "no domain": ("/model", ['f: Invalid value: "": the domain must not be empty']),
    "no name": ("a.io/", ['f: Invalid value: "": the name must not be empty']),
    "a bad domain and a bad name": (
        "A/b-c",
        [
            'f: Invalid value: "A": <subdomain>',
            'f: Invalid value: "b-c": a valid C identifier must start with alphabetic '
            "character or '_', followed by a string of alphanumeric characters or '_' "
            "(e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
            "'[A-Za-z_][A-Za-z0-9_]*')",
        ],
    ),
    "a long name": ("m" * 33, ["f: Too long: may not be more than 32 bytes"]),
    "three parts are left to others": ("a/b/c", []),
}


@pytest.mark.parametrize(("name", "expected"), NAMES.values(), ids=NAMES)
def test_names_of_attributes(name: str, expected: list[str]) -> None:
    assert texts(qualified_name(name, "f")) == expected


def test_names_of_drivers() -> None:
    assert driver_name("d.io", "f") == []
    assert texts(driver_name("", "f")) == ["f: Required value"]
    assert texts(driver_name("D" * 64, "f")) == [
        "f: Too long: may not be more than 63 bytes",
        'f: Invalid value: "D…": <subdomain>',
    ]
