"""Derived attributes of claims, as kube-apiserver 1.37.1 checks them with the gate on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.validation.objects import Object, refused

WHERE = "spec.devices.requests[0].exactly.derivedAttributes"
A = {"name": "x.io/a", "expression": "device.driver"}
NOT_REFERENCED = (
    "must be referenced by at least one matchAttribute or distinctAttribute constraint targeting "
    "this request"
)
SCALAR = "must evaluate to a primitive scalar (string, integer, boolean, semver), not"
UNQUALIFIED = "a fully qualified name must be a domain and a name separated by a slash"
TOTAL = (
    "spec.devices: Forbidden: too complex, total cost of derived attribute CEL expressions in the "
    "claim exceeds cost limit"
)
#: An expression that costs almost a third of the limit for a claim.
COSTLY = (
    'device.attributes["d.io"].exists(k, device.attributes["e.io"].exists(j, '
    'device.attributes["f.io"].exists(l, k.matches("a+b+"))))'
)
TOO_COSTLY = (
    'device.attributes["d.io"].exists(k, device.attributes["e.io"].exists(j, '
    'device.attributes["f.io"].exists(l, device.attributes["g.io"].exists(m, '
    'k.matches("a+b+")))))'
)


def _claim(*derived: Object, constraints: Any = None) -> Object:
    exactly = {"deviceClassName": "c", "derivedAttributes": list(derived)}
    if constraints is None:
        constraints = [{"matchAttribute": "x.io/a"}]
    return {"requests": [{"name": "r", "exactly": exactly}], "constraints": constraints}


def _numbered(count: int, expression: str, compared: int) -> Object:
    return _claim(
        *({"name": f"x.io/a{i}", "expression": expression} for i in range(count)),
        constraints=[{"matchAttribute": f"x.io/a{i}"} for i in range(compared)],
    )


def _alternative(**constraint: Any) -> Object:
    part = {"name": "s", "deviceClassName": "c", "derivedAttributes": [A]}
    return {"requests": [{"name": "r", "firstAvailable": [part]}], "constraints": [constraint]}


def _expression(text: str) -> Object:
    return _claim({"name": "x.io/a", "expression": text})


CLAIMS: dict[str, tuple[Object, list[str]]] = {
    "a derived attribute": (_claim(A), []),
    "one that a constraint of the request compares": (
        _claim(A, constraints=[{"distinctAttribute": "x.io/a", "requests": ["r"]}]),
        [],
    ),
    "one of an alternative": (_alternative(matchAttribute="x.io/a"), []),
    "one that a constraint of all alternatives compares": (
        _alternative(matchAttribute="x.io/a", requests=["r"]),
        [],
    ),
    "one that a constraint of its alternative compares": (
        _alternative(distinctAttribute="x.io/a", requests=["r/s"]),
        [],
    ),
    "one that no constraint compares": (
        _claim({**A, "name": "x.io/b"}),
        [f'{WHERE}[0].name: Invalid value: "x.io/b": {NOT_REFERENCED}'],
    ),
    "nothing": (
        _claim({}),
        [f"{WHERE}[0].name: Required value", f"{WHERE}[0].expression: Required value"],
    ),
    "a name without a domain": (
        _claim({**A, "name": "a"}, constraints=[{"matchAttribute": "a"}]),
        [
            f'{WHERE}[0].name: Invalid value: "a": {UNQUALIFIED}',
            f'spec.devices.constraints[0].matchAttribute: Invalid value: "a": {UNQUALIFIED}',
        ],
    ),
    "the same name twice": (_claim(A, A), [f'{WHERE}[1]: Duplicate value: "x.io/a"']),
    "too many": (
        _numbered(33, "1", 32),
        [
            f'{WHERE}[32].name: Invalid value: "x.io/a32": {NOT_REFERENCED}',
            f"{WHERE}: Too many: 33: must have at most 32 items",
        ],
    ),
    "a value of another type": (
        _expression("1.5"),
        [f'{WHERE}[0].expression: Invalid value: "1.5": {SCALAR} double'],
    ),
    "a list": (
        _expression("[1]"),
        [f'{WHERE}[0].expression: Invalid value: "[1]": {SCALAR} list(int)'],
    ),
    "all attributes": (
        _expression("device.attributes"),
        [
            f'{WHERE}[0].expression: Invalid value: "device.attributes": {SCALAR} '
            "map(string, map(string, google.protobuf.Any))"
        ],
    ),
    "a costly one": (_expression(COSTLY), []),
    "one that costs too much": (
        _expression(TOO_COSTLY),
        [f"{WHERE}[0].expression: Forbidden: too complex, exceeds cost limit", TOTAL],
    ),
    "several that cost too much together": (_numbered(4, COSTLY, 4), [TOTAL]),
}


@pytest.mark.parametrize(("devices", "expected"), CLAIMS.values(), ids=CLAIMS)
def test_derived_attributes(devices: Object, expected: list[str]) -> None:
    assert refused("resource.k8s.io/v1", "ResourceClaim", spec={"devices": devices}) == expected
