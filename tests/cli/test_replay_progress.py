"""How far a replay is, on a terminal."""

from __future__ import annotations

import pytest

from mooring.cli.progress import ProgressLine
from mooring.cli.replay_progress import progress_text, showing_progress
from mooring.journal.entries import Entry, Forgot


class Lines(ProgressLine):
    """A line that keeps what it shows."""

    def __init__(self, *, is_wanted: bool) -> None:
        super().__init__()
        self.is_wanted = is_wanted
        self.shown: list[str] = []

    def show(self, text: str) -> None:
        self.shown.append(text)


ENTRIES: list[Entry] = [Forgot(1000.0 + 60 * number, "uid") for number in range(11)]


def test_progress_grows_with_the_time_of_the_entries() -> None:
    line, clock = Lines(is_wanted=True), iter(range(100))
    taken = showing_progress(ENTRIES, line, lambda: 1600.0, now=lambda: float(next(clock)))
    assert list(taken) == ENTRIES
    assert line.shown[0] == "replaying: 0 % of 10 min"
    assert line.shown[1] == "replaying: 10 % of 10 min, about 18 s left"
    assert line.shown[-1] == "replaying: 100 % of 10 min, about 0 s left"
    assert len(line.shown) == len(ENTRIES)


def test_nothing_is_shown_without_a_terminal() -> None:
    def end() -> float:
        pytest.fail("the end of the journal was read")

    line = Lines(is_wanted=False)
    assert list(showing_progress(ENTRIES, line, end)) == ENTRIES
    assert line.shown == []


@pytest.mark.parametrize(("replayed", "whole"), [(0.0, 0.0), (5.0, 0.0), (-5.0, 10.0), (0.0, 1.0)])
def test_no_time_left_is_estimated_from_nothing(replayed: float, whole: float) -> None:
    assert "left" not in progress_text(replayed, whole, 3.0)


def test_a_clock_that_went_back_shows_no_more_than_everything() -> None:
    assert progress_text(20.0, 10.0, 5.0) == "replaying: 100 % of 10 s, about 0 s left"
