"""Correlation: Events that differ in their message alone become one, and a flood is cut off."""

# client-go: tools/record/events_cache.go

from __future__ import annotations

from dataclasses import dataclass, field

#: So many different messages within the time, and further ones are combined.
DIFFERENT_MESSAGES = 10
INTERVAL_SECONDS = 600.0
COMBINED = "(combined from similar events): "
#: So many Events about one object, then one more every five minutes.
BURST = 25
REFILL_SECONDS = 300.0
_KEPT = 4096

Group = tuple[str, ...]


@dataclass(slots=True)
class _Similar:
    messages: set[str] = field(default_factory=set)
    last: float = 0.0


@dataclass(slots=True)
class _Allowance:
    left: float = BURST
    last: float = 0.0


class Correlation:
    """Decide what becomes of the Events of one component."""

    def __init__(self) -> None:
        self._similar: dict[Group, _Similar] = {}
        self._allowances: dict[Group, _Allowance] = {}

    def combine(
        self, uid: str, type: str, reason: str, message: str, now: float
    ) -> tuple[Group, str]:
        """Return what an Event counts as, and the message it is to have."""
        group = (uid, type, reason)
        similar = self._similar.get(group)
        if similar is None or now - similar.last > INTERVAL_SECONDS:
            _make_room(self._similar)
            similar = self._similar[group] = _Similar()
        similar.messages.add(message)
        similar.last = now
        if len(similar.messages) < DIFFERENT_MESSAGES:
            return (*group, message), message
        similar.messages.pop()
        return group, COMBINED + message

    def allows(self, uid: str, type: str, now: float) -> bool:
        """Tell whether one more Event about an object may be sent, and count it."""
        group = (uid, type)
        allowance = self._allowances.get(group)
        if allowance is None:
            _make_room(self._allowances)
            allowance = self._allowances[group] = _Allowance(last=now)
        passed = max(0.0, now - allowance.last)
        allowance.left = min(BURST, allowance.left + passed / REFILL_SECONDS)
        allowance.last = now
        if allowance.left < 1.0:
            return False
        allowance.left -= 1.0
        return True


def _make_room(table: dict[Group, _Similar] | dict[Group, _Allowance]) -> None:
    if len(table) >= _KEPT:
        del table[next(iter(table))]
