"""Journals of the fault simulation."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.explain.journal.entries import (
    AttemptBegins,
    AttemptEnds,
    Bound,
    Change,
    CheckpointBegins,
    Failed,
    GaveBack,
    GroupBegins,
    GroupEnds,
    SegmentHead,
)
from mooring.explain.journal.reading import read_journal
from mooring.explain.journal.segments import list_segments
from tests.soak.soak import run_seed

#: Seeds with kills, replicas and schedulers side by side.
SEEDS = (3, 5, 8)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_journal_does_no_harm_and_can_be_read(seed: int, tmp_path: Path) -> None:
    report = run_seed(seed, journals=tmp_path)
    assert not report.violations
    bound = 0
    for folder in tmp_path.iterdir():
        entries = list(read_journal(folder))
        bound += sum(isinstance(entry, Bound) for entry in entries)
        check_order(entries)
        check_segments(folder, len(entries))
    # What was bound in the second before a kill may be missing.
    assert 0.5 * report.binds <= bound <= report.binds


def check_order(entries: list[object]) -> None:
    """Check that each run begins with its state, and that attempts are complete."""
    runs = [place for place, entry in enumerate(entries) if isinstance(entry, SegmentHead)]
    assert runs[0] == 0
    for begin, end in zip(runs, [*runs[1:], len(entries)], strict=True):
        run = entries[begin:end]
        assert isinstance(run[1], CheckpointBegins)
        assert any(isinstance(entry, Change) for entry in run)
        check_attempts(run)


def check_attempts(run: list[object]) -> None:
    """Check that in one run attempts and groups begin and end in turn."""
    attempt: AttemptBegins | None = None
    in_group = False
    for entry in run:
        if isinstance(entry, AttemptBegins):
            assert attempt is None
            assert entry.post_filter is not in_group
            attempt = entry
        elif isinstance(entry, AttemptEnds):
            assert attempt is not None
            assert entry.record.uid == attempt.uid
            assert entry.record.seed == attempt.seed
            attempt = None
        elif isinstance(entry, GroupBegins | GroupEnds):
            assert attempt is None
            assert in_group is isinstance(entry, GroupEnds)
            in_group = isinstance(entry, GroupBegins)
        elif isinstance(entry, Failed | GaveBack):
            assert attempt is None


def check_segments(folder: Path, total: int) -> None:
    """Check that the journal can be read from each segment on."""
    lengths = [total]
    for segment in list_segments(folder)[:-1]:
        segment.path.unlink()
        lengths.append(sum(1 for _ in read_journal(folder)))
    assert lengths[-1] <= total
