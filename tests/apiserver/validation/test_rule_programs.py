from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.validation.rule_programs import NOT_BOOLEAN, NOT_TEXT, Rule, rules_of


def _schema(*rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    spec = {"type": "object", "properties": {"size": {"type": "integer"}}}
    spec |= {"x-kubernetes-validations": list(rules)}
    return {"type": "object", "properties": {"spec": spec, **more}}


def _rule(source: str, **more: Any) -> Rule:
    node = rules_of(_schema({"rule": source, **more}))
    assert node is not None
    (rule,) = node.properties["spec"].rules
    return rule


def test_a_schema_without_rules() -> None:
    assert rules_of({"type": "object", "properties": {"a": {"type": "string"}}}) is None
    assert rules_of({}) is None


def test_a_rule() -> None:
    rule = _rule("self.size > 1")
    assert rule.error == ""
    assert rule.program is not None
    assert not rule.uses_old


@pytest.mark.parametrize("source", ["self.size >= oldSelf.size", "oldSelf == self"])
def test_a_rule_about_the_old_value(source: str) -> None:
    assert _rule(source).uses_old


def test_the_old_value_may_be_missing() -> None:
    rule = _rule("!oldSelf.hasValue() || self.size > 1", optionalOldSelf=True)
    assert rule.error == ""
    assert "no matching overload for 'hasValue'" in _rule("oldSelf.hasValue()").error


ERRORS = {
    "an empty rule is left to others": ("  ", ""),
    "a rule that is no CEL": ("self.", "compilation failed"),
    "a field that does not exist": ("self.colour == 1", "compilation failed"),
    "another type": ("self.size == 'a'", "compilation failed"),
    "no yes or no": ("self.size", NOT_BOOLEAN),
    "a bad pattern": ("'a'.matches('(')", "compilation failed"),
    "a bad duration is left to the program": ("duration('x') == duration('1s')", ""),
}


@pytest.mark.parametrize(("source", "error"), ERRORS.values(), ids=ERRORS)
def test_rules_that_do_not_compile(source: str, error: str) -> None:
    rule = _rule(source)
    assert rule.error.startswith(error) if error else rule.error == ""
    assert rule.program is None


MESSAGES = {
    "a text": ("'too small: ' + string(self.size)", ""),
    "no text": ("self.size", NOT_TEXT),
    "a field that does not exist": ("self.colour", "messageExpression compilation failed"),
}


@pytest.mark.parametrize(("source", "error"), MESSAGES.values(), ids=MESSAGES)
def test_messages_of_rules(source: str, error: str) -> None:
    rule = _rule("self.size > 1", messageExpression=source)
    assert rule.message_error.startswith(error) if error else rule.message_error == ""
    assert (rule.message_program is None) is bool(error)


def test_rules_of_lists_maps_and_fields() -> None:
    inner = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]}
    node = rules_of(
        {
            "type": "object",
            "properties": {
                "list": {"type": "array", "items": inner},
                "map": {"type": "object", "additionalProperties": inner},
                "a b": inner,
                "plain": {"type": "string"},
            },
        }
    )
    assert node is not None and node.root
    assert [path for path, _ in node.below()] == [
        "properties[list]",
        "properties[map]",
        "properties[a b]",
    ]
    assert [path for path, _ in node.properties["list"].below()] == ["items"]
    assert [path for path, _ in node.properties["map"].below()] == ["additionalProperties"]


def test_an_embedded_object_is_a_root_of_its_own() -> None:
    rule = {"rule": "self.metadata.name != ''"}
    embedded = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-validations": [rule],
    }
    node = rules_of({"type": "object", "properties": {"pod": embedded}})
    assert node is not None
    assert node.properties["pod"].root
    assert node.properties["pod"].rules[0].error == ""


def test_a_schema_is_compiled_once() -> None:
    schema = _schema({"rule": "self.size > 1"})
    assert rules_of(schema) is rules_of(schema)
    assert rules_of(dict(schema)) is not rules_of(schema)


def test_the_cost_of_a_rule_grows_with_the_values_it_may_see() -> None:
    def cost(longest: int) -> int:
        text = {
            "type": "string",
            "maxLength": longest,
            "x-kubernetes-validations": [{"rule": "self.contains('a')"}],
        }
        node = rules_of({"type": "object", "properties": {"t": text}})
        assert node is not None
        below = node.properties["t"]
        (rule,) = below.rules
        assert rule.expression is not None
        return below.max_cost(rule.expression)

    assert cost(10_000) > cost(10)
