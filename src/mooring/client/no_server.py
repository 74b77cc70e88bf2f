"""NoServer: the transport of a process that has no cluster."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from mooring.client.transport import Request, Response, Stream
from mooring.errors import NoAnswerError

_NOTHING = "there is no cluster: give --kubeconfig"


class NoServer:
    """A Transport that reaches nothing."""

    server = ""

    async def send(self, request: Request) -> Response:
        """Raise NoAnswerError."""
        raise NoAnswerError(_NOTHING, sent=False)

    def stream(
        self, request: Request, *, idle_timeout: float | None = None
    ) -> AbstractAsyncContextManager[Stream]:
        """Raise NoAnswerError."""
        raise NoAnswerError(_NOTHING, sent=False)

    def refusal_hint(self) -> str:
        """Return nothing."""
        return ""

    async def close(self) -> None:
        """Do nothing."""
