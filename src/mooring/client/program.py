"""Running a program to get its output, with limits on time and memory."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence


class ProgramError(Exception):
    """A program that did not finish in time or printed too much; the text says which."""


async def run_program(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    seconds: float,
    max_bytes: int,
    terminal: bool = False,
) -> tuple[int, bytes]:
    """Run a program; return its exit code and what it printed. Standard error is inherited.

    The output is complete when the program exits, even if one of its children keeps the pipe open.
    The program runs in a new session, which is killed at the end with all its processes. With
    `terminal`, it shares this process's session and standard input, and only the program itself is
    killed. Raises OSError if it cannot be started.
    """
    loop = asyncio.get_running_loop()
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    output = ProgramOutput(loop, reading, max_bytes)
    try:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                env=environment,
                stdin=None if terminal else asyncio.subprocess.DEVNULL,
                stdout=writing,
                start_new_session=not terminal,
            )
        finally:
            os.close(writing)
        try:
            async with asyncio.timeout(seconds):
                await _first(process.wait(), output.overflow.wait())
        except TimeoutError:
            raise ProgramError(f"did not finish within {seconds:g} seconds") from None
        finally:
            _kill(process, alone=terminal)
            await process.wait()
        output.drain()
        if output.overflow.is_set():
            raise ProgramError(f"printed more than {max_bytes} bytes")
        assert process.returncode is not None
        return process.returncode, bytes(output.data)
    finally:
        output.close()


async def _first(*waits: object) -> None:
    """Wait for the first of several awaitables; cancel the others."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]  # type: ignore[call-overload]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


def _kill(process: asyncio.subprocess.Process, *, alone: bool) -> None:
    try:
        if alone:
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        # It has ended, and left no processes behind.
        pass


class ProgramOutput:
    """The data from a pipe, up to a limit."""

    def __init__(self, loop: asyncio.AbstractEventLoop, pipe: int, max_bytes: int) -> None:
        self.data = bytearray()
        #: Set once more than the limit has arrived.
        self.overflow = asyncio.Event()
        self._loop = loop
        self._pipe = pipe
        self._max_bytes = max_bytes
        self._ended = False
        loop.add_reader(pipe, self.read)

    def read(self) -> bool:
        """Read a piece; return whether more may be available."""
        try:
            piece = os.read(self._pipe, 2**16)
        except BlockingIOError:
            return False
        self.data += piece
        if len(self.data) > self._max_bytes:
            self.overflow.set()
        if not piece or self.overflow.is_set():
            self._end()
        return not self._ended

    def drain(self) -> None:
        """Read all data that is available."""
        while not self._ended and self.read():
            pass

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self._loop.remove_reader(self._pipe)

    def close(self) -> None:
        """Stop reading and close the pipe."""
        self._end()
        os.close(self._pipe)
