"""Correlation: combines Events that differ only in their message, and limits their rate."""

# client-go: tools/record/events_cache.go

from __future__ import annotations

from typing import TypeVar

import msgspec

#: Once similar Events have this many different messages within the interval, they are combined.
DIFFERENT_MESSAGES = 10
INTERVAL_SECONDS = 600.0
COMBINED = "(combined from similar events): "
#: This many Events about one object are sent at once, then one more every five minutes.
BURST = 25
REFILL_SECONDS = 300.0
#: Above this many objects or groups, the least recently used are forgotten.
KEPT = 4096

Group = tuple[str, ...]
T = TypeVar("T")


class _Similar(msgspec.Struct):
    """The messages of Events that differ in nothing else."""

    messages: set[str] = msgspec.field(default_factory=set)
    #: When the last one was seen.
    last: float = 0.0


class _Allowance(msgspec.Struct):
    """How many Events about one object may still be sent."""

    left: float = BURST
    #: When it was last filled.
    last: float = 0.0


class Correlation:
    """The state that decides how each Event of one component is combined, and whether it is sent.

    Objects are identified by uid, so one instance serves many nodes.
    """

    def __init__(self) -> None:
        self._similar: dict[Group, _Similar] = {}
        self._allowances: dict[Group, _Allowance] = {}

    def combine(
        self, uid: str, type: str, reason: str, message: str, now: float
    ) -> tuple[Group, str]:
        """Return the group that an Event is counted in, and the message to send."""
        group = (uid, type, reason)
        similar = self._similar.pop(group, None)
        if similar is None or now - similar.last > INTERVAL_SECONDS:
            similar = _Similar()
        keep(self._similar, group, similar)
        similar.messages.add(message)
        similar.last = now
        if len(similar.messages) < DIFFERENT_MESSAGES:
            return (*group, message), message
        similar.messages.pop()
        return group, COMBINED + message

    def allows(self, uid: str, type: str, now: float) -> bool:
        """Return whether one more Event about an object may be sent, and count it."""
        group = (uid, type)
        allowance = self._allowances.pop(group, None) or _Allowance(last=now)
        keep(self._allowances, group, allowance)
        passed = max(0.0, now - allowance.last)
        allowance.left = min(BURST, allowance.left + passed / REFILL_SECONDS)
        allowance.last = now
        if allowance.left < 1.0:
            return False
        allowance.left -= 1.0
        return True


def keep(table: dict[Group, T], group: Group, value: T) -> None:
    """Append a new key to a table; if the table is full, drop its first entry."""
    if len(table) >= KEPT:
        del table[next(iter(table))]
    table[group] = value
