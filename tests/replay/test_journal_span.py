"""The part of a journal that flags name."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.errors import ConfigError, JournalError
from mooring.journal.entries import SegmentHead
from mooring.journal.segments import segment_path
from mooring.replay.journal_span import first_entry, journal_end, read_moment
from tests.journal.journals import read
from tests.replay.recordings import journaled, schedule_some


def test_moments(tmp_path: Path) -> None:
    journaled(tmp_path, schedule_some)
    end = max(entry.time for entry in read(tmp_path))
    assert journal_end(tmp_path) == end
    assert read_moment(tmp_path, "--from", None) is None
    assert read_moment(tmp_path, "--from", "2027-01-15T08:00:01Z") == 1_800_000_001.0
    assert read_moment(tmp_path, "--from", "10m") == end - 600.0
    assert read_moment(tmp_path, "--to", "-90s") == end - 90.0


def test_a_moment_that_makes_no_sense(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'--from must be a time .* got "yesterday"'):
        read_moment(tmp_path, "--from", "yesterday")


def test_a_folder_without_a_journal(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="holds no journal"):
        read_moment(tmp_path, "--from", "10m")


def test_a_journal_without_an_entry(tmp_path: Path) -> None:
    segment_path(tmp_path, 1).touch()
    with pytest.raises(JournalError, match="holds no complete entry"):
        first_entry(tmp_path)
    journaled(tmp_path, schedule_some)
    assert isinstance(first_entry(tmp_path), SegmentHead)
