"""Room on Python's stack for deep expressions."""

from __future__ import annotations

import sys

import pytest

from mooring.cel.depth import SHALLOW, room_for


def test_a_shallow_expression_leaves_the_limit_alone() -> None:
    usual = sys.getrecursionlimit()
    with room_for(SHALLOW, 1_000):
        assert sys.getrecursionlimit() == usual


def test_a_deep_expression_raises_the_limit_while_it_lasts() -> None:
    usual = sys.getrecursionlimit()
    with room_for(SHALLOW + 1, 5):
        assert sys.getrecursionlimit() == usual + (SHALLOW + 1) * 5
        with room_for(100, 5):
            assert sys.getrecursionlimit() == usual + (SHALLOW + 1) * 5 + 500
    assert sys.getrecursionlimit() == usual


def test_the_limit_is_restored_after_a_failure() -> None:
    usual = sys.getrecursionlimit()
    with pytest.raises(ValueError), room_for(200, 5):
        raise ValueError
    assert sys.getrecursionlimit() == usual
