"""Reading a journal."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.errors import JournalError
from mooring.journal.entries import (
    FORMAT,
    Bound,
    CheckpointBegins,
    CheckpointEnds,
    CheckpointObject,
    Entry,
    SegmentHead,
)
from mooring.journal.frames import make_frame
from mooring.journal.journal_reading import read_journal
from mooring.journal.segments import segment_path
from tests.journal.journals import read, simple_head

BEGINS = CheckpointBegins(1.0, 0, 7)
OBJECT = CheckpointObject(1.0, "pods.v1.", msgspec.Raw(b'{"metadata":{"name":"a"}}'))
ENDS = CheckpointEnds(1.0, 1)


def bound(time: float) -> Bound:
    return Bound(time, "uid", "node")


def frame(entries: Sequence[Entry]) -> bytes:
    return make_frame(b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries))


def write(folder: Path, number: int, *frames: Sequence[Entry]) -> Path:
    """Write a segment of some frames and return its path; heads get the number."""
    path = segment_path(folder, number)
    numbered = [
        [
            replace(entry, number=number) if isinstance(entry, SegmentHead) else entry
            for entry in entries
        ]
        for entries in frames
    ]
    path.write_bytes(b"".join(map(frame, numbered)))
    return path


def times(folder: Path, **limits: float) -> list[float]:
    """Return the times of the entries Bound."""
    return [entry.time for entry in read(folder, Bound, **limits)]


def test_a_checkpoint_comes_before_what_was_written_between_its_parts(tmp_path: Path) -> None:
    write(tmp_path, 1, [simple_head(), BEGINS, bound(2.0), OBJECT, bound(3.0)], [ENDS, bound(4.0)])
    head, *rest = read_journal(tmp_path)
    assert isinstance(head, SegmentHead)
    assert rest == [BEGINS, OBJECT, ENDS, bound(2.0), bound(3.0), bound(4.0)]


def test_within_a_run_only_the_first_checkpoint_is_returned(tmp_path: Path) -> None:
    write(tmp_path, 1, [simple_head(), BEGINS, ENDS, bound(2.0)])
    write(tmp_path, 2, [simple_head(), BEGINS, OBJECT, bound(3.0), ENDS, bound(4.0)])
    write(tmp_path, 3, [simple_head("two"), BEGINS, ENDS, bound(5.0)])
    assert times(tmp_path) == [2.0, 3.0, 4.0, 5.0]
    assert [head.run for head in read(tmp_path, SegmentHead)] == ["one", "two"]


def test_a_later_segment_of_a_run_needs_no_complete_checkpoint(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, 1, [simple_head(), BEGINS, ENDS, bound(2.0)])
    write(tmp_path, 2, [simple_head(), BEGINS, OBJECT, bound(3.0)])
    assert times(tmp_path) == [2.0, 3.0]
    assert not caplog.records


def test_since_begins_with_the_last_complete_checkpoint_before(tmp_path: Path) -> None:
    for number, complete in ((1, True), (2, True), (3, False), (4, True)):
        head = replace(simple_head(), time=number * 10.0)
        middle: list[Entry] = [ENDS] if complete else []
        write(tmp_path, number, [head, BEGINS, *middle, bound(number * 10.0 + 1)])
    assert times(tmp_path, since=5.0) == [11.0, 21.0, 31.0, 41.0]
    assert times(tmp_path, since=20.0) == [21.0, 31.0, 41.0]
    assert times(tmp_path, since=35.0) == [21.0, 31.0, 41.0]
    assert times(tmp_path, since=99.0) == [41.0]
    assert times(tmp_path, since=20.0, until=31.0) == [21.0, 31.0]


def test_a_torn_end_of_a_run_is_left_out_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path, 1, [simple_head(), BEGINS, ENDS, bound(2.0)], [bound(3.0)])
    path.write_bytes(path.read_bytes()[:-1])
    write(tmp_path, 2, [simple_head("two"), BEGINS, ENDS, bound(4.0)])
    with caplog.at_level(logging.WARNING):
        assert times(tmp_path) == [2.0, 4.0]
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_torn_end_within_a_run_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, 1, [simple_head(), BEGINS, ENDS, bound(2.0)], [bound(3.0)])
    path.write_bytes(path.read_bytes()[:-1])
    write(tmp_path, 2, [simple_head(), BEGINS, ENDS, bound(4.0)])
    with pytest.raises(JournalError, match=r"damaged at byte \d+, but the journal goes on: rest"):
        read(tmp_path)


@given(st.data())
def test_every_prefix_of_a_segment_is_a_clean_prefix_of_its_entries(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    frames = [[simple_head(), BEGINS, ENDS], [bound(2.0), bound(3.0)], [bound(4.0)]]
    path = write(folder, 1, *frames)
    whole = read(folder)
    content = path.read_bytes()
    cut = data.draw(st.integers(0, len(content)))
    path.write_bytes(content[:cut])
    left = read(folder)
    assert left == whole[: len(left)]
    assert (len(left) == len(whole)) == (cut == len(content))


def test_a_segment_of_a_run_that_is_missing_is_an_error(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        write(tmp_path, number, [simple_head(), BEGINS, ENDS, bound(number)])
    segment_path(tmp_path, 2).unlink()
    with pytest.raises(JournalError, match=r"segment-00000002.journal is missing or empty: rest"):
        read(tmp_path)
    segment_path(tmp_path, 1).unlink()
    assert times(tmp_path) == [3.0]


def test_an_empty_segment_between_two_runs_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, 1, [simple_head(), BEGINS, ENDS, bound(1.0)])
    segment_path(tmp_path, 2).touch()
    write(tmp_path, 3, [simple_head("two"), BEGINS, ENDS, bound(3.0)])
    assert times(tmp_path) == [1.0, 3.0]


def test_an_empty_segment_within_a_run_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, 1, [simple_head(), BEGINS, ENDS, bound(1.0)])
    segment_path(tmp_path, 2).touch()
    write(tmp_path, 3, [simple_head(), BEGINS, ENDS, bound(3.0)])
    with pytest.raises(JournalError, match=r"segment-00000002.journal is missing or empty"):
        read(tmp_path)


def test_oldest_segments_without_a_complete_checkpoint_are_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, 1, [simple_head(), BEGINS, OBJECT, bound(1.0)])
    write(tmp_path, 2, [simple_head("two"), BEGINS, ENDS, bound(2.0)])
    with caplog.at_level(logging.WARNING):
        assert times(tmp_path) == [2.0]
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_journal_without_any_complete_checkpoint_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, 1, [simple_head(), BEGINS, OBJECT, bound(1.0)])
    with pytest.raises(JournalError, match=r"without its beginning: .*checkpoint"):
        read(tmp_path)


def test_a_segment_that_does_not_begin_with_a_head_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, 1, [BEGINS, ENDS, bound(1.0)])
    with pytest.raises(JournalError, match="is without its beginning: restore it from a copy, or"):
        read(tmp_path)


def test_a_newer_format_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, 1, [replace(simple_head(), format=FORMAT + 1, mooring="9.0"), BEGINS, ENDS])
    with pytest.raises(
        JournalError, match=rf"newer version \(format {FORMAT + 1}, Mooring 9.0; .*9.0 or newer"
    ):
        read(tmp_path)


def test_the_entries_before_an_unknown_one_of_the_same_frame_are_read(tmp_path: Path) -> None:
    path = write(tmp_path, 1, [simple_head(), BEGINS, ENDS])
    lines = msgspec.json.encode(bound(1.0)) + b'\n["news",1.0]\n'
    path.write_bytes(path.read_bytes() + make_frame(lines))
    entries = read_journal(tmp_path)
    assert [next(entries) for _ in range(4)][-1] == bound(1.0)
    with pytest.raises(JournalError, match="does not know"):
        next(entries)


def test_an_unknown_entry_names_the_version_that_wrote_it(tmp_path: Path) -> None:
    path = write(tmp_path, 1, [simple_head(), BEGINS, ENDS])
    path.write_bytes(path.read_bytes() + make_frame(b'["news",1.0]\n'))
    with pytest.raises(JournalError, match=r"does not know .*: read it with Mooring 0.0, which"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda path: None, "No such file or directory: name the folder of a journal"),
        (lambda path: path.mkdir(), r"holds no journal .*: name the folder that was given"),
    ],
    ids=["a folder that does not exist", "a folder without segments"],
)
def test_a_folder_that_holds_no_journal_is_an_error(
    make: object, text: str, tmp_path: Path
) -> None:
    assert callable(make)
    make(tmp_path / "journal")
    with pytest.raises(JournalError, match=text):
        read(tmp_path / "journal")


def test_a_segment_that_is_removed_while_the_journal_is_read_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, 1, [simple_head(), BEGINS, ENDS, bound(1.0)])
    second = write(tmp_path, 2, [simple_head(), BEGINS, ENDS, bound(2.0)])
    entries = read_journal(tmp_path)
    next(entries)
    second.unlink()
    with pytest.raises(JournalError, match=r"was removed meanwhile, .*: read it again"):
        list(entries)
