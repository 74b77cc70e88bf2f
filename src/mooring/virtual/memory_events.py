"""The Kubernetes Events of a scheduler in memory, as a list."""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.observe.clock import Clock


class RecordedEvent(msgspec.Struct, frozen=True):
    """The arguments of one recorded Event."""

    time: float
    regarding: Any
    type: str
    reason: str
    action: str
    note: str
    related: Any = None


class MemoryEvents:
    """A recorder of Events in memory (`framework.handle.Events`)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.recorded: list[RecordedEvent] = []

    def event(
        self, regarding: Any, type: str, reason: str, action: str, note: str, related: Any = None
    ) -> None:
        """Record an Event."""
        self.recorded.append(
            RecordedEvent(self._clock.now(), regarding, type, reason, action, note, related)
        )
