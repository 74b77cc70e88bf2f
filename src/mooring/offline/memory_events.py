"""The Kubernetes Events of a simulation, as a list."""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.observe.clock import Clock


class RecordedEvent(msgspec.Struct, frozen=True):
    """One Event, as the recorder was asked to write it."""

    time: float
    regarding: Any
    type: str
    reason: str
    action: str
    note: str
    related: Any = None


class MemoryEvents:
    """Record Events in memory (`framework.handle.Events`)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.recorded: list[RecordedEvent] = []

    def event(
        self, regarding: Any, type: str, reason: str, action: str, note: str, related: Any = None
    ) -> None:
        """Record one."""
        self.recorded.append(
            RecordedEvent(self._clock.now(), regarding, type, reason, action, note, related)
        )
