"""The cost of an evaluation so far."""

from __future__ import annotations

import pytest

from mooring.cel.meter import COST_EXCEEDED, CostExceeded, Frame
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
