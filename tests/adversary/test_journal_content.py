"""Journals whose files or entries were made to harm whoever reads them."""

from __future__ import annotations

import gzip
import json
import os
import random
import socket
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from mooring.cli.main import main
from mooring.journal import frames
from mooring.journal.entries import FORMAT
from mooring.journal.frames import make_frame, read_frames
from mooring.journal.segments import list_segments, segment_path
from tests.replay.recordings import journaled, schedule_some

MARK = b"MJ\xf1\x0a"
#: What a terminal could take for commands: an escape sequence, C1 controls, a change of direction.
CONTROLS = "\x1b]0;owned\x07\x9b2J\r\n\u202e"


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Sequence[bytes]:
    """Return the lines of a small journal."""
    folder = tmp_path_factory.mktemp("journal")
    journaled(folder, schedule_some)
    (segment,) = list_segments(folder)
    with segment.path.open("rb") as file:
        return b"".join(read_frames(file, "")).splitlines(keepends=True)


def open_everywhere(folder: Path) -> Iterator[int]:
    """Open a journal in every way; yield the exit statuses."""
    for command in (
        ["replay", str(folder)],
        ["replay", str(folder), "--history", "own"],
        ["explain", "web-0", "--journal", str(folder)],
        ["ui", "--no-browser", "--journal", str(folder)],
    ):
        yield main(command)


def check_refused(folder: Path, capsys: pytest.CaptureFixture[str], words: str = "") -> None:
    """Check that every way to open a journal ends with one line."""
    for status in open_everywhere(folder):
        shown = capsys.readouterr()
        errors = [line for line in shown.err.splitlines() if not line.startswith("warning: ")]
        assert (status, len(errors)) == (1, 1), shown
        assert errors[0].startswith("error: ") and words in errors[0]
        assert "Traceback" not in shown.out + shown.err


# Files.


def random_bytes(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(10_000))


def text(path: Path) -> None:
    path.write_text("apiVersion: v1\n" * 100)


def a_mark_and_random_bytes(path: Path) -> None:
    path.write_bytes(MARK + random.Random(1).randbytes(10_000))


def a_gzip_file_that_is_cut(path: Path) -> None:
    path.write_bytes(gzip.compress(b"[]\n" * 1000)[:-9])


def the_mark_of_zstd(path: Path) -> None:
    path.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(500))


def a_frame_of_four_gigabytes(path: Path) -> None:
    path.write_bytes(struct.pack("<4sII", MARK, 2**32 - 1, 1) + b"x" * 100)


def a_frame_longer_than_the_file(path: Path) -> None:
    path.write_bytes(struct.pack("<4sII", MARK, 2**28, 1) + b"x" * 100)


def zeros(path: Path) -> None:
    path.write_bytes(bytes(100_000))


def nothing(path: Path) -> None:
    path.touch()


def a_fifo(path: Path) -> None:
    os.mkfifo(path)


def a_directory(path: Path) -> None:
    path.mkdir()


