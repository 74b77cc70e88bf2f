"""Parts that read no variable are evaluated once, at the same cost as before."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.cel.fixed_parts import fixed_parts
from mooring.cel.meter import Bill, CostExceeded, Frame
from mooring.cel.values import EvaluationError
from tests.cel.expressions import ENVIRONMENT, checked, evaluate

TEN = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
NEST = f"{TEN}.all(a, {TEN}.all(b, a + b > 0))"


@pytest.mark.parametrize(
    ("source", "count"),
    [
        pytest.param(NEST, 1, id="a loop over constants"),
        pytest.param(f"x > 0 && {NEST}", 1, id="one side of a conjunction"),
        pytest.param(f"{TEN}.all(a, a > x)", 0, id="a loop that reads a variable"),
        pytest.param(f"{TEN}.all(a, {TEN}.exists(b, b > 5) && x > a)", 1, id="a loop in a loop"),
        pytest.param("quantity(string(x)).isLessThan(quantity('1'))", 1, id="a call"),
        pytest.param("x == 1 ? [2].size() : [3].size()", 2, id="the branches of a conditional"),
        pytest.param("(true ? [1 + 1] : [3])[0] == x", 1, id="a part of an attribute"),
        pytest.param("x", 0, id="a variable"),
        pytest.param("type(x) == int", 0, id="nothing, as the name of a type is a constant"),
    ],
)
def test_number_of_fixed_parts(source: str, count: int) -> None:
    assert len(fixed_parts(*checked(source, x="int"))) == count


class _Counted:
    """Counts the steps of evaluations."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps = 0
        spend = Frame.spend

        def counted(frame: Frame, cost: int) -> None:
            self.steps += 1
            spend(frame, cost)

        monkeypatch.setattr(Frame, "spend", counted)


def test_a_fixed_part_is_evaluated_once_and_costs_the_same_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = ENVIRONMENT.compile(f"{TEN}.all(a, [a].size() > 0) && x > 0").program()
    counted = _Counted(monkeypatch)
    first = program.evaluate({"x": 1})
    steps = counted.steps
    assert first[0] is True and steps >= 10
    assert program.evaluate({"x": 1}) == first
    assert program.evaluate({"x": 0}) == (False, first[1])
    assert counted.steps == steps


def test_an_error_of_a_fixed_part_is_repeated() -> None:
    program = ENVIRONMENT.compile("x > 0 && [1, 2].all(a, 1 / (a - a) > 0)").program()
    errors = []
    for _ in range(2):
        with pytest.raises(EvaluationError) as failed:
            program.evaluate({"x": 1})
        errors.append((str(failed.value), failed.value.cost))
    assert errors[0] == errors[1]
    assert errors[0][0] == "division by zero"
    assert program.evaluate({"x": 0})[0] is False


def test_a_limit_within_a_fixed_part_ends_the_evaluation_where_it_would_without() -> None:
    plain = f"x > 0 && {NEST.replace('a + b', 'a + b + x - x')}"
    for source in (f"x > 0 && {NEST}", plain):
        program = ENVIRONMENT.compile(source).program()
        for limit in (1_000_000, 100):
            try:
                _, cost = program.evaluate({"x": 1}, limit=limit)
            except CostExceeded as error:
                assert limit == 100 and error.cost == 101
            else:
                assert limit == 1_000_000 and cost > 100


@pytest.mark.parametrize(
    ("source", "value"),
    [
        pytest.param("[1, 2].map(a, a + 1) == x", [2, 3], id="a list"),
        pytest.param("{'a': 'b' + 'c'} == x", {"a": "bc"}, id="a map"),
        pytest.param("optional.of('a' + 'b') == optional.of(x)", "ab", id="an optional"),
        pytest.param("[1, 2].map(a, a) + [3] == x", [1, 2, 3], id="a list that is extended"),
    ],
)
def test_values_of_fixed_parts_do_not_change(source: str, value: Any) -> None:
    program = ENVIRONMENT.compile(source).program()
    assert [program.evaluate({"x": value})[0] for _ in range(3)] == [True] * 3


def test_large_values_are_not_kept() -> None:
    digits = "'" + "7" * 600 + "'"
    bill = Bill()
    small = ENVIRONMENT.compile(f"{digits} + '' == x").program()
    large = ENVIRONMENT.compile(f"{digits} + {digits} == x").program()
    for program, kept in ((small, 1), (large, 0)):
        program.evaluate({"x": ""}, bill=bill)
        assert len(bill.fixed) == kept


def test_a_bill_has_each_fixed_part_once_and_the_rest_of_the_cost() -> None:
    bill = Bill()
    program = ENVIRONMENT.compile(f"x.all(i, {NEST} && i > 0)").program()
    _, cost = program.evaluate({"x": [1, 2, 3]}, bill=bill)
    (part,) = bill.fixed.values()
    assert cost == 3 * part + bill.own
    assert evaluate(NEST)[1] == part
    assert 0 < bill.own < part
