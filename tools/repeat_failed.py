"""Run pytest, and run the tests that failed once more, alone.

Usage: python tools/repeat_failed.py [PYTEST-ARGUMENTS]

A test that starts processes can fail on a machine that is busy with something else. A test that
fails twice fails the run; so do more than five failed tests, which are not repeated. The tests that
passed only at the second run are listed, and appended to the file that $MOORING_REPEATED names.

This module is also the pytest plugin that notes the failed tests and selects them; pytest's own
does the same, but a suite may have turned it off.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

#: More failed tests than these are not the machine's fault.
MOST = 5
VARIABLE = "MOORING_REPEATED"
# Between this program and its plugin: the file of failed tests, and the tests to run.
_FILE, _ONLY = "MOORING_FAILED_TESTS", "MOORING_ONLY_TESTS"
# pytest's exit status if tests ran and some failed.
_FAILED = 1


class FailedTests:
    """A plugin that writes the names of the failed tests to a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure, also of a fixture."""
        if report.failed:
            self._names.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        self._path.write_text(json.dumps(sorted(self._names)))


def pytest_configure(config: pytest.Config) -> None:
    """Note failures, except in xdist's workers, which report to the process that started them."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(FailedTests(Path(os.environ[_FILE])))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep only the tests that are repeated, if there are some."""
    if only := json.loads(os.environ[_ONLY]):
        config.hook.pytest_deselected(items=[one for one in items if one.nodeid not in only])
        items[:] = [one for one in items if one.nodeid in only]


def run(arguments: list[str], only: list[str]) -> tuple[int, list[str]]:
    """Run pytest, on some tests if these are given; return its status and the failed tests."""
    with tempfile.TemporaryDirectory(prefix="failed-tests-") as folder:
        path = Path(folder) / "failed"
        places = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, places)),
            _FILE: str(path),
            _ONLY: json.dumps(only),
        }
        command = [sys.executable, "-m", "pytest", "-p", Path(__file__).stem, *arguments]
        status = subprocess.run(command, env=environment).returncode
        return status, json.loads(path.read_text()) if path.exists() else []


def announce(title: str, tests: list[str]) -> None:
    """Print a list of tests so that nobody overlooks it."""
    line = "!" * 80
    print(f"\n{line}\n{title}", *(f"  {test}" for test in tests), line, sep="\n", flush=True)


def main(arguments: list[str]) -> int:
    """Run the tests; return 0 if each passed at the first or the second run."""
    status, failed = run(arguments, [])
    if status != _FAILED or not failed:
        return status
    if len(failed) > MOST:
        announce(f"{len(failed)} tests failed, too many to run them once more:", failed)
        return status
    announce("These tests failed and are run once more, alone:", failed)
    status, again = run([*arguments, "-n", "0"], failed)
    if status not in (0, _FAILED):
        return status
    if again:
        announce("These tests failed twice:", again)
    if passed := [test for test in failed if test not in again]:
        announce("These tests PASSED ONLY AT THE SECOND RUN:", passed)
        if log := os.environ.get(VARIABLE):
            with Path(log).open("a") as file:
                file.writelines(f"{test}\n" for test in passed)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