def a_link_to_an_endless_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_link_to_a_file(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def a_socket(path: Path) -> None:
    before = Path.cwd()
    # The path of a socket must be short.
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(before)


FILES = [
    random_bytes,
    text,
    a_mark_and_random_bytes,
    a_gzip_file_that_is_cut,
    the_mark_of_zstd,
    a_frame_of_four_gigabytes,
    a_frame_longer_than_the_file,
    zeros,
    nothing,
    a_fifo,
    a_directory,
    a_link_to_an_endless_device,
    a_link_to_a_file,
    a_socket,
]


@pytest.mark.parametrize("make", FILES, ids=lambda make: make.__name__)
def test_a_file_that_is_no_segment_is_refused(
    make: Callable[[Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(segment_path(tmp_path, 1))
    check_refused(tmp_path, capsys)


def count_checked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which the sizes of what is checked are added."""
    sizes: list[int] = []
    checksum = frames.checksum

    def counted(data: Any) -> int:
        sizes.append(len(data))
        return checksum(data)

    monkeypatch.setattr(frames, "checksum", counted)
    return sizes


@pytest.mark.parametrize("length", [0, 2**19], ids=["short", "long"])
def test_a_file_of_marks_is_read_in_linear_time(
    length: int,
    tmp_path: Path,
    lines: Sequence[bytes],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    head = make_frame(lines[0])
    marks = struct.pack("<4sII", MARK, length, 1) * 2**17
    segment_path(tmp_path, 1).write_bytes(head + marks)
    sizes = count_checked(monkeypatch)
    check_refused(tmp_path, capsys, "is damaged at byte")
    # Each way reads the file a few times.
    assert sum(sizes) < 40 * len(marks)
    assert len(sizes) < 40 * len(marks) / 2**10


def test_a_file_that_expands_without_end_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "MAX_FRAME", 2**22)
    bomb = zlib.compress(b"\n" * 2**22, 9)
    frame = make_frame(b"\n")[:4] + struct.pack("<I", len(bomb))
    frame += struct.pack("<I", frames.checksum(bomb)) + bomb
    segment_path(tmp_path, 1).write_bytes(make_frame(HEAD.encode() + b"\n") + frame * 20)
    check_refused(tmp_path, capsys, "expands to more than 100 times its size")


@pytest.mark.parametrize("size", [1, 50], ids=["a frame each", "many in a frame"])
def test_a_segment_with_many_beginnings_is_refused_at_the_second(
    size: int,
    tmp_path: Path,
    lines: Sequence[bytes],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count = 2000
    segment_path(tmp_path, 1).write_bytes(make_frame(lines[0] * size) * (count // size))
    sizes = count_checked(monkeypatch)
    check_refused(tmp_path, capsys, "has a second beginning")
    # Each way reads little more than the first two.
    assert len(sizes) <= 40


def test_segments_that_are_far_apart_are_compared_quickly(
    tmp_path: Path, lines: Sequence[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 99_999_999):
        segment_path(tmp_path, number).write_bytes(make_frame(b"".join(lines)))
    check_refused(tmp_path, capsys, "segment-00000002.journal is missing")


# Entries.

HEAD = json.dumps(["head", 1.0, FORMAT, "0.0", "one", 1, True, "1.37", {}])
DEEP = "[" * 100_000 + "]" * 100_000


def replaced(line: bytes, place: int, value: Any) -> bytes:
    """Return a line with another value at a place."""
    entry = json.loads(line)
    entry[place] = value
    return json.dumps(entry).encode() + b"\n"


def positions(lines: Sequence[bytes], tag: str) -> list[int]:
    """Return the positions of the entries with a tag."""
    return [place for place, line in enumerate(lines) if line.startswith(f'["{tag}"'.encode())]


@pytest.mark.parametrize(
    ("tag", "place", "value"),
    [
        ("head", 1, 1e300),
        ("head", 2, "four"),
        ("head", 7, 3),
        ("head", 8, [1]),
        ("head", 8, {"kind": "KubeSchedulerConfiguration", "extenders": [3]}),
        ("head", 8, {"kind": "KubeSchedulerConfiguration", "profiles": {"a": 1}}),
        ("checkpoint", 2, "x"),
        ("checkpoint", 4, [1]),
        ("change", 1, -5.0),
        ("change", 1, "soon"),
        ("change", 2, "no-such-kind"),
        ("change", 5, []),
        ("change", 5, {"metadata": 3}),
        ("attempt", 1, 1e12),
        ("attempt", 4, 7),
    ],
)
def test_a_value_of_another_type_is_one_line(
    tag: str,
    place: int,
    value: Any,
    tmp_path: Path,
    lines: Sequence[bytes],
    capsys: pytest.CaptureFixture[str],
) -> None:
    spoiled = list(lines)
    where = positions(lines, tag)[0]
    spoiled[where] = replaced(lines[where], place, value)
    segment_path(tmp_path, 1).write_bytes(make_frame(b"".join(spoiled)))
    check_refused(tmp_path, capsys)


@pytest.mark.parametrize(
    "line",
    [
        HEAD.replace("{}", DEEP),
        DEEP,
        f'["change", 1.0, "pods.v1.", "a", "b", {DEEP}]',
        f'["extender", 1.0, "a", "filter", "u", {DEEP}]',
    ],
    ids=["head", "entry", "object", "answer"],
)
@pytest.mark.parametrize("first", [True, False], ids=["first", "later"])
def test_depth_is_one_line(
    line: str,
    first: bool,
    tmp_path: Path,
    lines: Sequence[bytes],
    capsys: pytest.CaptureFixture[str],
) -> None:
    deep = line.encode() + b"\n"
    content = [deep, *lines] if first else [*lines[:3], deep, *lines[3:]]
    segment_path(tmp_path, 1).write_bytes(make_frame(b"".join(content)))
    check_refused(tmp_path, capsys)


def test_control_characters_of_a_journal_are_escaped(
    tmp_path: Path, lines: Sequence[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    evil = json.dumps(CONTROLS).encode()[1:-1]
    for name, changed in (
        ("message", [line.replace(b"nodes are available", evil) for line in lines]),
        ("node", [line.replace(b'"big"', b'"big' + evil + b'"') for line in lines]),
        ("plugin", [line.replace(b"NodeResourcesFit", b"Fit" + evil) for line in lines]),
        ("version", [replaced(replaced(lines[0], 3, CONTROLS), 2, 99), *lines[1:]]),
        ("kind", [line.replace(b'"nodes.v1."', b'"n' + evil + b'.v1."') for line in lines]),
    ):
        folder = tmp_path / name
        folder.mkdir()
        segment_path(folder, 1).write_bytes(make_frame(b"".join(changed)))
        for command in (
            ["replay", str(folder)],
            ["replay", str(folder), "-o", "json"],
            ["explain", "huge", "--journal", str(folder)],
            ["explain", "huge", "--journal", str(folder), "-o", "json"],
            ["explain", "huge", "--journal", str(folder), "-o", "yaml"],
        ):
            main(command)
            shown = capsys.readouterr()
            found = {one for one in CONTROLS if one != "\n" and not one.isprintable()}
            assert not found.intersection(shown.out + shown.err), (name, command)


@pytest.mark.parametrize("seed", range(12))
def test_a_journal_that_was_changed_at_random_is_read_or_refused_with_one_line(
    seed: int, tmp_path: Path, lines: Sequence[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(seed)
    for number in range(4):
        folder = tmp_path / str(number)
        folder.mkdir()
        segment_path(folder, 1).write_bytes(mutated(lines, chance))
        for command in (
            ["replay", str(folder)],
            ["replay", str(folder), "--history", "own"],
            ["explain", "web-0", "--journal", str(folder)],
        ):
            status = main(command)
            shown = capsys.readouterr()
            assert status in (0, 1, 3)
            if status == 1:
                errors = [one for one in shown.err.splitlines() if not one.startswith("warning: ")]
                assert len(errors) == 1 and errors[0].startswith("error: "), shown


VALUES: Sequence[Any] = (None, True, -1, 2**40, 1e300, "", "x" * 300, [], {}, [[]], {"a": None})


def mutated(lines: Sequence[bytes], chance: random.Random) -> bytes:
    """Return the content of a segment with random changes of bytes, lines or values."""
    kind = chance.randrange(4)
    changed = list(lines)
    if kind == 0:
        whole = bytearray(make_frame(b"".join(lines[:20])) + make_frame(b"".join(lines[20:])))
        for _ in range(chance.randint(1, 4)):
            whole[chance.randrange(len(whole))] = chance.randrange(256)
        return bytes(whole[: chance.randint(1, len(whole))])
    for _ in range(chance.randint(1, 3)):
        where = chance.randrange(len(changed))
        if kind == 1:
            changed.insert(chance.randrange(len(changed)), changed.pop(where))
        elif kind == 2:
            entry = json.loads(changed[where])
            place = chance.randrange(1, len(entry))
            changed[where] = replaced(changed[where], place, chance.choice(VALUES))
        else:
            entry = json.loads(changed[where])
            spoil(entry, chance)
            changed[where] = json.dumps(entry).encode() + b"\n"
    return make_frame(b"".join(changed))


def spoil(value: Any, chance: random.Random) -> None:
    """Change something within a JSON value."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    if not keys:
        return
    key = chance.choice(keys)
    inner = value[key]
    if isinstance(inner, dict | list) and inner and chance.random() < 0.8:
        spoil(inner, chance)
    else:
        value[key] = chance.choice(VALUES)
