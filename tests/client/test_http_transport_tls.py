"""How a transport and a server show each other who they are."""

from __future__ import annotations

import datetime
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from aiohttp import web

from mooring.client.credentials import Static
from mooring.client.tls_settings import KeyPair, Pem, TlsSettings
from mooring.errors import NoAnswerError
from tests.client.fakes import serving
from tests.client.opened import GET, Opened, transport_to
from tests.support.certificates import Authority

__all__ = ["transport_to"]


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "pki")


def server_context(authority: Authority, *, clients: bool = False) -> ssl.SSLContext:
    pair = authority.server("server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    if clients:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(authority.certificate)
    return context


async def whoami(request: web.Request) -> web.Response:
    assert request.transport is not None
    certificate = request.transport.get_extra_info("peercert") or {}
    names = dict(pair[0] for pair in certificate.get("subject", ()))
    return web.Response(text=names.get("commonName", "nobody"))


def client_pair(authority: Authority, user: str) -> KeyPair:
    pair = authority.client(user)
    return KeyPair(Pem(file=str(pair.certificate)), Pem(file=str(pair.key)))


async def test_a_client_certificate_is_shown(transport_to: Opened, authority: Authority) -> None:
    tls = TlsSettings(
        authority=Pem(file=str(authority.certificate)), key_pair=client_pair(authority, "ada")
    )
    context = server_context(authority, clients=True)
    async with serving(whoami, ssl_context=context) as server, transport_to(server, tls=tls) as it:
        assert (await it.send(GET)).body == b"ada"
        async with it.stream(GET) as stream:
            assert await stream.read() == b"ada"


async def test_a_renewed_certificate_gets_a_new_connection(
    transport_to: Opened, authority: Authority
) -> None:
    class Changing(Static):
        key_pair = client_pair(authority, "ada")

    changing = Changing()
    tls = TlsSettings(authority=Pem(file=str(authority.certificate)))
    context = server_context(authority, clients=True)
    async with (
        serving(whoami, ssl_context=context) as server,
        transport_to(server, tls=tls, credentials=lambda clock: changing) as transport,
    ):
        assert (await transport.send(GET)).body == b"ada"
        changing.key_pair = client_pair(authority, "bob")
        assert (await transport.send(GET)).body == b"bob"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param(
            lambda known, other: TlsSettings(authority=other),
            "certificate is not valid: ",
            id="signed by someone else",
        ),
        pytest.param(
            lambda known, other: TlsSettings(authority=known, server_name="wrong.name"),
            "certificate is not valid: Hostname mismatch",
            id="made out to someone else",
        ),
    ],
)
async def test_a_server_that_is_not_who_it_should_be(
    transport_to: Opened,
    authority: Authority,
    tmp_path: Path,
    settings: Callable[..., TlsSettings],
    words: str,
) -> None:
    other = Authority(tmp_path / "other")
    tls = settings(Pem(file=str(authority.certificate)), Pem(file=str(other.certificate)))
    context = server_context(authority)
    async with serving(whoami, ssl_context=context) as server, transport_to(server, tls=tls) as it:
        with pytest.raises(NoAnswerError, match=words) as raised:
            await it.send(GET)
    assert not raised.value.sent
    assert "\n" not in str(raised.value)


async def test_the_name_in_the_certificate_may_be_another(
    transport_to: Opened, authority: Authority
) -> None:
    tls = TlsSettings(
        authority=Pem(file=str(authority.certificate)), server_name="kubernetes.default.svc"
    )
    context = server_context(authority)
    async with serving(whoami, ssl_context=context) as server, transport_to(server, tls=tls) as it:
        assert (await it.send(GET)).status == 200


async def test_a_server_without_tls(transport_to: Opened, authority: Authority) -> None:
    tls = TlsSettings(authority=Pem(file=str(authority.certificate)))
    async with (
        serving(whoami) as server,
        transport_to(server.replace("http:", "https:"), tls=tls) as transport,
    ):
        with pytest.raises(NoAnswerError, match="TLS failed") as raised:
            await transport.send(GET)
    assert not raised.value.sent


async def test_an_expired_client_certificate_is_named(
    transport_to: Opened, authority: Authority
) -> None:
    ended = datetime.datetime(2020, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    made = authority.client("late", expires=ended)
    pair = KeyPair(Pem(file=str(made.certificate)), Pem(file=str(made.key)))
    async with transport_to("https://server", tls=TlsSettings(key_pair=pair)) as transport:
        hint = transport.refusal_hint()
    assert hint == f"the client certificate {made.certificate} expired at 2020-01-02T03:04:05Z"

    class Bringing(Static):
        key_pair = pair

    # That which the credentials bring goes before that of the settings.
    good = TlsSettings(key_pair=client_pair(authority, "ada"))
    async with transport_to("https://server", tls=good, credentials=lambda _: Bringing()) as it:
        assert it.refusal_hint() == hint
    async with transport_to("https://server", tls=good) as transport:
        assert transport.refusal_hint() == ""
