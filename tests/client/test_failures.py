from __future__ import annotations

import socket
import ssl

import pytest

from mooring.client.deadlines import ConnectError
from mooring.client.dialer import ProxyError
from mooring.client.failures import explain, failure
from mooring.client.protocol import ProtocolError, TooLargeError
from mooring.client.transport import Request
from mooring.errors import ConfigError, NoAnswerError


def tls_error(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, reason)
    error.reason = reason
    return error


def not_valid(problem: str) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, problem)
    error.verify_message = problem
    return error


@pytest.mark.parametrize(
    ("error", "sent"),
    [
        pytest.param(tls_error("BAD_RECORD_MAC"), True, id="TLS that broke within an exchange"),
        pytest.param(ssl.SSLEOFError(8, "EOF occurred"), True, id="a server that vanished"),
        pytest.param(ConnectError(tls_error("WRONG_VERSION_NUMBER")), False, id="a handshake"),
        pytest.param(
            tls_error("TLSV13_ALERT_CERTIFICATE_REQUIRED"), False, id="no certificate was shown"
        ),
        pytest.param(tls_error("TLSV1_ALERT_UNKNOWN_CA"), False, id="nobody vouches for it"),
        pytest.param(ConnectionResetError(), True, id="a connection that was reset"),
        pytest.param(ConnectError(ConnectionRefusedError()), False, id="nobody listens"),
        pytest.param(ConfigError("no token"), False, id="credentials that are not there"),
        pytest.param(not_valid("expired"), False, id="a server that nobody vouches for"),
        pytest.param(socket.gaierror(-2, "Name or service not known"), False, id="no such host"),
        pytest.param(TimeoutError(), True, id="no answer in time"),
        pytest.param(OSError(5, "Input/output error"), True, id="whatever the system says"),
    ],
)
def test_a_request_counts_as_sent_unless_it_cannot_have_been(error: Exception, sent: bool) -> None:
    assert explain(error)[1] is sent


@pytest.mark.parametrize(
    ("error", "text"),
    [
        pytest.param(TimeoutError(), "no answer within the time allowed", id="no answer in time"),
        pytest.param(TimeoutError("late"), "late", id="a timeout that says why"),
        pytest.param(
            TimeoutError(110, "Connection timed out"), "connection timed out", id="the system's own"
        ),
        pytest.param(OSError(5, "Input/output error"), "input/output error", id="an OS error"),
        pytest.param(ConnectionResetError(), "connectionResetError", id="an error without a text"),
        pytest.param(ConnectionRefusedError(111, "x"), "connection refused", id="nobody listens"),
        pytest.param(ProtocolError("cut"), "the connection was cut within the answer", id="a cut"),
        pytest.param(
            ProtocolError("odd"), "the answer is not valid HTTP: odd", id="another protocol"
        ),
        pytest.param(tls_error("BAD_RECORD_MAC"), "TLS failed: bad record mac", id="TLS"),
        pytest.param(KeyError(), "KeyError", id="anything else without a text"),
        pytest.param(ValueError("x"), "x", id="anything else"),
        pytest.param(ProxyError("the proxy said no"), "the proxy said no", id="a proxy"),
    ],
)
def test_what_broke_is_said_in_a_line(error: Exception, text: str) -> None:
    assert explain(error)[0] == text
    assert explain(ConnectError(error)) == (text, False)


def test_a_response_that_is_too_large_is_no_missing_answer() -> None:
    request = Request("GET", "/api?a=b")
    error = failure("https://server", request, TooLargeError(2**20))
    assert (error.status, error.reason) == (500, "ClientDecoding")
    assert (error.method, error.url) == ("GET", "https://server/api")
    assert "larger than 1 MiB" in str(error)
    lost = failure("https://server", request, ConnectionResetError())
    assert isinstance(lost, NoAnswerError) and lost.sent
    assert (lost.method, lost.url) == ("GET", "https://server/api")
