"""Selectors answer as cel-go does: every recorded expression, and what is not understood."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from mooring.api.resource import Device
from mooring.plugins.dynamic_resources.cel import (
    CompileError,
    EvaluationError,
    SelectorCache,
    device_variables,
)

RECORDED = msgspec.json.decode(
    (Path(__file__).parents[1] / "recorded" / "selectors.json").read_bytes()
)
DEVICE = msgspec.convert(RECORDED["device"], Device)


def _ask(expression: str, device: Device = DEVICE, **options: Any) -> bool:
    selectors = SelectorCache()
    variables = device_variables(RECORDED["driver"], device, **options)
    return selectors.evaluate(selectors.compile(expression), variables)


@pytest.mark.parametrize(
    "recorded", [pytest.param(one, id=one["expression"]) for one in RECORDED["selectors"]]
)
def test_an_expression_answers_as_recorded(recorded: dict[str, Any]) -> None:
    expression = recorded["expression"]
    if "matches" in recorded:
        assert _ask(expression) is recorded["matches"]
    elif "error" in recorded:
        with pytest.raises(EvaluationError) as failed:
            _ask(expression)
        assert str(failed.value) == recorded["error"]
    else:
        with pytest.raises((CompileError, EvaluationError)):
            _ask(expression)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("device.driver ==", "1:17: Syntax error: unexpected '<EOF>'"),
        ("device.driver\n == 'x", '2:5: Syntax error: unexpected "\'"'),
        ("foo", "undeclared reference to 'foo' (in container '')"),
        ("device.driver.shout()", "undeclared reference to 'shout' (in container '')"),
        ("1u == 1", "unsigned numbers are not supported"),
        ("(" * 200 + "true" + ")" * 200, "nested too deeply"),
    ],
)
def test_what_is_not_understood_is_said(expression: str, text: str) -> None:
    selectors = SelectorCache()
    for _ in range(2):
        with pytest.raises(CompileError) as failed:
            selectors.compile(expression)
        assert str(failed.value).startswith("compilation failed: ")
        assert text in str(failed.value)


def test_lists_are_attributes_only_where_they_are_allowed() -> None:
    device = msgspec.convert({"attributes": {"sizes": {"ints": [1, 2]}}}, Device)
    expression = 'device.attributes["d.io"].sizes.includes(2)'
    assert _ask(expression, device, lists=True)
    with pytest.raises(EvaluationError, match="attribute sizes: unsupported attribute value"):
        _ask(expression, device)
