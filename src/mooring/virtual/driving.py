"""Driving coroutines without an event loop, for schedulers in memory."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from mooring.framework.plugin_errors import abandon

T = TypeVar("T")


def drive(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends; raise RuntimeError if it does."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    abandon(work)
    raise RuntimeError("something waits for the outside; run this in an event loop")
