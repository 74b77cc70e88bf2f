"""Which arguments of a call are evaluated, and what is charged if one of them fails."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.cel.calls import (
    apply,
    implementation,
    junction,
    membership,
    not_strictly_false,
    otherwise,
)
from mooring.cel.meter import CostExceeded, Frame
from mooring.cel.slots import Run
from mooring.cel.values import NONE, CompileError, EvaluationError, Optional


def frame(limit: int = 100) -> Frame:
    return Frame({}, 0, limit)


def value(found: Any, cost: int = 0) -> Run:
    def run(frame: Frame) -> Any:
        frame.spend(cost)
        return found

    return run


def failing(message: str, cost: int = 0) -> Run:
    def run(frame: Frame) -> Any:
        frame.spend(cost)
        raise EvaluationError(message)

    return run


def exceeding(frame: Frame) -> Any:
    raise CostExceeded


def add(frame: Frame, *values: Any) -> Any:
    return sum(values)


ARGUMENTS = {1: [value(4)], 2: [value(1), value(3)], 3: [value(1), value(1), value(2)]}


@pytest.mark.parametrize("count", ARGUMENTS)
@pytest.mark.parametrize("cost", [None, lambda frame, args, result: len(args) + result])
def test_a_call_is_computed_and_charged(count: int, cost: Any) -> None:
    counted = frame()
    assert apply(add, ARGUMENTS[count], cost)(counted) == 4
    assert counted.cost == (1 if cost is None else count + 4)


@pytest.mark.parametrize("args", [[value("a")], [value("a"), value(1)], [value("a")] * 3])
def test_a_type_that_does_not_fit_has_no_overload_and_is_charged(args: list[Run]) -> None:
    counted = frame()
    with pytest.raises(EvaluationError, match="no such overload"):
        apply(add, args, None)(counted)
    assert counted.cost == 1


@pytest.mark.parametrize(
    ("args", "cost"),
    [
        pytest.param([failing("bad", 2)], 3, id="the only one"),
        pytest.param([failing("bad", 2), value(1, 5)], 8, id="the first: the second still counts"),
        pytest.param([value(1, 5), failing("bad", 2)], 8, id="the second"),
        pytest.param([failing("bad", 2), failing("worse", 5)], 8, id="both: the first is told"),
    ],
)
def test_a_call_whose_argument_fails_is_charged(args: list[Run], cost: int) -> None:
    counted = frame()
    with pytest.raises(EvaluationError, match="bad"):
        apply(add, args, None)(counted)
    assert counted.cost == cost


@pytest.mark.parametrize(
    "args",
    [[exceeding], [exceeding, value(1)], [value(1), exceeding]],
    ids=["the only one", "the first", "the second"],
)
def test_an_argument_that_costs_too_much_ends_the_call_without_a_charge(args: list[Run]) -> None:
    counted = frame()
    with pytest.raises(CostExceeded):
        apply(add, args, None)(counted)
    assert counted.cost == 0


def test_a_call_that_costs_too_much_is_not_computed() -> None:
    computed = []
    with pytest.raises(CostExceeded):
        apply(lambda frame, a, b: computed.append(1), ARGUMENTS[2], None)(frame(limit=0))
    assert computed == []


@pytest.mark.parametrize(
    ("left", "right", "decides", "found"),
    [
        pytest.param(value(True), exceeding, True, True, id="|| stops at true"),
        pytest.param(value(False), exceeding, False, False, id="&& stops at false"),
        pytest.param(value(False), value(True), True, True, id="|| asks the right side"),
        pytest.param(failing("bad"), value(True), True, True, id="|| forgives the left side"),
        pytest.param(failing("bad"), value(False), False, False, id="&& forgives the left side"),
        pytest.param(value(7), value(True), True, True, id="|| forgives a number"),
    ],
)
def test_a_side_that_decides_hides_the_other(
    left: Run, right: Run, decides: bool, found: bool
) -> None:
    assert junction(left, right, decides=decides)(frame()) is found


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        pytest.param(failing("bad"), value(False), "bad", id="the right side does not decide"),
        pytest.param(value(False), failing("worse"), "worse", id="the right side fails"),
        pytest.param(failing("bad"), failing("worse"), "worse", id="both fail"),
        pytest.param(value("a"), value(False), "no such overload", id="a text is no boolean"),
        pytest.param(exceeding, value(True), "cost limit", id="a limit is never forgiven"),
    ],
)
def test_an_error_that_no_side_hides_is_raised(left: Run, right: Run, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        junction(left, right, decides=True)(frame())


@pytest.mark.parametrize(
    ("arg", "found"),
    [(value(False), False), (value(True), True), (value(7), True), (failing("bad"), True)],
    ids=["false", "true", "a number", "an error"],
)
def test_everything_but_false_is_not_strictly_false(arg: Run, found: bool) -> None:
    counted = frame()
    assert not_strictly_false(arg)(counted) is found
    assert counted.cost == 1


@pytest.mark.parametrize(("arg", "limit"), [(exceeding, 100), (value(True), 0)])
def test_not_strictly_false_keeps_the_limit(arg: Run, limit: int) -> None:
    with pytest.raises(CostExceeded):
        not_strictly_false(arg)(frame(limit))


def test_an_empty_optional_is_replaced() -> None:
    full = Optional(True, 7)
    assert otherwise(value(full), exceeding, unwrap=True)(frame()) == 7
    assert otherwise(value(full), exceeding, unwrap=False)(frame()) is full
    assert otherwise(value(NONE), value(8), unwrap=True)(frame()) == 8
    with pytest.raises(EvaluationError, match="no such overload"):
        otherwise(value(7), value(8), unwrap=True)(frame())


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        pytest.param(1, True, id="a number"),
        pytest.param(1.0, True, id="a number of another type"),
        pytest.param(True, False, id="a boolean is no number"),
        pytest.param("a", True, id="a text"),
        pytest.param("b", False, id="a text that is missing"),
        pytest.param([1], False, id="a list is never a scalar"),
    ],
)
def test_a_constant_list_is_searched_for_free(wanted: Any, found: bool) -> None:
    counted = frame()
    assert membership(value(wanted), [1, "a"])(counted) is found
    assert counted.cost == 0


def test_a_function_is_found_by_name_and_form() -> None:
    assert implementation("_+_", False)(frame(), 1, 2) == 3
    assert implementation("int", False)(frame(), "7") == 7
    assert implementation("trim", True)(frame(), " a ") == "a"
    with pytest.raises(CompileError, match="function 'trim' is not supported"):
        implementation("trim", False)
