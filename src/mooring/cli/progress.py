"""ProgressLine: one line of a terminal that shows how far a long command is."""

from __future__ import annotations

import sys
import time
from typing import Any

#: Moves to the start of the line and erases it.
_ERASE = "\r\x1b[K"


class ProgressLine:
    """A line on standard error that is replaced by the next one, and erased at the end.

    Nothing is shown if standard error is no terminal.
    """

    #: Seconds before the first line, and between two lines.
    PATIENCE = 1.0
    INTERVAL = 0.2

    def __init__(self) -> None:
        self.is_wanted = sys.stderr.isatty()
        self._is_shown = False
        self._next = time.monotonic() + self.PATIENCE

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: Any) -> None:
        self.erase()

    def show(self, text: str) -> None:
        """Show a text, unless another one was shown a moment ago."""
        now = time.monotonic()
        if self.is_wanted and now >= self._next:
            self._next = now + self.INTERVAL
            self._is_shown = True
            print(f"{_ERASE}{text}", end="", file=sys.stderr, flush=True)

    def erase(self) -> None:
        """Erase the line, before something else is printed."""
        if self._is_shown:
            self._is_shown = False
            print(_ERASE, end="", file=sys.stderr, flush=True)
