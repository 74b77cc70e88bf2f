"""What `make check` runs: the tests that start no process, open no socket and replay no recording.

They answer most questions about a change within minutes. `make test` runs every test.

Whole folders and files are left out by name. Any other test that is about to start a process or to
open a socket is skipped at that moment, so no list of such tests has to be kept.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

OPTION = "--check"
#: Generated examples of a test that does not choose their number; 100 otherwise.
EXAMPLES = 25
TESTS = Path(__file__).resolve().parents[1]
#: Why files and folders below tests/ are left out.
LEFT_OUT: dict[str, tuple[str, ...]] = {
    "processes and sockets": (
        "adversary",
        "browser",
        "controllers/test_kubectl.py",
        "deploy",
        "e2e",
        "faults",
        "live",
        "local",
        "reference",
        "test_docs.py",
        "test_kubectl_steps.py",
        "test_readme.py",
        "tools/test_site.py",
        "tools/test_without_parts.py",
    ),
    "recordings": ("cel/test_recorded.py", "config/test_plugin_sets.py", "conformance"),
    "many seeds": ("apiserver/test_fuzz_requests.py", "cycle/test_reuse_sequences.py", "soak"),
}
_PROCESS, _SOCKET = "starts a process", "opens a socket"
#: Audit events of Python.
_EVENTS = {
    "subprocess.Popen": _PROCESS,
    "os.posix_spawn": _PROCESS,
    "os.fork": _PROCESS,
    "os.forkpty": _PROCESS,
    "socket.bind": _SOCKET,
    "socket.connect": _SOCKET,
}


def left_out(path: Path) -> bool:
    """Return whether a file or folder is left out."""
    if not path.is_relative_to(TESTS):
        return False
    name = str(path.relative_to(TESTS))
    return any(name in names for names in LEFT_OUT.values())


def summary(reasons: Iterable[str]) -> list[str]:
    """Return lines that say what was not run, from the reasons of skipped tests too."""
    lines = ["make check did not run these, as `make test` does:"]
    lines += [f"  {reason}: {', '.join(names)}" for reason, names in LEFT_OUT.items()]
    skipped = Counter(reason.removeprefix("Skipped: ") for reason in reasons)
    lines += [
        f"  {skipped[event]} more: each {event}" for event in (_PROCESS, _SOCKET) if skipped[event]
    ]
    return lines


def configure(config: pytest.Config) -> None:
    """Skip what starts a process or opens a socket, and try fewer generated examples."""
    config.pluginmanager.register(Guard())
    # A test that is skipped in its middle leaves things open.
    for warning in ("ResourceWarning", "pytest.PytestUnraisableExceptionWarning"):
        config.addinivalue_line("filterwarnings", f"ignore::{warning}")
    settings.register_profile("check", settings(), max_examples=EXAMPLES)
    settings.load_profile("check")


class Guard:
    """A plugin that skips each test that is about to start a process or to open a socket."""

    def __init__(self) -> None:
        self._runs = False
        self._noted = ""
        # There is no way to remove it; it does nothing between the tests.
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._runs and event in _EVENTS:
            self._noted = _EVENTS[event]
            raise pytest.skip.Exception(self._noted)

    def _guarded(self) -> Generator[None, object, object]:
        self._noted, self._runs = "", True
        try:
            return (yield)
        except BaseException:
            # What was refused may have come out as another failure.
            if self._noted:
                raise pytest.skip.Exception(self._noted) from None
            raise
        finally:
            self._runs = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Generator[None, object, object]:
        """Watch the fixtures."""
        return (yield from self._guarded())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        """Watch the test."""
        return (yield from self._guarded())
