"""Certificates: trusted, shown, renewed."""

from __future__ import annotations

import logging
import ssl
from pathlib import Path

import pytest

from mooring.client.tls_settings import KeyPair, Pem, TlsContexts, TlsSettings
from mooring.errors import ConfigError
from mooring.observe.clock import VirtualClock
from tests.support.certificates import Authority


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "pki")


def pair_of(authority: Authority, user: str) -> KeyPair:
    made = authority.client(user)
    return KeyPair(Pem(file=str(made.certificate)), Pem(file=str(made.key)))


def names(context: ssl.SSLContext) -> list[str]:
    return [str(one["serialNumber"]) for one in context.get_ca_certs()]


def test_the_authority_alone_is_trusted(authority: Authority) -> None:
    settings = TlsSettings(authority=Pem(file=str(authority.certificate)))
    context = TlsContexts(settings, VirtualClock()).context()
    assert len(context.get_ca_certs()) == 1
    assert context.verify_mode is ssl.CERT_REQUIRED and context.check_hostname


def test_data_does_as_well_as_a_file(authority: Authority) -> None:
    data = Pem(data=authority.certificate.read_bytes())
    files = pair_of(authority, "ada")
    pair = KeyPair(Pem(data=files.certificate.read()), Pem(data=files.key.read()))
    context = TlsContexts(TlsSettings(authority=data, key_pair=pair), VirtualClock()).context()
    assert len(context.get_ca_certs()) == 1


def test_nothing_is_checked_where_that_is_asked_for() -> None:
    context = TlsContexts(TlsSettings(insecure=True), VirtualClock()).context()
    assert context.verify_mode is ssl.CERT_NONE and not context.check_hostname


def test_a_context_is_made_anew_when_a_file_changes(authority: Authority, tmp_path: Path) -> None:
    clock = VirtualClock()
    contexts = TlsContexts(TlsSettings(authority=Pem(file=str(authority.certificate))), clock)
    first = contexts.context()
    other = Authority(tmp_path / "other")
    authority.certificate.write_bytes(other.certificate.read_bytes())
    clock.advance(59.0)
    assert contexts.context() is first
    clock.advance(1.0)
    second = contexts.context()
    assert names(second) != names(first)
    clock.advance(60.0)
    assert contexts.context() is second


def test_old_certificates_are_kept_while_the_new_are_broken(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    clock = VirtualClock()
    contexts = TlsContexts(TlsSettings(authority=Pem(file=str(authority.certificate))), clock)
    first = contexts.context()
    authority.certificate.write_text("half of")
    clock.advance(60.0)
    with caplog.at_level(logging.ERROR):
        assert contexts.context() is first
    assert "keeping the old ones" in caplog.text


def test_a_pair_given_later_is_shown_instead(authority: Authority) -> None:
    contexts = TlsContexts(TlsSettings(key_pair=pair_of(authority, "ada")), VirtualClock())
    first = contexts.context()
    other = pair_of(authority, "bob")
    second = contexts.context(other)
    assert second is not first
    assert contexts.context(other) is second


@pytest.mark.parametrize("part", ["authority", "certificate", "key", "both"])
def test_what_cannot_be_used_is_told_in_a_line(
    part: str, authority: Authority, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    broken.write_text("no PEM")
    good = pair_of(authority, "ada")
    bad, other = Pem(file=str(broken)), pair_of(authority, "bob")
    settings = {
        "authority": TlsSettings(authority=bad),
        "certificate": TlsSettings(key_pair=KeyPair(bad, good.key)),
        "key": TlsSettings(key_pair=KeyPair(good.certificate, bad)),
        "both": TlsSettings(key_pair=KeyPair(good.certificate, other.key)),
    }[part]
    with pytest.raises(ConfigError) as raised:
        TlsContexts(settings, VirtualClock()).context()
    words = "the key is not the certificate's" if part == "both" else str(broken)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_encrypted_key_asks_nobody(authority: Authority) -> None:
    good = pair_of(authority, "ada")
    key = Pem(data=b"-----BEGIN ENCRYPTED PRIVATE KEY-----")
    settings = TlsSettings(key_pair=KeyPair(good.certificate, key))
    with pytest.raises(ConfigError, match="the key is encrypted"):
        TlsContexts(settings, VirtualClock()).context()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    settings = TlsSettings(authority=Pem(file=str(tmp_path / "nothing")))
    with pytest.raises(ConfigError, match=r"cannot read .*nothing: No such file"):
        TlsContexts(settings, VirtualClock()).context()
