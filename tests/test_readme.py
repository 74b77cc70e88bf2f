"""Pages that show kubectl, followed line by line: with `mooring up`, and the real kubectl.

Blocks marked ```console kubectl are typed into one shell, in a folder that has what the reader of a
checkout has and the files that the page shows. What a command prints must be what the page shows,
apart from times, addresses and the width of columns; a command that only looks is repeated until it
is.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes import free_port
from tests.support.waiting import PATIENCE
from tests.test_docs import ROOT, TITLE, agrees, blocks, commands

PAGES = (
    "README.md",
    "docs/explain.md",
    "docs/local-cluster.md",
    "docs/ui.md",
    "docs/replay.md",
    "examples/elastic-quotas/README.md",
    "examples/gang-scheduling/README.md",
    "examples/load-aware/README.md",
    "examples/numa-alignment/README.md",
)
#: The port that an example listens on; the test uses a free one.
PORT = "2020"
LOOKS = re.compile(r"kubectl (get|describe|logs) |tail ")
_VARIES = (
    (re.compile(r"\b\d+(\.\d+)?[smhd](\d+[smhd])?\b"), "AGE"),
    (re.compile(r"127\.0\.0\.1:\d+"), "ADDRESS"),
    (re.compile(r"\b10\.244\.\d+\.\d+\b"), "IP"),
    (re.compile(r"\s+"), " "),
)
_MARK = "--- exit"


class Shell:
    """One bash, as a reader has it open."""

    def __init__(self, folder: Path, kubectl: Path) -> None:
        tools = folder / "tools"
        tools.mkdir()
        (tools / "kubectl").symlink_to(kubectl)
        # Without a width no text is wrapped.
        hidden = ("PYTEST", "KUBECONFIG", "COLUMNS")
        settings = {k: v for k, v in os.environ.items() if not any(one in k for one in hidden)}
        path = [str(Path(sys.executable).parent), str(tools), os.environ["PATH"]]
        settings |= {"HOME": str(folder), "TERM": "dumb", "PATH": os.pathsep.join(path)}
        self._process = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env=settings,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def type(self, command: str) -> tuple[int, list[str]]:
        """Return exit status and output of a command."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{command}\necho {_MARK} $?\n")
        self._process.stdin.flush()
        output: list[str] = []
        for line in self._process.stdout:
            before, mark, status = line.partition(_MARK)
            if mark:
                return int(status), [*output, before] if before else output
            output.append(line.rstrip("\n"))
        raise AssertionError(f"the shell ended at: {command}\n{output}")

    def close(self) -> None:
        """End the shell."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(20)
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture
def shell(tmp_path: Path, kubectl: Path) -> Iterator[Shell]:
    """Give a shell; a cluster that is left is ended with it."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shell = Shell(tmp_path, kubectl)
    yield shell
    shell.type("mooring down")
    shell.type("kill $(jobs -p)")
    shell.close()


def plain(lines: list[str]) -> list[str]:
    """Return lines without what differs from run to run."""
    for pattern, word in _VARIES:
        lines = [pattern.sub(word, line).strip() for line in lines]
    return lines


def use_free_port(folder: Path) -> str:
    """Write a free port into the configuration of the example that listens; return it."""
    port = str(free_port())
    config = folder / "examples" / "load-aware" / "scheduler-config.yaml"
    config.write_text(config.read_text().replace(PORT, port))
    return port


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_happens(page: str, shell: Shell, tmp_path: Path) -> None:
    typed = 0
    port = use_free_port(tmp_path)
    for block in blocks((ROOT / page).read_text().replace(PORT, port)):
        if title := TITLE.search(block.info):
            (tmp_path / title.group(1)).write_text(block.text)
        if block.language != "console" or "kubectl" not in block.info:
            continue
        for command in commands(block.text):
            typed += 1
            deadline = time.monotonic() + PATIENCE
            while True:
                status, output = shell.type(command.text)
                fits = not command.shown or agrees(plain(command.shown), plain(output))
                if status == 0 and fits:
                    break
                where = f"{page}:{block.line}: {command.text}: exit {status}"
                looks = LOOKS.match(command.text) and time.monotonic() < deadline
                assert looks, "\n".join([where, *output])
                time.sleep(0.1)
    assert typed > 8
