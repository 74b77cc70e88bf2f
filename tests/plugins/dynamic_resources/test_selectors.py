"""Selectors evaluate as in cel-go: every recorded expression, and unsupported ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from mooring.api.resource import Device
from mooring.cel.values import CompileError, EvaluationError
from mooring.plugins.dynamic_resources.selectors import SelectorCache, device_variables

RECORDED = msgspec.json.decode((Path(__file__).parent / "recorded" / "selectors.json").read_bytes())
DEVICE = msgspec.convert(RECORDED["device"], Device)


def _ask(expression: str, device: Device = DEVICE, *, lists: bool = False) -> bool:
    selectors = SelectorCache(lists=lists)
    variables = device_variables(RECORDED["driver"], device, lists=lists)
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
        ("device.driver ==", "1:17: Syntax error: mismatched input '<EOF>' expecting {'[', '{',"),
        ("device.driver\n == 'x", "2:5: Syntax error: token recognition error at: ''x'"),
        ("foo", "undeclared reference to 'foo' (in container '')"),
        ("device.driver.shout()", "undeclared reference to 'shout' (in container '')"),
        (
            "1u == 1",
            "found no matching overload for '_==_' applied to '(uint, int)'\n | 1u == 1\n | ...^",
        ),
        ("(" * 250 + "true" + ")" * 250, "<input>:-1:0: expression recursion limit exceeded: 250"),
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
    with pytest.raises(CompileError, match="undeclared reference to 'includes'"):
        SelectorCache().compile(expression)
    with pytest.raises(EvaluationError, match="attribute sizes: unsupported attribute value"):
        _ask('"sizes" in device.attributes["d.io"]', device)


def test_what_is_declared_and_not_built_is_said() -> None:
    with pytest.raises(CompileError, match="values of type uint are not supported"):
        SelectorCache().compile("1u == 1u")
    with pytest.raises(CompileError, match="function 'ip' is not supported"):
        SelectorCache().compile("ip(device.driver).family() == 4")


def test_programs_are_kept_within_bounds() -> None:
    selectors = SelectorCache()
    first = selectors.compile("true")
    assert selectors.compile("true") is first
    for i in range(40):
        selectors.compile(f"'{'a' * 10_000}' != '{i}'")
    assert selectors.compile("true") is not first
    many = SelectorCache()
    first = many.compile("true")
    for i in range(255):
        many.compile(f"{i} >= 0")
    assert many.compile("true") is first
    many.compile("256 >= 0")
    assert many.compile("true") is not first
