"""Server-sent events, read from the body of a response."""

# https://html.spec.whatwg.org/multipage/server-sent-events.html

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from mooring.errors import MooringError

#: The largest event that is read, in bytes.
MOST_BYTES = 2**24


class ServerEvent(msgspec.Struct, frozen=True):
    """One event: its name, and its data."""

    name: str
    data: bytes


async def read_events(
    chunks: AsyncIterator[bytes], most: int = MOST_BYTES
) -> AsyncIterator[list[ServerEvent]]:
    """Yield the events that each chunk completes; an empty list if it completes none.

    Raise MooringError if an event is larger than `most` bytes. An event that is cut off by the end
    of the body is dropped.
    """
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).replace(b"\r\n", b"\n").split(b"\n\n")
        if len(rest) > most:
            raise MooringError(f"an event is larger than {most} bytes")
        yield [event for block in whole if (event := _event(block)) is not None]


def _event(block: bytes) -> ServerEvent | None:
    """Return the event of a block of lines; None if it is a comment."""
    name, data = "message", []
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"event":
            name = value.decode(errors="replace")
        elif field == b"data":
            data.append(value)
    return ServerEvent(name, b"\n".join(data)) if data else None
