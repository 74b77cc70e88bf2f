"""How the client identifies itself."""

from __future__ import annotations

import pytest

from mooring.client.connection import Connection
from mooring.client.http_transport import HttpTransport
from mooring.client.tls_settings import Pem, TlsSettings
from mooring.errors import ConfigError


def test_a_mistake_in_certificates_shows_at_the_start() -> None:
    with pytest.raises(ConfigError, match="unable to load root certificates"):
        HttpTransport(
            Connection(server="https://server", tls=TlsSettings(authority=Pem(data=b"no PEM")))
        )
