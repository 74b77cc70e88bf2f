"""How far a replay is, on a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from mooring.cli.progress import ProgressLine
from mooring.explain.queue_text import duration_text

if TYPE_CHECKING:
    from mooring.journal.entries import Entry

#: The least share of a journal from which the time that is left is estimated.
_LEAST = 0.01


def showing_progress(
    entries: Iterable[Entry],
    line: ProgressLine,
    end: Callable[[], float],
    *,
    now: Callable[[], float] = time.monotonic,
) -> Iterable[Entry]:
    """Return the entries; while they are taken, show how many of them were.

    `end` returns the time of the last one. Without a terminal it is not called.
    """
    return _shown(entries, line, end(), now) if line.is_wanted else entries


def _shown(
    entries: Iterable[Entry], line: ProgressLine, end: float, now: Callable[[], float]
) -> Iterator[Entry]:
    began, first = now(), None
    for entry in entries:
        if first is None:
            first = entry.time
        line.show(progress_text(entry.time - first, end - first, now() - began))
        yield entry


def progress_text(replayed: float, whole: float, taken: float) -> str:
    """Return how far a replay is that has replayed some seconds of a journal.

    >>> progress_text(300.0, 1200.0, 20.0)
    'replaying: 25 % of 20 min, about 60 s left'
    """
    share = min(1.0, max(0.0, replayed / whole)) if whole > 0 else 0.0
    shown = f"replaying: {share:.0%}".replace("%", " %") + f" of {duration_text(whole)}"
    if share < _LEAST:
        return shown
    return f"{shown}, about {duration_text(taken / share - taken)} left"
