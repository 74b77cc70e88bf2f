"""The clock of a replay."""

from __future__ import annotations

from mooring.replay.recorded_answers import RecordedSleep
from mooring.replay.replay_clock import ReplayClock


def test_the_clock_shows_what_it_is_set_to() -> None:
    clock = ReplayClock()
    clock.time = 12.5
    assert clock.now() == 12.5
    clock.time = 3.0
    assert clock.now() == 3.0


def test_sleep_suspends() -> None:
    work = ReplayClock().sleep(4.0)
    asked = work.send(None)
    assert isinstance(asked, RecordedSleep)
    assert asked.seconds == 4.0
    work.close()
