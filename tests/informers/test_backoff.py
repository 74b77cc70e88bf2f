"""How long a reflector waits before a retry."""

from __future__ import annotations

import random

from mooring.informers.backoff import Backoff
from mooring.observe.clock import VirtualClock


def test_waits_double_up_to_a_limit_and_are_jittered() -> None:
    backoff = Backoff(VirtualClock(), random.Random(1))
    waits = [backoff.step() for _ in range(8)]
    bases = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]
    for wait, base in zip(waits, bases, strict=True):
        assert base <= wait <= 2 * base
    assert waits[6] != waits[7]


def test_two_quiet_minutes_make_waits_short_again() -> None:
    clock = VirtualClock()
    backoff = Backoff(clock, random.Random(1))
    for _ in range(4):
        clock.advance(backoff.step())
    clock.advance(119.0)
    assert backoff.step() > 6.4
    clock.advance(300.0)
    assert backoff.step() <= 1.6
