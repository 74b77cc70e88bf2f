from __future__ import annotations

import ssl

import pytest

from mooring.client.deadlines import ConnectError
from mooring.client.failures import explain


def tls_error(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, reason)
    error.reason = reason
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
    ],
)
def test_a_request_counts_as_sent_unless_it_cannot_have_been(error: Exception, sent: bool) -> None:
    assert explain(error)[1] is sent
