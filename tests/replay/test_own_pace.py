"""When a simulated scheduler goes on."""

from __future__ import annotations

import math

from mooring.replay.own_pace import STILL_SECONDS, OwnPace


def test_attempts_take_no_time_if_the_recorded_ones_take_none() -> None:
    pace = OwnPace(100.0)
    pace.recorded_begin("a", 100.0)
    pace.recorded_end("a", 100.0)
    for _ in range(1000):
        pace.attempted(100.0)
    assert pace.free_at == 100.0


def test_an_attempt_takes_as_long_as_recorded_ones() -> None:
    pace = OwnPace(100.0)
    for number, seconds in enumerate((0.25, 0.25, 7000.0)):
        pace.recorded_begin(str(number), 100.0)
        pace.recorded_end(str(number), 100.0 + seconds)
    pace.attempted(200.0)
    assert pace.free_at == 200.5
    pace.attempted(200.5)
    assert pace.free_at == 201.0


def test_an_end_of_another_attempt_is_ignored() -> None:
    pace = OwnPace(100.0)
    pace.recorded_begin("a", 100.0)
    pace.recorded_end("b", 105.0)
    pace.attempted(200.0)
    assert pace.free_at == 200.0


def test_a_clock_that_went_back_gives_no_negative_time() -> None:
    pace = OwnPace(100.0)
    pace.recorded_begin("a", 100.0)
    pace.recorded_end("a", 90.0)
    pace.attempted(100.0)
    assert pace.free_at == 100.0


def test_attempts_without_end_at_one_moment_take_time() -> None:
    pace = OwnPace(100.0)
    attempts = 0
    while pace.free_at == 100.0:
        pace.attempted(100.0)
        attempts += 1
    assert 1000 < attempts < 20_000


def test_wakeups_become_rare_while_nothing_changes() -> None:
    pace, now, wakeups = OwnPace(0.0), 0.0, 0
    year = 365.0 * 86400
    while now < 1000 * year:
        now = pace.wakeup(now + 10.0, now)
        wakeups += 1
    assert wakeups < STILL_SECONDS / 10.0 + 32


def test_a_change_makes_wakeups_exact_again() -> None:
    pace = OwnPace(0.0)
    assert pace.wakeup(5000.0, STILL_SECONDS) == 5000.0
    assert pace.wakeup(3000.0, 2000.0) == 4000.0
    assert pace.wakeup(math.inf, 2000.0) == math.inf
    pace.changed(2000.0)
    assert pace.wakeup(3000.0, 2000.0) == 3000.0
