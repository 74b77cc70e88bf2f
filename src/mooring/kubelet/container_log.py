"""The log of a container: lines, each with the time at which it was written."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from pathlib import Path

from mooring.api import parse_time
from mooring.api.timestamps import format_micro_time
from mooring.apiserver.subresources.pod_logs import PodLogOptions
from mooring.observe.clock import Clock

#: Above this size a log is rotated, and one older file is kept (kubelet: containerLogMaxSize).
MOST_BYTES = 10 * 1024 * 1024
# Longer lines are split (containerd: max_container_log_line_size).
_LINE = 16 * 1024
_CHUNK = 64 * 1024


class ContainerLog:
    """The output of one run of a container, kept in a file. Owned by one event loop."""

    def __init__(self, path: Path, clock: Clock, *, most: int = MOST_BYTES) -> None:
        self._path = path
        self._older = path.with_suffix(".older")
        self._clock = clock
        self._most = most
        self._rest = b""
        self._file = open(  # noqa: SIM115 - open as long as the container runs
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb", buffering=0
        )
        self._size = 0
        #: How many bytes were written before the present file, and how many of them are kept.
        self._before = 0
        self._kept = 0
        self._grown = asyncio.Event()
        self._closed = False

    def append(self, data: bytes) -> None:
        """Add output; a line is written to the file once it is complete."""
        *lines, rest = (self._rest + data).split(b"\n")
        while len(rest) >= _LINE:
            lines.append(rest[:_LINE])
            rest = rest[_LINE:]
        self._rest = rest
        if lines:
            self._write(lines)

    def close(self) -> None:
        """Close the log: nothing more is written, and readers that follow it end."""
        if self._closed:
            return
        if self._rest:
            self._write([self._rest])
            self._rest = b""
        self._closed = True
        self._file.close()
        self._grown.set()

    def remove(self) -> None:
        """Delete the files."""
        self.close()
        self._path.unlink(missing_ok=True)
        self._older.unlink(missing_ok=True)

    def _write(self, lines: list[bytes]) -> None:
        when = format_micro_time(self._clock.wall_time()).encode()
        data = b"".join(b"%s %s\n" % (when, line) for line in lines)
        if self._size and self._size + len(data) > self._most:
            self._turn()
        self._file.write(data)
        self._size += len(data)
        self._grown.set()
        self._grown = asyncio.Event()

    def _turn(self) -> None:
        self._file.close()
        self._path.replace(self._older)
        self._before += self._size
        self._kept, self._size = self._size, 0
        self._file = open(  # noqa: SIM115 - as above
            os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb", buffering=0
        )

    def tail_text(self, lines: int, most: int) -> str:
        """Return the end of the log as text."""
        found = deque((line.partition(b" ")[2] for line in self._lines()), maxlen=lines)
        return b"\n".join(found)[-most:].decode(errors="replace")

    async def read(self, options: PodLogOptions) -> AsyncGenerator[bytes, None]:
        """Yield the part of the log that the options of `kubectl logs` select."""
        left = options.limit_bytes
        async for line in self._chosen(options):
            text = line if options.timestamps else line.partition(b" ")[2]
            text += b"\n"
            if left is not None:
                text = text[:left]
                left -= len(text)
            yield text
            if left == 0:
                return

    async def _chosen(self, options: PodLogOptions) -> AsyncIterator[bytes]:
        at = self._before + self._size
        known = list(self._since(self._lines(), options))
        if options.tail is not None:
            known = known[max(0, len(known) - options.tail) :]
        for line in known:
            yield line
        while options.follow:
            grown = self._grown
            at = max(at, self._before - self._kept)
            if data := self._read_from(at):
                at += len(data)
                for line in data.split(b"\n")[:-1]:
                    yield line
            elif self._closed:
                return
            else:
                await grown.wait()

    def _since(self, lines: Iterator[bytes], options: PodLogOptions) -> Iterator[bytes]:
        earliest = options.since_time
        if options.since_seconds is not None:
            earliest = self._clock.wall_time() - options.since_seconds
        for line in lines:
            if earliest is not None:
                if parse_time(line.partition(b" ")[0].decode()) < earliest:
                    continue
                earliest = None
            yield line

    def _lines(self) -> Iterator[bytes]:
        for path in (self._older, self._path):
            if path.exists():
                yield from path.read_bytes().split(b"\n")[:-1]

    def _read_from(self, at: int) -> bytes:
        path, start = (self._path, self._before)
        if at < start:
            path, start = self._older, start - self._kept
        with path.open("rb") as file:
            file.seek(at - start)
            data = file.read(_CHUNK)
        # Return whole lines only; a line is always shorter than a chunk.
        return data[: data.rfind(b"\n") + 1]
