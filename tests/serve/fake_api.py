"""An API server with given responses."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec


class FakeApi:
    """A client that returns the next response, or raises it."""

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
