"""Survey: which tests run which lines, and how long each test takes, without any mutant."""

from __future__ import annotations

import sys
import threading
import time
from types import FrameType
from typing import Any

import msgspec

#: Stands for code that ran outside any test: imports, and values that tests are made from.
NO_TEST = ""


class Survey(msgspec.Struct):
    """The result of one run of a room's tests."""

    #: Seconds that each test took, under the tracer.
    seconds: dict[str, float] = msgspec.field(default_factory=dict)
    #: The tests that ran each line of a file.
    tests: dict[tuple[str, int], set[str]] = msgspec.field(default_factory=dict)
    #: How many tests failed.
    failed: int = 0

    def of(self, path: str, lines: range) -> set[str]:
        """Return the tests that run some lines."""
        return set().union(*(self.tests.get((path, line), ()) for line in lines))


class Surveyor:
    """A tracer of the lines of some files, which fills a Survey."""

    def __init__(self, files: set[str]) -> None:
        self.survey = Survey()
        self.files = files
        self._test = NO_TEST
        self._began = 0.0

    def start(self) -> None:
        """Trace this thread and those that it starts."""
        threading.settrace(self._enter)
        sys.settrace(self._enter)

    def stop(self) -> None:
        """End the trace."""
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]

    def begin(self, test: str) -> None:
        """Record that a test begins."""
        self._test = test
        self._began = time.perf_counter()

    def end(self) -> None:
        """Record that the test has ended."""
        self.survey.seconds[self._test] = time.perf_counter() - self._began
        self._test = NO_TEST

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._line if frame.f_code.co_filename in self.files else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            key = (frame.f_code.co_filename, frame.f_lineno)
            self.survey.tests.setdefault(key, set()).add(self._test)
        return self._line
