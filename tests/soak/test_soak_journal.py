"""Journals of the fault simulation."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from mooring.api import Pod
from mooring.journal.entries import (
    AttemptBegins,
    AttemptEnds,
    Bound,
    Change,
    CheckpointBegins,
    CheckpointEnds,
    CheckpointObject,
    Entry,
    Failed,
    GaveBack,
    GroupBegins,
    GroupEnds,
    PodUpdate,
    SegmentHead,
)
from mooring.journal.journal_reading import read_journal
from mooring.journal.segments import list_segments
from mooring.replay.recorded_informers import updated_pod
from tests.soak.soak import run_seed

#: One scheduler alone, two replicas, and two schedulers side by side; all are killed at times.
SEEDS = (5, 12, 30)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_journal_does_no_harm_and_can_be_read(seed: int, tmp_path: Path) -> None:
    report = run_seed(seed, journals=tmp_path)
    assert not report.violations
    bound = 0
    for folder in tmp_path.iterdir():
        entries = list(read_journal(folder))
        bound += sum(isinstance(entry, Bound) for entry in entries)
        check_order(entries)
        check_segments(folder, entries)
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


def check_segments(folder: Path, whole: list[Entry]) -> None:
    """Check that the journal can be read from each segment on, with the same state."""
    for segment in list_segments(folder)[:-1]:
        segment.path.unlink()
        rest = list(read_journal(folder))
        end = next(n for n, entry in enumerate(rest) if isinstance(entry, CheckpointEnds))
        later = rest[end + 1 :]
        before = whole[: len(whole) - len(later)]
        assert whole[len(before) :] == later
        if isinstance(rest[0], SegmentHead) and not rest[0].first:
            assert objects_of(rest[: end + 1]) == objects_of(before)


def objects_of(entries: Iterable[Entry]) -> dict[tuple[str, str, str], Any]:
    """Return the objects that there are after some entries, by kind, namespace and name."""
    found: dict[tuple[str, str, str], Any] = {}
    for entry in entries:
        if isinstance(entry, SegmentHead):
            found = {}
        if isinstance(entry, PodUpdate):
            key = (entry.kind, entry.namespace, entry.name)
            pod = updated_pod(msgspec.convert(found[key], Pod), entry)
            found[key] = msgspec.json.decode(msgspec.json.encode(pod))
        if not isinstance(entry, Change | CheckpointObject):
            continue
        obj = msgspec.json.decode(entry.object)
        meta = obj["metadata"]
        key = (entry.kind, meta.get("namespace", ""), meta["name"])
        if isinstance(entry, Change) and entry.deleted:
            del found[key]
        else:
            found[key] = obj
    return found


def test_a_journal_cut_anywhere_is_a_clean_prefix(tmp_path: Path) -> None:
    """Whatever a process has written when it is killed can be read, up to the last whole block."""
    run_seed(SEEDS[1], journals=tmp_path)
    folder = tmp_path / "scheduler-1"
    whole = list(read_journal(folder))
    most = len(whole)
    random = Random(1)
    for segment in reversed(list_segments(folder)):
        content = segment.path.read_bytes()
        cuts = sorted({0, 1, len(content) - 1, *random.choices(range(len(content)), k=20)})
        for cut in reversed(cuts):
            segment.path.write_bytes(content[:cut])
            left = list(read_journal(folder))
            assert left == whole[: len(left)]
            # The end of a segment may be a checkpoint, which is skipped within a run.
            assert len(left) <= most
        assert len(left) < most
        most = len(left)
        segment.path.unlink()
