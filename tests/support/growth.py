"""How work grows with its input, counted in calls, which are the same on every machine."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

#: Four times the input may take this many times the calls. Linear work takes fewer, since some of
#: it is constant; quadratic work takes sixteen times as many.
LINEAR = 5.0


def count_calls(action: Callable[[], object]) -> int:
    """Return how many functions an action calls, including C functions."""
    calls = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        if event in ("call", "c_call"):
            calls += 1

    # Finalizers of earlier tests must not be counted.
    gc.collect()
    gc.disable()
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
        gc.enable()
    return calls


def assert_linear(prepare: Callable[[int], Callable[[], object]], size: int) -> None:
    """Fail if four times the size takes far more than four times the calls.

    `prepare` returns an action for a size; only the calls of the action are counted.
    """
    few, many = (count_calls(prepare(count)) for count in (size, 4 * size))
    assert many <= LINEAR * few, f"{few} calls for {size}, {many} for {4 * size}"
