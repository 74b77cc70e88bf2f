"""Waiting for effects in other threads and processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

#: Seconds after which a test fails that waits for something. It only ends tests that hang: an idle
#: machine needs a second, a busy one a minute.
PATIENCE = 120.0


def eventually(ask: Callable[[], T], what: str, seconds: float = PATIENCE) -> T:
    """Call `ask` until it returns a true value, and return that; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not (answer := ask()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.02)
    return answer
