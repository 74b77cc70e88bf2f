"""Progress: a count of the steps that the scheduling loop takes."""

from __future__ import annotations


class Progress:
    """A count of steps, such as nodes that were filtered.

    The scheduling loop counts; the watchdog, on another thread, notices that a long cycle goes on.
    """

    __slots__ = ("steps",)

    def __init__(self) -> None:
        self.steps = 0

    def step(self) -> None:
        """Count a step."""
        self.steps += 1
