"""How many questions a scheduler answers."""

from __future__ import annotations

import pytest

from mooring.explain.questions import QUESTIONS, QuestionLimit, TooManyQuestions


def test_so_many_questions_within_a_second() -> None:
    limit = QuestionLimit()
    for number in range(QUESTIONS):
        limit.admit(10.0 + number / 10)
    with pytest.raises(TooManyQuestions, match=r"ask again in 0\.4 s") as caught:
        limit.admit(10.6)
    assert caught.value.seconds == pytest.approx(0.4)
    limit.admit(11.0)
    with pytest.raises(TooManyQuestions):
        limit.admit(11.05)


def test_a_clock_that_is_set_back_does_not_shut_everybody_out() -> None:
    limit = QuestionLimit()
    for _ in range(QUESTIONS):
        limit.admit(1000.0)
    limit.admit(10.0)
