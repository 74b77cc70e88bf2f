"""Local variables whose value is computed when it is first read."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.cel.meter import CostExceeded, Frame
from mooring.cel.slots import FailedValue, Pending, attempt, ready
from mooring.cel.values import EvaluationError


def fail(frame: Frame) -> Any:
    frame.spend(1)
    raise EvaluationError("bad")


def test_a_pending_value_is_computed_once() -> None:
    frame = Frame({}, slots=2, limit=10)

    def compute(frame: Frame) -> int:
        frame.spend(3)
        return 7

    assert ready(frame, 1, Pending(compute)) == 7
    assert (frame.locals, frame.cost) == ([None, 7], 3)


def test_a_pending_value_that_fails_is_kept_as_failed() -> None:
    frame = Frame({}, slots=1, limit=10)
    with pytest.raises(EvaluationError, match="bad"):
        ready(frame, 0, Pending(fail))
    kept = frame.locals[0]
    assert isinstance(kept, FailedValue)
    with pytest.raises(EvaluationError, match="bad"):
        ready(frame, 0, kept)
    assert frame.cost == 1


def test_an_attempt_returns_the_value_or_the_failure() -> None:
    frame = Frame({}, slots=0, limit=10)
    assert attempt(lambda frame: 7, frame) == 7
    failed = attempt(fail, frame)
    assert isinstance(failed, FailedValue)
    assert str(failed.error) == "bad"


def test_an_attempt_does_not_hide_that_a_limit_was_passed() -> None:
    with pytest.raises(CostExceeded):
        attempt(fail, Frame({}, slots=0, limit=0))
