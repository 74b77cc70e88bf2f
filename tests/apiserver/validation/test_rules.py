"""The rules that definitions write in CEL."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.schema.custom_schema import custom_kinds
from mooring.apiserver.validation.custom_objects import check_custom
from mooring.apiserver.validation.rules import escape

SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["min", "max"],
    "x-kubernetes-validations": [
        {"rule": "self.min <= self.max", "message": "min must not exceed max"},
        {"rule": "!has(oldSelf.queue) || has(self.queue)", "message": "queue stays"},
        {"rule": "self.__namespace__ == 'n' || true"},
    ],
    "properties": {
        "min": {"type": "integer"},
        "max": {
            "type": "integer",
            "x-kubernetes-validations": [
                {"rule": "self % 2 == 0", "message": "even", "reason": "FieldValueForbidden"}
            ],
        },
        "queue": {
            "type": "string",
            "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "immutable"}],
        },
        "namespace": {"type": "string"},
        "names": {
            "type": "array",
            "items": {"type": "string"},
            "x-kubernetes-validations": [{"rule": "self.all(n, n.startsWith('n-'))"}],
        },
        "sizes": {
            "type": "object",
            "additionalProperties": {"type": "integer"},
            "x-kubernetes-validations": [
                {
                    "rule": "self.all(k, self[k] > 0)",
                    "messageExpression": "'of ' + string(size(self))",
                    "fieldPath": ".a",
                }
            ],
        },
        "quantity": {
            "x-kubernetes-int-or-string": True,
            "x-kubernetes-validations": [{"rule": "self > 0", "message": "positive"}],
        },
        "strange": {
            "type": "string",
            "x-kubernetes-validations": [{"rule": "self.notAFunctionThatIsThere()"}],
        },
    },
}
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gangs.rules.example.com"},
    "spec": {
        "group": "rules.example.com",
        "scope": "Namespaced",
        "names": {"plural": "gangs", "singular": "gang", "kind": "Gang"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC}}},
            }
        ],
    },
}
KIND = custom_kinds(DEFINITION)[0]


def gang(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "rules.example.com/v1",
        "kind": "Gang",
        "metadata": {"name": "g", "namespace": "default", "resourceVersion": "1"},
        "spec": {"min": 1, "max": 2, **spec},
    }


def said(new: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    return [f"{field}: {message}" for _, field, message in check_custom(KIND, new, old)]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, [], id="an object that keeps all rules"),
        pytest.param(
            {"min": 3}, ["spec: Invalid value: min must not exceed max"], id="a rule of an object"
        ),
        pytest.param({"max": 3}, ["spec.max: Forbidden: even"], id="a rule with a reason"),
        pytest.param({"queue": "a"}, [], id="a transition rule on a new object"),
        pytest.param(
            {"names": ["n-a", "b"]},
            ["spec.names: Invalid value: failed rule: self.all(n, n.startsWith('n-'))"],
            id="a rule without a message",
        ),
        pytest.param(
            {"sizes": {"a": 1, "b": 0}},
            ["spec.sizes.[a]: Invalid value: of 2"],
            id="a message that is computed, for another field",
        ),
        pytest.param(
            {"quantity": "x"},
            [
                "spec.quantity: Invalid value: \"\": 'no such overload': call arguments did not "
                "match a supported operator, function or macro signature for rule: positive"
            ],
            id="a value of a type that the rule does not expect",
        ),
        pytest.param({"strange": "x"}, [], id="a rule that is not understood"),
    ],
)
def test_a_new_object(spec: dict[str, Any], expected: list[str]) -> None:
    assert said(gang(**spec)) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param({"queue": "a"}, {"queue": "a"}, [], id="nothing changes"),
        pytest.param(
            {"queue": "a"},
            {"queue": "b"},
            ['spec.queue: Invalid value: "b": immutable'],
            id="a value that must stay",
        ),
        pytest.param(
            {"queue": "a"}, {}, ["spec: Invalid value: queue stays"], id="a value that is removed"
        ),
        pytest.param(
            {"max": 3}, {"max": 3, "queue": "a"}, [], id="what was wrong and has not changed"
        ),
    ],
)
def test_a_change(old: dict[str, Any], new: dict[str, Any], expected: list[str]) -> None:
    assert said(gang(**new), gang(**old)) == expected


def test_names_are_escaped_as_rules_write_them() -> None:
    assert [escape(name) for name in ("a-b", "x.y/z", "in", "__a")] == [
        "a__dash__b",
        "x__dot__y__slash__z",
        "__in__",
        "__underscores__a",
    ]
