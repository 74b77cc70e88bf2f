"""The Events of a simulation are a list, each with its time."""

from __future__ import annotations

from mooring.observe.clock import VirtualClock
from mooring.virtual.memory_events import MemoryEvents, RecordedEvent


def test_events_carry_the_time_of_the_virtual_clock() -> None:
    clock = VirtualClock(start=100.0)
    events = MemoryEvents(clock)
    events.event("pod", "Normal", "Scheduled", "Binding", "first")
    clock.advance(5)
    events.event("pod", "Warning", "FailedScheduling", "Scheduling", "second", related="other")
    assert events.recorded == [
        RecordedEvent(100.0, "pod", "Normal", "Scheduled", "Binding", "first"),
        RecordedEvent(105.0, "pod", "Warning", "FailedScheduling", "Scheduling", "second", "other"),
    ]
