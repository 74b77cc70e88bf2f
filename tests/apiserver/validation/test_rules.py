"""The CEL rules of definitions."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.schema.custom_schema import custom_kinds
from mooring.apiserver.validation import rules
from mooring.apiserver.validation.custom_objects import check_custom
from mooring.apiserver.validation.rule_names import escape
from mooring.apiserver.validation.rules import OUT_OF_BUDGET, check_rules

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
            "maxItems": 10,
            "items": {"type": "string", "maxLength": 20},
            "x-kubernetes-validations": [{"rule": "self.all(n, n.startsWith('n-'))"}],
        },
        "sizes": {
            "type": "object",
            "maxProperties": 10,
            "additionalProperties": {"type": "integer"},
            "x-kubernetes-validations": [
                {
                    "rule": "self.all(k, self[k] > 0)",
                    "messageExpression": "'of ' + (size(self) > 1 ? 'many' : 'one')",
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
            "x-kubernetes-validations": [{"rule": "ip(self).family() == 4"}],
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
    return [str(error) for error in check_custom(KIND, new, old)]


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
            ["spec.sizes.[a]: Invalid value: of many"],
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


CUBE = "self.all(a, self.all(b, self.all(c, a + b + c > 0)))"


def _checked(schema: dict[str, Any], value: Any) -> list[str]:
    root = {"type": "object", "properties": {"spec": schema}}
    found = check_rules(root, {"metadata": {"name": "x"}, "spec": value}, None)
    return [str(error) for error in found]


def test_a_rule_that_costs_too_much_ends_the_check() -> None:
    rules = [{"rule": CUBE}, {"rule": "false"}]
    schema = {
        "type": "array",
        "items": {"type": "integer"},
        "x-kubernetes-validations": rules,
    }
    assert _checked(schema, [1] * 100) == [
        "spec: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no "
        f"further validation rules will be run due to call cost exceeds limit for rule: {CUBE}"
    ]


def test_the_rules_of_an_object_have_a_budget_together(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rules.BUDGET == 10_000_000
    monkeypatch.setattr(rules, "BUDGET", 1_000)
    items = {
        "type": "array",
        "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": "self.all(a, a > 0)"}],
    }
    # Each evaluation costs 52.
    schema = {"type": "array", "items": items}
    assert _checked(schema, [[1] * 10] * 19) == []
    assert _checked(schema, [[1] * 10] * 21) == [
        f'spec[19]: Invalid value: "array": {OUT_OF_BUDGET}'
    ]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (
            f"{CUBE} ? 'a' : 'b'",
            "no further validation rules will be run due to call cost exceeds limit for "
            f"messageExpression: \"{CUBE} ? 'a' : 'b'\"",
        ),
        ("'one' + string(self.size())", "one100"),
        ("string(self[1000])", "failed rule: false"),
        ("'two\\nlines'", "failed rule: false"),
        ("'x'.replace('x', 'y'.replace('y', 'z'))", "z"),
    ],
)
def test_a_message_has_a_limit_of_its_own(message: str, text: str) -> None:
    schema = {
        "type": "array",
        "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": "false", "messageExpression": message}],
    }
    [found] = _checked(schema, [1] * 100)
    assert found.removeprefix("spec: Invalid value: ").removeprefix('"array": ') == text


def test_work_that_costs_nothing_has_a_limit_for_all_rules_together() -> None:
    # Each evaluation builds a list of 2^21 elements, in few steps as cel-go counts them.
    binds = "".join(f"[a{i} + a{i}].all(a{i + 1}, " for i in range(21))
    rule = f"[[self]].all(a0, {binds}a21.size() > 0{')' * 22}"
    items = {"type": "integer", "x-kubernetes-validations": [{"rule": rule}]}
    schema = {"type": "array", "items": items}
    assert _checked(schema, [1, 2]) == []
    (found,) = _checked(schema, list(range(50)))
    assert found.endswith(OUT_OF_BUDGET)
