"""Shortfalls."""

from __future__ import annotations

from mooring.framework.diagnosis import Shortfall


def test_missing_is_what_is_asked_less_what_is_free() -> None:
    assert Shortfall.of("cpu", 100, 30).missing == 70
    # A node whose pods request more than it offers.
    assert Shortfall.of("cpu", 100, -30).missing == 130
