"""The failures between a client and a server, each as one line of text."""

from __future__ import annotations

import asyncio
import socket
import ssl

from mooring.client import protocol
from mooring.client.deadlines import ConnectError
from mooring.client.dialer import ProxyError
from mooring.client.protocol import ProtocolError, TooLargeError
from mooring.client.transport import Request
from mooring.errors import ApiError, ConfigError, NoAnswerError

CUT = "the connection was cut within the answer"
CLOSED = "the server closed the connection without an answer"
_PROTOCOL = {protocol.CUT: CUT, protocol.CLOSED: CLOSED}

_NOT_TAKEN = ("certificate", "unknown ca")

#: The exceptions raised if there is no response.
FAILURES = (TimeoutError, OSError, ConfigError, ConnectError, ProtocolError)


def failure(server: str, request: Request, error: BaseException) -> ApiError:
    """Return the error of a request without a response, or with one that is too large."""
    if isinstance(error, TooLargeError):
        url = _url(server, request)
        return ApiError(500, str(error), reason="ClientDecoding", method=request.method, url=url)
    message, sent = explain(error)
    return no_answer(server, request, message, sent=sent)


def no_answer(server: str, request: Request, message: str, *, sent: bool) -> NoAnswerError:
    """Return the error of a request without a response."""
    return NoAnswerError(message, sent=sent, method=request.method, url=_url(server, request))


def _url(server: str, request: Request) -> str:
    # A query is long and says little about what went wrong.
    return server + request.target.partition("?")[0]


def explain(error: BaseException) -> tuple[str, bool]:
    """Return what went wrong, and whether the server may have received the request."""
    if isinstance(error, ConnectError):
        return explain(error.cause)[0], False
    if isinstance(error, ConfigError | ProxyError):
        return str(error), False
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the server's certificate is not valid: {error.verify_message}", False
    if isinstance(error, socket.gaierror):
        return f"no such host: {words(error)}", False
    if isinstance(error, ProtocolError):
        return _PROTOCOL.get(str(error)) or f"the answer is not valid HTTP: {error}", True
    if isinstance(error, ssl.SSLError):
        # The request had been sent, unless the server rejects the client's certificate: with
        # TLS 1.3 that shows only after the handshake.
        reason = _reason(error)
        return tls_failure(error), not any(one in reason for one in _NOT_TAKEN)
    if isinstance(error, asyncio.TimeoutError) and not error.errno:
        return str(error) or "no answer within the time allowed", True
    if isinstance(error, OSError):
        return words(error), True
    return str(error) or type(error).__name__, True


def tls_failure(error: BaseException) -> str:
    """Return why TLS failed."""
    return f"TLS failed: {_reason(error)}"


def _reason(error: BaseException) -> str:
    return (getattr(error, "reason", None) or str(error)).lower().replace("_", " ")


def words(error: OSError) -> str:
    """Return the operating system's message, worded as part of a sentence."""
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    text = error.strerror or str(error) or type(error).__name__
    return text[:1].lower() + text[1:]
