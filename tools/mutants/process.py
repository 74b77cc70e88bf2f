"""Process: a fork that can be waited for, and ended with all processes it started."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import NoReturn

#: The exit status of a fork that failed for a reason other than its tests.
BROKEN = 99


class Process:
    """A fork of this process, in its own process group, that runs one function.

    It has `limit` seconds, and `grace` more to end the processes that it waits for.
    """

    def __init__(
        self,
        run: Callable[[], int],
        limit: float,
        output: str | None = None,
        grace: float = 0,
    ) -> None:
        self._grace = grace
        self._deadline = time.monotonic() + limit
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            self._become(run, output)
        with contextlib.suppress(OSError):
            os.setpgid(self.pid, self.pid)

    def _become(self, run: Callable[[], int], output: str | None) -> NoReturn:
        status = BROKEN
        try:
            with contextlib.suppress(OSError):
                os.setpgid(0, 0)
            if output is not None:
                target = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                for descriptor in (1, 2):
                    os.dup2(target, descriptor)
            status = run()
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(BaseException):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)

    def wait(self) -> int:
        """Wait for the process to end and return its status; kill it when its time is up.

        It is also ended if this process is interrupted meanwhile.
        """
        pause = 0.001
        try:
            while time.monotonic() < self._deadline:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self._kill()
                    return os.waitstatus_to_exitcode(status)
                time.sleep(pause)
                pause = min(2 * pause, 0.05)
        except BaseException:
            self.end()
            raise
        self.end()
        return -signal.SIGKILL

    def end(self) -> None:
        """Ask the process to end with the processes it waits for; then kill what is left."""
        os.kill(self.pid, signal.SIGTERM)
        self._deadline = time.monotonic() + self._grace
        while os.waitpid(self.pid, os.WNOHANG)[0] == 0:
            if time.monotonic() > self._deadline:
                self._kill()
                os.waitpid(self.pid, 0)
                return
            time.sleep(0.01)
        self._kill()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
