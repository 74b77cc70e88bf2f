"""What the rules of a definition can cost. The messages were compared with Kubernetes v1.36.4."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.validation.rule_costs import CONTRIBUTED, UNCORRELATED, check_rule_costs

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
HINT = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, "
    "maps, and strings are declared)"
)
SQUARE = "self.all(a, self.all(b, a == b || true))"


def _of(spec: Schema, **options: bool) -> list[tuple[str, str]]:
    schema = {"type": "object", "properties": {"spec": spec}}
    found = check_rule_costs(schema, "p", **options)
    return [(one.path.removeprefix("p.properties[spec]."), one.message) for one in found]


def _with(schema: Schema, *rules: str) -> Schema:
    return schema | {"x-kubernetes-validations": [{"rule": rule} for rule in rules]}


def _list(most: int | None = None, longest: int | None = None) -> Schema:
    items = TEXT if longest is None else TEXT | {"maxLength": longest}
    return {"type": "array", "items": items} | ({} if most is None else {"maxItems": most})


def test_a_cheap_rule_is_accepted() -> None:
    assert _of(_with(_list(30, 10), SQUARE)) == []


@pytest.mark.parametrize(
    ("schema", "factor"),
    [
        pytest.param(_list(1500, 10), "2.0x", id="a little"),
        pytest.param(_list(1060, 10), "1.011770x", id="by a hair"),
    ],
)
def test_a_rule_that_is_too_expensive_is_refused(schema: Schema, factor: str) -> None:
    text = f"Forbidden: estimated rule cost exceeds budget by factor of {factor} {HINT}"
    assert _of(_with(schema, SQUARE)) == [("x-kubernetes-validations[0].rule", text)]


def test_a_rule_without_bounds_is_refused_twice() -> None:
    rule = "x-kubernetes-validations[0].rule"
    factor = "exceeds budget by factor of more than 100x"
    total = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
    assert _of(_with(_list(), SQUARE)) == [
        (rule, f"Forbidden: estimated rule cost {factor} {HINT}"),
        (rule, f"Forbidden: {CONTRIBUTED}"),
        ("p", f"Forbidden: {total} {factor} {HINT}"),
    ]


def test_a_rule_that_was_there_before_may_cost_what_it_did() -> None:
    assert _of(_with(_list(1500, 10), SQUARE), unchanged=True) == []


def test_a_rule_inside_a_list_counts_as_often_as_it_can_apply() -> None:
    items = _with(TEXT | {"maxLength": 50}, "self.matches('^[a-z]+$')")
    assert _of({"type": "array", "maxItems": 50, "items": items}) == []
    [(path, text)] = _of({"type": "array", "items": items})
    assert path == "items.x-kubernetes-validations[0].rule"
    assert "exceeds budget by factor of" in text


def test_messages_cost_too() -> None:
    rule = {
        "rule": "true",
        "messageExpression": "self.map(x, self.map(y, x + y).join('')).join('')",
    }
    found = _of(_list() | {"x-kubernetes-validations": [rule]})
    assert found[0][0] == "x-kubernetes-validations[0].messageExpression"
    assert found[0][1].startswith("Forbidden: estimated messageExpression cost exceeds budget")


def test_what_is_wrong_with_a_rule_is_said_with_the_rule() -> None:
    shown = (
        '{"Rule":"%s","Message":"","MessageExpression":"%s","Reason":null,"FieldPath":"",'
        '"OptionalOldSelf":null}'
    )
    schema: Schema = {"type": "object", "properties": {"a": TEXT}}
    assert _of(_with(schema, "self.b")) == [
        (
            "x-kubernetes-validations[0].rule",
            f"Invalid value: {shown % ('self.b', '')}: compilation failed: ERROR: <input>:1:5: "
            "undefined field 'b'\n | self.b\n | ....^",
        )
    ]
    assert _of(_with(schema, "self.a"))[0][1].endswith(": cel expression must evaluate to a bool")
    rule = {"rule": "true", "messageExpression": "1"}
    assert _of(schema | {"x-kubernetes-validations": [rule]}) == [
        (
            "x-kubernetes-validations[0].messageExpression",
            f"Invalid value: {shown % ('true', '1')}: messageExpression must evaluate to a string",
        )
    ]


def test_old_values_can_only_be_compared_if_they_can_be_found() -> None:
    items = _with(TEXT | {"maxLength": 9}, "oldSelf == self")
    assert _of({"type": "array", "maxItems": 9, "items": items}) == [
        (
            "items.x-kubernetes-validations[0].rule",
            f'Invalid value: "oldSelf == self": {UNCORRELATED} p.properties[spec]',
        )
    ]
    rule = {"rule": "self != ''", "optionalOldSelf": True}
    assert _of(TEXT | {"x-kubernetes-validations": [rule]}) == [
        (
            "x-kubernetes-validations[0].optionalOldSelf",
            "Invalid value: true: may not be set if oldSelf is not used in rule",
        )
    ]
