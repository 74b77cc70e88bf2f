"""A fake API server with prepared responses."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec


class FakeApi:
    """A client that returns prepared responses in turn, or raises them, and records requests."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.asked: list[tuple[str, Any]] = []

    async def request(
        self,
        method: str,
        target: str,
        body: bytes = b"",
        *,
        timeout: float | None = None,
        retries: int = 0,
    ) -> bytes:
        self.asked.append((target, msgspec.json.decode(body) if body else None))
        await asyncio.sleep(0)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return msgspec.json.encode(answer)
