"""The files of a journal."""

from __future__ import annotations

from pathlib import Path

from mooring.journal.segments import list_segments, segment_path


def test_segments_are_listed_by_number_and_other_files_ignored(tmp_path: Path) -> None:
    for number in (10, 9, 100000001):
        segment_path(tmp_path, number).touch()
    for name in ("lock", "segment-1.journal", "segment-00000001.journal.gz"):
        (tmp_path / name).touch()
    found = list_segments(tmp_path)
    assert [segment.number for segment in found] == [9, 10]
    assert found[0].path.name == "segment-00000009.journal"
