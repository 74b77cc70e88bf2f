"""The HTTP client of a scheduler in memory."""

from __future__ import annotations

from typing import Any

from mooring.errors import NoAnswerError
from mooring.framework.handle import HttpAnswer


class NoNetwork:
    """An HttpClient that reaches nothing."""

    async def get(self, url: str, **options: Any) -> HttpAnswer:
        """Raise NoAnswerError."""
        raise NoAnswerError("a scheduler in memory has no network", sent=False, url=url)
