"""The value of expressions, and what they cost."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.cel.meter import CostExceeded
from mooring.cel.values import CompileError, Domains, EvaluationError, Optional
from tests.cel.expressions import ENVIRONMENT, evaluate


@pytest.mark.parametrize(
    ("source", "x", "value", "cost"),
    [
        pytest.param("x", 7, 7, 1, id="a variable"),
        pytest.param("x.a.b", {"a": {"b": 1}}, 1, 3, id="a chain of fields is one attribute"),
        pytest.param("x[0]['a']", [{"a": 1}], 1, 3, id="and so are indices"),
        pytest.param("true ? x.a : 0", {"a": 1}, 1, 1, id="a branch costs its steps only"),
        pytest.param("[1, 2]", None, [1, 2], 0, id="a constant list is free"),
        pytest.param("[x]", 1, [1], 11, id="a list"),
        pytest.param("{'a': x}", 1, {"a": 1}, 31, id="a map"),
        pytest.param("int('7')", None, 7, 0, id="a conversion of a constant"),
        pytest.param("x in [1, 2]", 2, True, 1, id="a constant list is searched for free"),
        pytest.param("x in []", 2, False, 0, id="nothing is in an empty list"),
        pytest.param("has(x.a)", {"a": 1}, True, 1, id="a test for presence"),
        pytest.param("has(x.a.b)", {"a": {}}, False, 2, id="and for an absence"),
        pytest.param("has(x.d)", Domains(), True, 1, id="a domain is always present"),
        pytest.param("x.?a.?b", {"a": {"b": 1}}, 1, 3, id="optional fields"),
        pytest.param("x[?0]", [5], 5, 2, id="an optional index"),
        pytest.param("optional.of(x).a", {"a": 1}, 1, 4, id="a field of an optional"),
        pytest.param("[?x.?a, x]", {}, [{}], 12, id="an element that is missing"),
        pytest.param("[?x.?a, x]", {"a": 1}, [1, {"a": 1}], 13, id="an element that is there"),
        pytest.param("{?'k': x.?a}", {"a": 1}, {"k": 1}, 32, id="an entry that is there"),
        pytest.param("{?'k': x.?a}", {}, {}, 31, id="an entry that is missing"),
        pytest.param("x.all(a, a > 0)", [1, 2], True, 12, id="a loop"),
        pytest.param("x.exists(k, v, v == 2)", {"a": 2}, True, None, id="a loop over a map"),
        pytest.param("type(x) == string", "a", True, None, id="the type of a value"),
    ],
)
def test_the_value_and_the_cost(source: str, x: Any, value: Any, cost: int | None) -> None:
    found, spent = evaluate(source, x)
    assert (found.value if isinstance(found, Optional) else found) == value
    assert cost is None or spent == cost


@pytest.mark.parametrize(
    ("source", "x", "message", "cost"),
    [
        ("x.b", {"a": 1}, "no such key: b", 2),
        ("x.a.b.c", {"a": {}}, "no such key: b", 3),
        ("x[3]", [1], "index out of bounds: 3", 2),
        ("x.a", 7, "no such overload", 2),
        ("x ? 1 : 2", "a", "no such overload", 1),
        ("{x: 1, x: 2}", "a", "Failed with repeated key a", 32),
        ("{x: 1}", [1], "unsupported key type: list", 31),
        ("[?x]", 1, "cannot initialize optional entry from non-optional value", 11),
        ("x.all(a, true)", 7, "no such overload", 1),
        ("x.all(a, a.b > 0)", [1], "no such overload", None),
    ],
)
def test_an_expression_without_a_value_says_why_and_costs(
    source: str, x: Any, message: str, cost: int | None
) -> None:
    with pytest.raises(EvaluationError) as failed:
        evaluate(source, x)
    assert str(failed.value) == message
    assert cost is None or failed.value.cost == cost


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1u == 1u", "values of type uint are not supported"),
        ("b'a' == b'a'", "values of type bytes are not supported"),
        ("type(x) == bytes", "values of type bytes are not supported"),
        ("type(x) == google.protobuf.Timestamp", "values of type google.protobuf.Timestamp"),
        ("int('a') == 1", "program instantiation failed: type conversion error"),
        ("'a'.find('(') == ''", "program instantiation failed: error parsing regexp"),
        ("url('a') == url('b')", "function 'url' is not supported"),
    ],
)
def test_what_cannot_be_evaluated_is_said_before(source: str, message: str) -> None:
    with pytest.raises(CompileError) as refused:
        ENVIRONMENT.compile(source).program()
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "source",
    ["x", "x.a", "x['a']", "x[string('a')]", "x.?a", "has(x.a)", "[x]", "[1].all(a, a > 0)"],
)
def test_every_kind_of_step_keeps_the_limit(source: str) -> None:
    with pytest.raises(CostExceeded):
        evaluate(source, {"a": 1}, limit=0)


def test_a_loop_stops_as_soon_as_it_is_decided() -> None:
    few = evaluate("x.exists(a, a == 1)", [1, 2, 3])[1]
    assert few == evaluate("x.exists(a, a == 1)", [1])[1] + 3
    assert few < evaluate("x.exists(a, a == 3)", [1, 2, 3])[1]


def test_a_bound_value_is_computed_once_and_only_if_read() -> None:
    assert evaluate("cel.bind(a, x.b, true)", {})[0] is True
    once = evaluate("cel.bind(a, x + 'b', a)", "a")[1]
    twice = evaluate("cel.bind(a, x + 'b', a + a)", "a")[1]
    assert twice - once == 2
