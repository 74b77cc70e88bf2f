"""Certificates: trusted, presented, renewed."""

from __future__ import annotations

import datetime
import logging
import ssl
import types
from pathlib import Path

import pytest

from mooring.client import tls_settings
from mooring.client.tls_settings import KeyPair, Pem, TlsContexts, TlsSettings, expiry
from mooring.errors import ConfigError
from mooring.observe.clock import VirtualClock
from tests.client.fakes import SettableClock
from tests.support.certificates import Authority
from tests.support.key_files import LoadedFiles, loaded_files

__all__ = ["loaded_files"]


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "pki")


def pair_of(authority: Authority, user: str) -> KeyPair:
    made = authority.client(user)
    return KeyPair(Pem(file=str(made.certificate)), Pem(file=str(made.key)))


def authority_of(authority: Authority) -> Pem:
    return Pem(file=str(authority.certificate))


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


def test_a_key_is_in_no_file_that_others_can_read(
    authority: Authority, loaded_files: LoadedFiles
) -> None:
    pair = pair_of(authority, "ada")
    TlsContexts(TlsSettings(key_pair=pair), VirtualClock()).context()
    loaded_files.assert_private()


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


def test_without_an_authority_those_of_the_system_are_trusted(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    context = TlsContexts(TlsSettings(), VirtualClock()).context()
    named = TlsSettings(authority=authority_of(authority))
    assert names(context) == names(TlsContexts(named, VirtualClock()).context())
    assert context.verify_mode is ssl.CERT_REQUIRED and context.check_hostname


def test_files_are_looked_at_once_a_minute(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Pem] = []
    read = Pem.read
    monkeypatch.setattr(Pem, "read", lambda self: looked.append(self) or read(self))
    clock = VirtualClock(1000.0)
    contexts = TlsContexts(TlsSettings(authority=Pem(file=str(authority.certificate))), clock)
    counts = []
    for _ in range(6):
        contexts.context()
        counts.append(len(looked))
        clock.advance(30.0)
    assert counts == [1, 1, 2, 2, 3, 3]


def test_what_a_context_allows(authority: Authority) -> None:
    context = TlsContexts(TlsSettings(authority=authority_of(authority)), VirtualClock()).context()
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert context.verify_flags & ssl.VERIFY_X509_PARTIAL_CHAIN
    assert not context.hostname_checks_common_name


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


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[Pem]:
    """Return what was read."""
    found: list[Pem] = []
    read = Pem.read

    def recording(self: Pem) -> bytes:
        found.append(self)
        return read(self)

    monkeypatch.setattr(Pem, "read", recording)
    return found


def test_an_equal_pair_is_not_looked_at_again(authority: Authority, looked: list[Pem]) -> None:
    contexts = TlsContexts(TlsSettings(), VirtualClock(1000.0))
    pair = pair_of(authority, "ada")
    first = contexts.context(pair)
    count = len(looked)
    assert contexts.context(KeyPair(pair.certificate, pair.key)) is first
    assert len(looked) == count


def test_broken_files_are_looked_at_once_a_minute(authority: Authority, looked: list[Pem]) -> None:
    clock = VirtualClock(1000.0)
    contexts = TlsContexts(TlsSettings(authority=authority_of(authority)), clock)
    first = contexts.context()
    authority.certificate.write_text("half of")
    counts = []
    for _ in range(4):
        clock.advance(30.0)
        assert contexts.context() is first
        counts.append(len(looked))
    assert counts == [1, 2, 2, 3]


def test_a_clock_set_back_has_the_files_looked_at(authority: Authority, looked: list[Pem]) -> None:
    clock = SettableClock(1000.0)
    contexts = TlsContexts(TlsSettings(authority=authority_of(authority)), clock)
    contexts.context()
    clock.set(940.0)
    contexts.context()
    assert len(looked) == 2


def test_another_pair_is_looked_at_for_a_minute_from_then_on(
    authority: Authority, looked: list[Pem]
) -> None:
    clock = VirtualClock(1000.0)
    contexts = TlsContexts(TlsSettings(), clock)
    contexts.context()
    clock.advance(50.0)
    pair = pair_of(authority, "ada")
    contexts.context(pair)
    count = len(looked)
    clock.advance(59.0)
    contexts.context(pair)
    assert len(looked) == count
    clock.advance(1.0)
    contexts.context(pair)
    assert len(looked) == count + 2


def test_a_pem_is_there_if_it_has_a_file_or_data() -> None:
    assert not Pem() and Pem(file="x") and Pem(data=b"x")
    assert Pem(file="x").where == "x" and Pem(data=b"x").where == "the embedded data"
    assert Pem(file="x", data=b"y").read() == b"y"


def test_http_alone_is_offered(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    offered: list[list[str]] = []
    monkeypatch.setattr(
        ssl.SSLContext, "set_alpn_protocols", lambda self, names: offered.append(names)
    )
    TlsContexts(TlsSettings(), VirtualClock()).context()
    assert offered == [["http/1.1"]]


def test_when_a_certificate_ends(authority: Authority, tmp_path: Path) -> None:
    ended = datetime.datetime(2020, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    made = authority.client("late", expires=ended)
    assert expiry(Pem(file=str(made.certificate))) == ended
    assert expiry(Pem(data=b"no PEM")) is None
    assert expiry(Pem(file=str(tmp_path / "nothing"))) is None


def test_old_versions_of_tls_are_refused_even_if_the_system_allows_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Lax(ssl.SSLContext):
        """A context as some builds of Python make it."""

        def __init__(self, protocol: int) -> None:
            self.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED

    replaced = types.SimpleNamespace(**{**vars(ssl), "SSLContext": Lax})
    monkeypatch.setattr(tls_settings, "ssl", replaced)
    context = TlsContexts(TlsSettings(), VirtualClock()).context()
    assert isinstance(context, Lax)
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
