"""Standard output and error that never block and never fail.

A write to a pipe that nobody reads blocks forever; a write to a pipe without a reader, or to a full
disk, fails. Neither may stop a scheduler, whether its own log or a plugin prints. So a write goes
straight to the file as long as the file accepts it. Otherwise a thread waits for the file, and
further output is kept up to a limit. Dropped bytes are counted, and reported in a line as soon as
the file accepts one. klog blocks on such a pipe, and Go ends a process whose reader has gone.

Output of C code and of child processes bypasses this module.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import stat
import sys
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

#: How many bytes are kept for a file that accepts no more.
MOST_PENDING = 4 * 2**20
#: A log file that would grow beyond this is renamed; one older file is kept.
MOST_LOGGED = 20 * 2**20
#: How long the process waits for a slow reader when it ends.
LAST_SECONDS = 1.0
DROPPED = "{} bytes of output were dropped: nobody reads it, or the disk is full\n"

# POSIX: a pipe that polls as writable accepts this much at once.
_PIECE = select.PIPE_BUF


class Output(io.RawIOBase):
    """One file descriptor, written to by any thread.

    `log` is the path of the regular file behind it, if that file is to be rotated when it is large.
    """

    def __init__(self, number: int, log: Path | None = None) -> None:
        self._number = number
        self._log = log
        self._poll = select.poll()
        self._poll.register(number, select.POLLOUT)
        # Regular files are always writable; all other kinds may have a slow reader.
        self._can_block = not stat.S_ISREG(os.fstat(number).st_mode)
        # Reentrant: a signal handler may print while its thread holds the lock.
        self._lock = threading.RLock()
        self._pending: deque[memoryview] = deque()
        #: Bytes that wait for a reader, and bytes that were dropped and not reported yet.
        self.pending_bytes = 0
        self.dropped = 0
        self._drain: threading.Thread | None = None

    def writable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._number

    def isatty(self) -> bool:
        """Return whether the descriptor is a terminal."""
        return os.isatty(self._number)

    def write(self, data: object) -> int:
        """Write, keep or drop the bytes; return their number in any case."""
        # A copy: the caller may reuse its buffer.
        rest = memoryview(bytes(data))  # type: ignore[call-overload]
        size = len(rest)
        with self._lock:
            if self._drain is None:
                self._report()
                rest = self._write_now(rest)
            if rest:
                self._keep(rest)
        return size

    def settle(self, seconds: float) -> None:
        """Wait until nothing is pending, for at most some seconds."""
        with self._lock:
            drain = self._drain
        if drain is not None:
            drain.join(seconds)

    def _keep(self, rest: memoryview) -> None:
        if self.pending_bytes + len(rest) > MOST_PENDING:
            self.dropped += len(rest)
            return
        self._pending.append(rest)
        self.pending_bytes += len(rest)
        if self._drain is None:
            # A daemon thread: a missing reader does not keep the process alive.
            self._drain = threading.Thread(target=self._wait, name="output", daemon=True)
            self._drain.start()

    def _report(self) -> None:
        """Write how much was dropped, if the file accepts it."""
        if self.dropped:
            dropped, self.dropped = self.dropped, 0
            line = memoryview(DROPPED.format(dropped).encode())
            if self._write_now(line) or self.dropped:
                self.dropped = dropped

    def _write_now(self, rest: memoryview) -> memoryview:
        """Write as much as possible without waiting, and return the rest; drop it on an error."""
        try:
            self._rotate(len(rest))
            while rest and (not self._can_block or self._poll.poll(0)):
                rest = rest[os.write(self._number, rest[:_PIECE] if self._can_block else rest) :]
        except OSError:
            self.dropped += len(rest)
            return rest[:0]
        return rest

    def _wait(self) -> None:
        """Write what is pending, however long that takes; the body of the thread."""
        while True:
            with self._lock:
                if not self._pending:
                    self._drain = None
                    self._report()
                    return
                piece = self._pending[0][:_PIECE]
            try:
                written = os.write(self._number, piece)
            except OSError:
                written = 0
            with self._lock:
                if not written:
                    self.dropped += self.pending_bytes
                    self._pending.clear()
                    self.pending_bytes = 0
                    continue
                self.pending_bytes -= written
                self._pending[0] = self._pending[0][written:]
                if not self._pending[0]:
                    self._pending.popleft()

    def _rotate(self, more: int) -> None:
        if self._log is None or self._can_block:
            return
        size = os.fstat(self._number).st_size
        if not size or size + more <= MOST_LOGGED:
            return
        try:
            self._log.replace(self._log.with_name(f"{self._log.name}.1"))
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
            fresh = os.open(self._log, flags, 0o600)
        except OSError:
            # The directory is gone or read-only; the limit is enforced all the same.
            os.ftruncate(self._number, 0)
            return
        for stream in (sys.__stdout__, sys.__stderr__):
            if stream is not None:
                os.dup2(fresh, stream.fileno())
        os.close(fresh)


@contextlib.contextmanager
def steady_output(log: Path | None = None) -> Iterator[None]:
    """Make `sys.stdout` and `sys.stderr` never block and never fail.

    `log` is the path of the file that both are written to, if its size is to be limited. Streams
    that someone else has replaced already are left alone.
    """
    before = (sys.stdout, sys.stderr)
    made: list[Output] = []
    try:
        if sys.__stdout__ is not None and sys.stdout is sys.__stdout__:
            sys.stdout = _text(sys.__stdout__, log, made)
        if sys.__stderr__ is not None and sys.stderr is sys.__stderr__:
            sys.stderr = _text(sys.__stderr__, log, made)
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and stream not in before:
                stream.flush()
        sys.stdout, sys.stderr = before
        for output in made:
            output.settle(LAST_SECONDS)


def _text(stream: TextIO, log: Path | None, made: list[Output]) -> io.TextIOWrapper:
    with contextlib.suppress(OSError):
        stream.flush()
    output = Output(stream.fileno(), log)
    made.append(output)
    # There is no byte buffer in between: it would refuse writes from a signal handler.
    return io.TextIOWrapper(
        output,  # type: ignore[arg-type]  # it is only written to
        encoding="utf-8",
        errors="backslashreplace",
        line_buffering=True,
    )
