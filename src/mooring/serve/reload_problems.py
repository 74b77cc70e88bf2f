"""Persistent problems: each is logged when it begins or changes, not at every attempt."""

from __future__ import annotations

import logging

log = logging.getLogger(__name__)


class ReloadProblems:
    """The problems of an operation that is retried, by place."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: dict[object, str] = {}

    def report(self, place: object, error: Exception) -> None:
        """Log a problem, unless the place already had the same one."""
        message = str(error)
        if self._known.get(place) != message:
            self._known[place] = message
            log.warning("%s: %s", self._text, message)

    def solved(self, place: object) -> None:
        """Record that a place has no problem."""
        self._known.pop(place, None)
