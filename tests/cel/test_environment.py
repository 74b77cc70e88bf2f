"""Evaluation stays within its limits, whatever the expression."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from mooring.cel.meter import COST_EXCEEDED, Bill, CostExceeded
from mooring.cel.values import CompileError, EvaluationError
from tests.cel.expressions import ENVIRONMENT, evaluate


def _doubled(first: str, step: str, result: str, times: int = 60) -> str:
    binds = "".join(f"cel.bind(a{i + 1}, {step.format(i)}, " for i in range(times))
    return f"cel.bind(a0, {first}, {binds}{result}{')' * (times + 1)}"


def test_an_evaluation_ends_when_its_limit_is_passed() -> None:
    source = "[1, 2, 3].all(x, x > 0)"
    assert evaluate(source, limit=16) == (True, 16)
    with pytest.raises(CostExceeded) as ended:
        evaluate(source, limit=15)
    assert (str(ended.value), ended.value.cost) == (COST_EXCEEDED, 16)


@pytest.mark.parametrize("source", ["{} || true", "true || {}", "[1].exists(y, {})"])
def test_no_operator_hides_that_a_limit_was_passed(source: str) -> None:
    costly = "[1, 2, 3].all(x, x > 0)"
    if source.startswith("true"):
        assert evaluate(source.format(costly), limit=1) == (True, 0)
        return
    with pytest.raises(CostExceeded):
        evaluate(source.format(costly), limit=5)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(_doubled("[1]", "a{0} + a{0}", "a60.size() > 0"), id="lists"),
        pytest.param(_doubled("'ab'", "a{0} + a{0}", "a60 != ''"), id="texts"),
        pytest.param(_doubled("['']", "a{0} + a{0}", "a60.join('') == ''"), id="joining"),
        pytest.param(
            f"cel.bind(a, '{'a' * 4000}', a.replace('a', a).replace('a', a).size() > 0)",
            id="replacing",
        ),
    ],
)
def test_what_grows_without_cost_is_ended(source: str) -> None:
    with pytest.raises(CostExceeded):
        evaluate(source)


@pytest.mark.parametrize(
    ("result", "value"),
    [
        ("a60 == [a59, a59]", True),
        ("a60 != [a59, a59]", False),
        ("[a60] == [[a59, a58]]", False),
        ("[a59, a59] in [a60]", True),
        ("sets.contains([a60], [[a59, a59]])", True),
    ],
)
def test_values_that_share_their_parts_are_compared_once(result: str, value: bool) -> None:
    # The last value has 2^60 elements in total.
    assert evaluate(_doubled("dyn([1])", "dyn([a{0}, a{0}])", result))[0] is value


def test_going_through_shared_parts_costs_as_much_as_through_others() -> None:
    source = _doubled("[1]", "[a{0}, a{0}]", "a12.indexOf(a11)", 12)
    assert evaluate(source)[1] > 2**12
    with pytest.raises(CostExceeded):
        evaluate(_doubled("[1]", "[a{0}, a{0}]", "a60.indexOf(a59)"))


def test_a_type_may_not_double_with_each_name() -> None:
    step = "[a{0}].map(x, {{type(x): optional.of({{1: x}})}}).map(y, {{y: y}})[0]"
    with pytest.raises(CompileError, match="the type of a part of the expression is too large"):
        ENVIRONMENT.compile(_doubled("{1: 1}", step, "true", 40))


def test_a_comprehension_makes_a_list_of_its_own() -> None:
    assert evaluate("[[1, 2].map(y, y), [1, 2].map(y, y + 1)]")[0] == [[1, 2], [2, 3]]
    assert evaluate("x.map(y, y) == x && x.map(y, x.map(z, z + y)).size() == 2", [1, 2])[0] is True


def test_deep_values_and_deep_expressions_are_evaluated() -> None:
    deep = "[1].all(y, " * 249 + "true" + ")" * 249
    assert evaluate(deep)[0] is True
    value: Any = [1]
    for _ in range(5_000):
        value = [value]
    assert evaluate("x == x", value)[0] is True
    assert evaluate("x.indexOf(x) == -1", value)[0] is True


def test_searching_from_the_right_is_as_from_the_left() -> None:
    text = "abcabc"
    assert evaluate("x.lastIndexOf('bc')", text)[0] == 4
    assert evaluate("x.lastIndexOf('bc', 3)", text)[0] == 1
    assert evaluate("x.lastIndexOf('x')", text)[0] == -1
    assert evaluate("x.lastIndexOf('')", text)[0] == 6


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (f"semver('{'9' * 5000}.0.0').major() > 0", "value out of range"),
        (f"int('{'9' * 5000}') > 0", "type conversion error from 'string' to 'int'"),
        ("x.matches('(')", "invalid matches argument"),
        ("'a'.matches(x)", "error parsing regexp: missing closing ): `(`"),
    ],
)
def test_what_has_no_value_is_said(source: str, text: str) -> None:
    with pytest.raises((CompileError, EvaluationError)) as failed:
        evaluate(source, "(")
    assert text in str(failed.value)


@pytest.mark.parametrize("other", ["'1.2.3'", "1", "quantity('1')"])
def test_a_version_compares_with_versions_only(other: str) -> None:
    with pytest.raises(EvaluationError, match="no such overload"):
        evaluate(f"dyn(semver('1.2.3')) == dyn({other})")
    assert evaluate(f"dyn(semver('1.2.3')) != dyn({other})")[0] is True
    assert evaluate("dyn('1.2.3') == dyn(semver('1.2.3'))")[0] is False


@pytest.mark.parametrize(
    ("source", "work"),
    [
        pytest.param(f"[int(x){', 1' * 2000}].size()", 2000, id="constant elements"),
        pytest.param(
            f"{{int(x): 1{''.join(f', {i}: 1' for i in range(1, 901))}}}", 900, id="entries"
        ),
        pytest.param("x.findAll('').size()", 100 * 30, id="matches"),
        pytest.param("int(x) > 0", 100, id="an integer"),
        pytest.param("double(x) > 0.0", 100, id="a number"),
        pytest.param("isQuantity('x')", 50, id="no quantity"),
        pytest.param("isSemver('1.0.0-' + x)", 200, id="a version"),
        pytest.param("isSemver('1.0.0-' + x, true)", 200, id="a lax version"),
        pytest.param("x.matches(x + '(')", 200, id="no pattern"),
    ],
)
def test_work_that_costs_nothing_is_counted(source: str, work: int) -> None:
    bill = Bill()
    with contextlib.suppress(EvaluationError):
        evaluate(source, "0" * 100, bill=bill)
    assert bill.work >= work


def test_patterns_of_one_expression_may_not_be_large_together() -> None:
    source = " || ".join(rf"x.matches('\\pL{{1,{length}}}')" for length in range(200, 210))
    with pytest.raises(CompileError, match="the regular expressions are too large together") as no:
        ENVIRONMENT.compile(source)
    assert no.value.work > 1_000_000
    found = " || ".join(rf"x.find('\\pL{{1,{length}}}') == ''" for length in range(200, 210))
    with pytest.raises(CompileError, match="the regular expressions are too large together") as no:
        ENVIRONMENT.compile(found).program()
    assert no.value.work > 1_000_000
    few = ENVIRONMENT.compile(r"x.matches('^\\pL{1,60}$') || x.matches('^\\pL{1,60}$')")
    few.program()
    assert 100_000 < few.work < 1_000_000
