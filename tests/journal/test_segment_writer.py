"""SegmentWriter: the folder and its files."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mooring.errors import JournalError
from mooring.journal.segment_writer import SegmentWriter
from mooring.journal.segments import list_segments


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def numbers(folder: Path) -> list[int]:
    return [segment.number for segment in list_segments(folder)]


def test_only_the_user_can_read_folder_and_files(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "journal"
    before = os.umask(0)
    try:
        writer = SegmentWriter(folder)
        writer.begin()
        writer.write(b"line\n")
        writer.close()
    finally:
        os.umask(before)
    assert mode(folder) == 0o700
    assert {mode(path) for path in folder.iterdir()} == {0o600}


def test_an_open_folder_without_other_files_is_closed_to_others(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    SegmentWriter(tmp_path).close()
    assert mode(tmp_path) == 0o700


def test_an_open_folder_with_other_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes").touch()
    tmp_path.chmod(0o755)
    with pytest.raises(JournalError, match=r"has other files \(notes\): name a folder of its own"):
        SegmentWriter(tmp_path)
    assert mode(tmp_path) == 0o755
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


def test_a_second_writer_is_refused_until_the_first_has_closed(tmp_path: Path) -> None:
    first = SegmentWriter(tmp_path)
    with pytest.raises(JournalError, match="another process writes a journal there: end it, or"):
        SegmentWriter(tmp_path)
    first.close()
    SegmentWriter(tmp_path).close()


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(JournalError, match=r"--journal .*: .*: name a folder that this user"):
        SegmentWriter(tmp_path / "file" / "journal")


def test_a_restart_continues_with_the_next_number(tmp_path: Path) -> None:
    for _ in range(2):
        writer = SegmentWriter(tmp_path)
        writer.begin()
        writer.close()
    assert numbers(tmp_path) == [1, 2]


def test_the_oldest_segments_are_removed(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, max_bytes=4000)
    for _ in range(6):
        writer.begin()
        writer.write(os.urandom(300))
        # The current segment may grow to a quarter of the limit.
        writer.remove_oldest()
        writer.write(os.urandom(600))
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 4000
    writer.close()
    assert numbers(tmp_path) == [3, 4, 5, 6]


def test_the_current_segment_is_kept_whatever_its_size(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, max_bytes=3000)
    writer.begin()
    writer.begin()
    assert writer.write(os.urandom(5000)) == writer.size
    writer.remove_oldest()
    writer.close()
    assert numbers(tmp_path) == [2]


def test_a_segment_is_at_most_a_quarter_of_the_limit(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, max_bytes=4000, segment_bytes=3000)
    assert writer.segment_bytes == 1000
    writer.close()
