"""The errors of a response that cannot be used."""

from __future__ import annotations

#: The connection ended within a response.
CUT = "cut"
#: The connection ended before a response.
CLOSED = "closed"


class ProtocolError(Exception):
    """A response that is not valid HTTP/1.1, or is refused; the text says why."""


class TooLargeError(ProtocolError):
    """A response whose inflated body is larger than the request allows."""

    def __init__(self, limit: int, *, ratio: int | None = None) -> None:
        text = f"the response is larger than {_size(limit)}"
        if ratio is not None:
            text = f"the response inflates to more than {ratio} times its size"
        super().__init__(text)


def _size(count: int) -> str:
    """Return a number of bytes in the largest unit that gives a whole number.

    >>> _size(2**24), _size(3 * 2**30), _size(1000)
    ('16 MiB', '3 GiB', '1000 bytes')
    """
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if count and count % 2**power == 0:
            return f"{count >> power} {unit}"
    return f"{count} bytes"
