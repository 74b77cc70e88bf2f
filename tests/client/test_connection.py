"""Addresses of servers."""

from __future__ import annotations

import pytest

from mooring.client.connection import server_url
from mooring.client.tls_settings import KeyPair, Pem, TlsSettings
from mooring.errors import ConfigError


@pytest.mark.parametrize(
    ("server", "tls", "url"),
    [
        ("https://a:1/", TlsSettings(), "https://a:1"),
        ("https://a/clusters/b/", TlsSettings(), "https://a/clusters/b"),
        ("a:8080", TlsSettings(), "http://a:8080"),
        ("a:6443", TlsSettings(authority=Pem(file="ca")), "https://a:6443"),
        ("a", TlsSettings(insecure=True), "https://a"),
        ("a", TlsSettings(key_pair=KeyPair(Pem(file="c"), Pem(file="k"))), "https://a"),
        ("https://[::1]:6443", TlsSettings(), "https://[::1]:6443"),
    ],
)
def test_an_address_is_completed(server: str, tls: TlsSettings, url: str) -> None:
    assert server_url(server, tls) == url


@pytest.mark.parametrize(
    "server", ["", "https://", "ftp://a", "https://a:99999", "https://a:0", "://"]
)
def test_what_is_no_address_is_refused(server: str) -> None:
    with pytest.raises(ConfigError, match="must be a URL"):
        server_url(server, TlsSettings())
