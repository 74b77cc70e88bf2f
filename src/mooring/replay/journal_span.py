"""The part of a journal that a command line asks for."""

from __future__ import annotations

import math
import os

from mooring.api.durations import Duration
from mooring.api.timestamps import parse_time
from mooring.errors import ConfigError, JournalError, ObjectError
from mooring.journal.entries import Entry
from mooring.journal.journal_reading import read_journal


def first_entry(folder: str | os.PathLike[str]) -> Entry:
    """Return the first entry of a journal; raise JournalError if there is none."""
    for entry in read_journal(folder):
        return entry
    raise JournalError(
        f"{folder} holds no complete entry of a journal: its writer ended before it had written "
        "one, or the files are damaged; restore them from a copy"
    )


def journal_end(folder: str | os.PathLike[str]) -> float:
    """Return the time of the last entry of a journal."""
    last = -math.inf
    for entry in read_journal(folder, since=math.inf):
        last = max(last, entry.time)
    return last


def read_moment(folder: str | os.PathLike[str], flag: str, text: str | None) -> float | None:
    """Return a moment that a flag names, in seconds since the epoch; None if it names none.

    It is a time ("2026-01-02T15:04:05Z"), or a duration before the end of the journal ("10m").
    """
    if text is None:
        return None
    try:
        return parse_time(text)
    except ObjectError:
        pass
    try:
        seconds = Duration.parse(text).seconds
    except ValueError:
        raise ConfigError(
            f'{flag} must be a time such as "2006-01-02T15:04:05Z", or a duration before the end '
            f'of the journal such as "10m", got "{text}"'
        ) from None
    return journal_end(folder) - abs(seconds)
