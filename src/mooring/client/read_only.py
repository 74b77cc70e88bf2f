"""A check for transports through which nothing but GET passes."""

from __future__ import annotations

from mooring.client.transport import Request
from mooring.errors import NoAnswerError


class ReadOnlyError(NoAnswerError):
    """A write that was not sent, because this process only reads."""


def refuse_writes(request: Request) -> None:
    """Raise ReadOnlyError unless a request is a GET; for `before_send` of a transport."""
    if request.method != "GET":
        raise ReadOnlyError(
            "not sent: this process only reads",
            sent=False,
            method=request.method,
            url=request.target,
        )
