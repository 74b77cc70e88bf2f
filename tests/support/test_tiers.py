"""What `make check` leaves out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support import tiers

ROOT = tiers.TESTS.parent
SUITE = """
import contextlib
import socket
import subprocess

import pytest


@pytest.fixture
def server():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        yield listener


def test_alone(): ...
def test_process():
    subprocess.run(["true"])
def test_fixture(server): ...
def test_left_open():
    kept = socket.socket()
    kept.bind(("127.0.0.1", 0))
def test_disguised():
    try:
        subprocess.run(["true"])
    except BaseException as error:
        raise ValueError from error
def test_failing():
    assert False
"""


def test_what_starts_a_process_or_opens_a_socket_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(SUITE)
    (tmp_path / "conftest.py").write_text(
        "from tests.support.tiers import configure\n"
        "def pytest_configure(config):\n    configure(config)\n"
    )
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nfilterwarnings = error\nasyncio_default_fixture_loop_scope = function\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert "1 failed, 1 passed, 4 skipped" in done.stdout, done.stdout
    assert "test_it.py::test_failing FAILED" in done.stdout
    assert done.stdout.count("SKIPPED (starts a process)") == 2
    assert done.stdout.count("SKIPPED (opens a socket)") == 2


def test_everything_that_is_left_out_exists() -> None:
    names = [name for names in tiers.LEFT_OUT.values() for name in names]
    assert [name for name in names if not (tiers.TESTS / name).exists()] == []
    assert tiers.left_out(tiers.TESTS / "soak")
    assert not tiers.left_out(tiers.TESTS / "queue")
    assert not tiers.left_out(ROOT / "src" / "mooring")


def test_the_summary_says_what_was_not_run() -> None:
    lines = tiers.summary(["Skipped: starts a process", "Skipped: needs etcd"])
    assert any(line.startswith("  many seeds: ") and line.endswith("soak") for line in lines)
    assert lines[-1] == "  1 more: each starts a process"


def test_programs_that_tests_start_keep_their_bytecode() -> None:
    assert "PYTHONDONTWRITEBYTECODE" not in os.environ
    assert not sys.dont_write_bytecode
