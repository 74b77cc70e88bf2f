"""Server-sent events, read from the body of a response."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from mooring.errors import MooringError
from mooring.leader.server_events import ServerEvent, read_events


async def read(*chunks: bytes, most: int = 100) -> list[list[ServerEvent]]:
    async def body() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    return [batch async for batch in read_events(body(), most)]


@pytest.mark.parametrize(
    ("chunks", "batches"),
    [
        pytest.param([b":\n\n"], [[]], id="a comment is no event"),
        pytest.param(
            [b"id: 1\nevent: decision\ndata: {}\n\n"],
            [[ServerEvent("decision", b"{}")]],
            id="an event has a name and data",
        ),
        pytest.param(
            [b"data: a\n\ndata: b\n\n"],
            [[ServerEvent("message", b"a"), ServerEvent("message", b"b")]],
            id="one chunk holds several events",
        ),
        pytest.param(
            [b"event: gap\nda", b"ta: x\n", b"\n"],
            [[], [], [ServerEvent("gap", b"x")]],
            id="an event comes in pieces",
        ),
        pytest.param(
            [b"data: a\r\n\r", b"\n"], [[], [ServerEvent("message", b"a")]], id="lines end in CRLF"
        ),
        pytest.param(
            [b"data: a\ndata:b\n\n"],
            [[ServerEvent("message", b"a\nb")]],
            id="data of several lines",
        ),
        pytest.param([b"data: a"], [[]], id="an event that the body ends within"),
        pytest.param([b"event: x\n\n"], [[]], id="an event without data"),
    ],
)
async def test_events_are_read(chunks: list[bytes], batches: list[list[ServerEvent]]) -> None:
    assert await read(*chunks) == batches


async def test_an_event_that_is_too_long_is_refused() -> None:
    with pytest.raises(MooringError, match="an event is larger than 100 bytes"):
        await read(b"data: " + b"x" * 100)
