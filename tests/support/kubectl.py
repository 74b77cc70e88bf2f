"""The real kubectl, run with command lines as a user types them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from pathlib import Path

from tests.support.processes import Process
from tests.support.waiting import PATIENCE

#: Ages in kubectl's output, which differ between runs.
_AGE = re.compile(r"\b\d+(d\d+h|h\d+m|m\d+s|[smhd])\b")


class Kubectl:
    """The kubectl of one cluster; relative paths start at `folder`."""

    def __init__(self, program: Path, kubeconfig: Path, folder: Path) -> None:
        self._program = program
        self.folder = folder
        # kubectl caches a server's discovery in the home folder, so each cluster gets its own.
        self.environment = {
            **os.environ,
            "KUBECONFIG": str(kubeconfig),
            "HOME": str(kubeconfig.parent),
        }

    def __call__(self, command: str, *, stdin: str | None = None) -> str:
        """Run a command line, given without the word kubectl; return its output."""
        ended = self.run(command, stdin)
        if ended.returncode != 0:
            raise AssertionError(f"kubectl {command}: {ended.stdout}{ended.stderr}")
        return ended.stdout

    def refused(self, command: str, *, stdin: str | None = None) -> str:
        """Run a command line that must fail; return its error output."""
        ended = self.run(command, stdin)
        assert ended.returncode != 0, f"kubectl {command} did not fail: {ended.stdout}"
        return ended.stderr

    def until(self, command: str, part: str, seconds: float = PATIENCE) -> str:
        """Repeat a command line until its output contains a text; return that output."""
        deadline = time.monotonic() + seconds
        while True:
            ended = self.run(command)
            if ended.returncode == 0 and part in ended.stdout:
                return ended.stdout
            if time.monotonic() > deadline:
                said = ended.stdout + ended.stderr
                raise AssertionError(f"kubectl {command} never showed {part!r}: {said}")
            time.sleep(0.05)

    def start(self, command: str, log: Path) -> Process:
        """Start a command line that does not end by itself, such as `logs -f`."""
        return Process(
            self._program, shlex.split(command), log, cwd=self.folder, env=self.environment
        )

    def run(self, command: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command line, and return the completed process."""
        return subprocess.run(
            [self._program, *shlex.split(command)],
            cwd=self.folder,
            env=self.environment,
            # Without input, kubectl must not read from the terminal.
            input=stdin or "",
            capture_output=True,
            text=True,
            timeout=60,
        )


def table(printed: str) -> list[list[str]]:
    """Return the cells of a printed table, line by line; ages become AGE."""
    lines = (re.split(r"\s{2,}", line.strip()) for line in printed.splitlines())
    return [[_AGE.sub("AGE", cell) for cell in cells] for cells in lines]
