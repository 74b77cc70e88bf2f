"""Processes that a test run starts, and that end with it at the latest."""

from __future__ import annotations

import ctypes
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.waiting import PATIENCE

LOOPBACK = "127.0.0.1"
PR_SET_PDEATHSIG = 1  # linux/prctl.h
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None

_handed_out: set[int] = set()
#: Seeded by the system: processes that run tests side by side draw different ports.
_RANDOM = random.SystemRandom()


def free_port() -> int:
    """Return a loopback port that nobody listens on and that was not returned before.

    It is below the ports that the kernel gives to outgoing connections, so no connection of another
    test can take it before its server listens.
    """
    while True:
        port = _RANDOM.randrange(12_000, 30_000)
        if port in _handed_out:
            continue
        with socket.socket() as listener:
            try:
                listener.bind((LOOPBACK, port))
            except OSError:
                continue
        _handed_out.add(port)
        return port


class Process:
    """A program that runs beside the tests and writes a log."""

    def __init__(
        self,
        program: Path,
        arguments: list[str],
        log: Path,
        *,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
    ) -> None:
        self.name = program.name
        self._log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=cwd,
                env=env,
                preexec_fn=_die_with_parent if _LIBC else None,
            )

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def has_left(self) -> bool:
        """Whether the program has ended."""
        return self._process.poll() is not None

    def wait_until(self, ready: Callable[[], bool], seconds: float) -> None:
        """Wait until `ready` returns True; fail with the log after some seconds."""
        deadline = time.monotonic() + seconds
        while not ready():
            if self._process.poll() is not None:
                status = self._process.returncode
                raise RuntimeError(f"{self.name} left with status {status}:\n{self.tail()}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.name} is not ready after {seconds} s:\n{self.tail()}")
            time.sleep(0.05)

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    def wait(self, seconds: float = PATIENCE) -> int:
        """Wait until the program ends by itself and return its exit status; fail on timeout."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"{self.name} runs after {seconds} s:\n{self.tail()}") from None

    def log(self) -> str:
        """Return all that the program wrote."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def tail(self, characters: int = 3000) -> str:
        """Return the end of the log."""
        return self.log()[-characters:]

    def kill(self) -> None:
        """Kill the program, so that it cannot clean up."""
        self._process.kill()
        self._process.wait()

    def stop(self, seconds: float = PATIENCE) -> int:
        """Terminate the program, kill it if that fails, and return its exit status."""
        self._process.terminate()
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._process.returncode


def _die_with_parent() -> None:
    # If the test run is killed, no fixture cleans up.
    assert _LIBC is not None
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
