"""What can go wrong between here and a server, in a line each."""

from __future__ import annotations

import asyncio
import socket
import ssl

from mooring.client.http1 import ProtocolError
from mooring.client.http_pool import ConnectError
from mooring.client.transport import Request
from mooring.errors import ConfigError, NoAnswerError

CUT = "the connection was cut within the answer"
CLOSED = "the server closed the connection without an answer"
_PROTOCOL = {"cut": CUT, "closed": CLOSED}

#: What stands for an answer that did not come.
FAILURES = (TimeoutError, OSError, ConfigError, ConnectError, ProtocolError)


def no_answer(server: str, request: Request, message: str, *, sent: bool) -> NoAnswerError:
    """Make the error of a request that was not answered."""
    # A query is long and says little about what went wrong.
    url = server + request.target.partition("?")[0]
    return NoAnswerError(message, sent=sent, method=request.method, url=url)


def explain(error: BaseException) -> tuple[str, bool]:
    """Say in a line what broke, and whether the server may have received the request."""
    if isinstance(error, ConnectError):
        return explain(error.cause)[0], False
    if isinstance(error, ConfigError):
        return str(error), False
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the server's certificate is not valid: {error.verify_message}", False
    if isinstance(error, socket.gaierror):
        return f"no such host: {words(error)}", False
    if isinstance(error, ProtocolError):
        return _PROTOCOL.get(str(error), "the answer is not HTTP"), True
    if isinstance(error, ssl.SSLError):
        return tls_failure(error), False
    if isinstance(error, asyncio.TimeoutError):
        return "no answer within the time allowed", True
    if isinstance(error, OSError):
        return words(error), True
    return str(error) or type(error).__name__, True


def tls_failure(error: BaseException) -> str:
    """Say why TLS failed."""
    reason = (getattr(error, "reason", None) or str(error)).lower().replace("_", " ")
    return f"TLS failed: {reason}"


def words(error: OSError) -> str:
    """Say what the system says, as a part of a sentence."""
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    text = error.strerror or str(error) or type(error).__name__
    return text[:1].lower() + text[1:]
