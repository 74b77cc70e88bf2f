from __future__ import annotations

import socket
import ssl

import pytest

from mooring.client.deadlines import ConnectError
from mooring.client.failures import explain
from mooring.errors import ConfigError


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
