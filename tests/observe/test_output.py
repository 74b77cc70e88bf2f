"""Output that never blocks and never fails: pipes that nobody reads, full disks, large files."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.observe import output
from mooring.observe.output import Output, steady_output

LINE = b"x" * 999 + b"\n"


def waits() -> bool:
    """Return whether a thread waits for a reader."""
    return any(thread.name == "output" for thread in threading.enumerate())


class Pipe:
    """A pipe whose reader reads only when told to."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        self.output = Output(self.writer)

    def read_until(self, end: bytes) -> bytes:
        """Return all data up to an end."""
        seen = b""
        while not seen.endswith(end):
            seen += os.read(self.reader, 2**16)
        return seen

    def close_reader(self) -> None:
        """Close the reading end, as if the reader were killed."""
        os.close(self.reader)
        self.reader = -1


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    if made.reader >= 0:
        # Closing the reading end stops the thread that waits for it to be read.
        os.close(made.reader)
        made.output.settle(10.0)
    os.close(made.writer)


def test_what_is_read_arrives_as_it_was_written(pipe: Pipe) -> None:
    assert pipe.output.write(b"one\n") == 4
    assert os.read(pipe.reader, 100) == b"one\n"
    # Nothing was pending, so no thread was needed.
    assert not waits()


def test_a_slow_reader_gets_everything_in_order(pipe: Pipe) -> None:
    lines = [b"%07d\n" % i for i in range(100_000)]
    for line in lines:
        pipe.output.write(line)
    assert pipe.read_until(lines[-1]) == b"".join(lines)
    pipe.output.settle(10.0)
    pipe.output.write(b"and on\n")
    assert os.read(pipe.reader, 100) == b"and on\n"


def test_a_pipe_that_nobody_reads_blocks_nobody(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "MOST_PENDING", 50_000)
    for _ in range(100_000):
        assert pipe.output.write(LINE) == len(LINE)
    assert pipe.output.pending_bytes <= 50_000
    # Once it is read again, a line reports how much is missing.
    kept = b""
    while b"dropped" not in kept:
        kept += os.read(pipe.reader, 2**16)
    text = kept.replace(LINE, b"").decode()
    count, _, rest = text.partition(" ")
    assert f"{count} {rest}" == output.DROPPED.format(100_000 * len(LINE) - kept.count(LINE) * 1000)


def test_a_reader_that_has_gone_fails_nobody(pipe: Pipe) -> None:
    pipe.close_reader()
    assert pipe.output.write(LINE) == len(LINE)
    assert pipe.output.dropped == len(LINE)


def test_a_reader_that_goes_while_bytes_wait_ends_the_wait(pipe: Pipe) -> None:
    for _ in range(200):
        pipe.output.write(LINE)
    assert waits()
    pipe.close_reader()
    pipe.output.settle(10.0)
    assert not waits()
    assert pipe.output.pending_bytes == 0 and pipe.output.dropped > 0


def test_a_full_disk_fails_nobody() -> None:
    number = os.open("/dev/full", os.O_WRONLY)
    try:
        full = Output(number)
        for _ in range(100):
            assert full.write(LINE) == len(LINE)
        assert full.dropped == 100 * len(LINE)
    finally:
        os.close(number)


def test_many_threads_lose_nothing(pipe: Pipe) -> None:
    def write(name: int) -> None:
        for i in range(2000):
            pipe.output.write(b"%d-%d\n" % (name, i))

    threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    seen = b""
    while seen.count(b"\n") < 8000:
        seen += os.read(pipe.reader, 2**16)
    for thread in threads:
        thread.join()
    for name in range(4):
        mine = [line for line in seen.splitlines() if line.startswith(b"%d-" % name)]
        assert mine == [b"%d-%d" % (name, i) for i in range(2000)]


def test_streams_of_others_stay() -> None:
    before = (sys.stdout, sys.stderr)
    with steady_output():
        assert (sys.stdout, sys.stderr) == before


PROGRAM = """
import sys
from pathlib import Path
from mooring.observe import output
output.MOST_LOGGED = 10_000
with output.steady_output({log}):
    for i in range(1000):
        print("a line of output", i)
        print("a line of the log", i, file=sys.stderr)
print("the end")
"""


def run(log: str = "None", **files: object) -> int:
    program = PROGRAM.format(log=log)
    return subprocess.run([sys.executable, "-c", program], timeout=60, **files).returncode  # type: ignore[call-overload]


def test_a_process_prints_to_files_as_ever(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err:
        assert run(stdout=out, stderr=err) == 0
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines == [*(f"a line of output {i}" for i in range(1000)), "the end"]
    assert len((tmp_path / "err").read_text().splitlines()) == 1000


def test_a_log_file_is_put_aside_before_it_is_too_large(tmp_path: Path) -> None:
    log = tmp_path / "up.log"
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    file = os.open(log, flags, 0o600)
    try:
        assert run(f"Path({str(log)!r})", stdout=file, stderr=file) == 0
    finally:
        os.close(file)
    older = tmp_path / "up.log.1"
    assert sorted(tmp_path.iterdir()) == [log, older]
    assert 0 < log.stat().st_size <= 10_100 and 0 < older.stat().st_size <= 10_000
    assert log.stat().st_mode & 0o777 == 0o600
    text = older.read_text() + log.read_text()
    assert text.endswith("a line of the log 999\nthe end\n")
    assert "a line of output 999" in text


def test_a_log_file_whose_folder_has_gone_is_limited_all_the_same(tmp_path: Path) -> None:
    log = tmp_path / "gone" / "up.log"
    log.parent.mkdir()
    file = os.open(log, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    log.unlink()
    log.parent.rmdir()
    try:
        assert run(f"Path({str(log)!r})", stdout=file, stderr=file) == 0
        assert os.fstat(file).st_size <= 10_100
    finally:
        os.close(file)
