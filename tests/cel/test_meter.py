"""The cost of an evaluation so far."""

from __future__ import annotations

import pytest

from mooring.cel.meter import COST_EXCEEDED, Bill, CostExceeded, Frame
from mooring.cel.values import EvaluationError


def test_costs_add_up_to_the_limit_and_no_further() -> None:
    frame = Frame({"x": 1}, slots=2, limit=10)
    frame.spend(4)
    frame.spend(6)
    assert (frame.cost, frame.locals, frame.variables) == (10, [None, None], {"x": 1})
    with pytest.raises(CostExceeded) as ended:
        frame.spend(1)
    assert str(ended.value) == COST_EXCEEDED
    assert frame.cost == 11
    assert isinstance(ended.value, EvaluationError)


def test_work_without_cost_has_a_limit_of_its_own() -> None:
    frame = Frame({}, slots=0, limit=10)
    frame.labour(10_000_000)
    assert frame.cost == 0
    with pytest.raises(CostExceeded):
        frame.labour(1)


def test_a_repeated_part_counts_as_if_it_were_evaluated_again() -> None:
    frame = Frame({}, slots=0, limit=10)
    assert frame.repeats(1, 4, 100)
    assert frame.repeats(1, 4, 100)
    assert not frame.repeats(1, 4, 100)
    assert (frame.cost, frame.work, frame.fixed) == (8, 200, {1: (4, 100, 2)})
    assert not Frame({}, 0, 10).repeats(1, 0, 10_000_001)


def test_a_bill_contains_work_that_costs_nothing() -> None:
    frame, bill = Frame({}, slots=0, limit=100), Bill()
    frame.repeats(7, 3, 50)
    frame.spend(5)
    frame.labour(20)
    bill.take(frame)
    assert (bill.own, bill.fixed) == (5 + 4, {7: 3 + 10})
