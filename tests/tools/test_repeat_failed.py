"""Running the tests that failed once more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "repeat_failed.py"
LOUD = "PASSED ONLY AT THE SECOND RUN"

# `shaky` fails in the first process that runs it.
TESTS = """
from pathlib import Path
import pytest

def test_good():
    with Path("runs").open("a") as file:
        file.write("good ")

def test_shaky():
    mark = Path("mark")
    if not mark.exists():
        mark.touch()
        pytest.fail("busy")

def test_broken():
    assert not Path("broken").exists()

@pytest.mark.parametrize("at", range(6))
def test_many(at):
    assert not Path("many").exists()
"""


class Suite:
    """A folder of tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "test_it.py").write_text(TESTS)
        (folder / "mark").touch()
        (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "MOORING_REPEATED": str(self.folder / "log")}
        return subprocess.run(
            [sys.executable, TOOL, "-q", "--rootdir=.", "-p", "xdist", *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
        )

    @property
    def log(self) -> str:
        path = self.folder / "log"
        return path.read_text() if path.exists() else ""


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


def test_nothing_is_repeated_if_all_pass(suite: Suite) -> None:
    done = suite.run()
    assert done.returncode == 0
    assert "!!!" not in done.stdout
    assert suite.log == ""


def test_a_test_that_passes_at_the_second_run_is_named_loudly(suite: Suite) -> None:
    (suite.folder / "mark").unlink()
    done = suite.run("-n", "2")
    assert done.returncode == 0
    assert f"{LOUD}:\n  test_it.py::test_shaky\n!!!" in done.stdout
    assert suite.log == "test_it.py::test_shaky\n"
    assert (suite.folder / "runs").read_text() == "good "


def test_a_test_that_fails_twice_fails_the_run(suite: Suite) -> None:
    (suite.folder / "mark").unlink()
    (suite.folder / "broken").touch()
    done = suite.run()
    assert done.returncode == 1
    assert "These tests failed twice:\n  test_it.py::test_broken\n!!!" in done.stdout
    assert f"{LOUD}:\n  test_it.py::test_shaky\n!!!" in done.stdout


def test_many_failures_are_not_repeated(suite: Suite) -> None:
    (suite.folder / "many").touch()
    done = suite.run()
    assert done.returncode == 1
    assert "6 tests failed, too many to run them once more:" in done.stdout
    assert "run once more, alone" not in done.stdout


def test_a_run_that_did_not_take_place_is_not_repeated(suite: Suite) -> None:
    done = suite.run("nowhere.py")
    assert done.returncode == 4
    assert "!!!" not in done.stdout
