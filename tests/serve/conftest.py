"""Fixtures of a running server."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterator

import pytest

from mooring.observe.clock import SystemClock
from mooring.serve.authorities import ClientAuthorities
from mooring.serve.delegated_authentication import DelegatingAuthenticator
from mooring.serve.delegated_authorization import DelegatingAuthorizer, ReviewedReader
from mooring.serve.endpoints import Endpoints
from mooring.serve.review_client import AccessReviews, TokenReviews
from mooring.serve.secure_server import Gate, SecureServer, address_of
from mooring.serve.serving_options import (
    Authentication,
    SecureServing,
)
from mooring.serve.serving_tls import ServingTls
from tests.serve.fake_api import FakeApi
from tests.serve.sites import Site, World, certified
from tests.support.certificates import Authority


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("pki") / "one")


@pytest.fixture
async def site(world: World, api: FakeApi, authority: Authority) -> AsyncIterator[Site]:
    clock = SystemClock()
    settings = Authentication(client_ca_file=str(authority.certificate), skip_lookup=True)
    authorities = ClientAuthorities(settings)
    await authorities.load()
    endpoints = Endpoints(world.sources(), clock)
    authorizer = DelegatingAuthorizer(
        ("/healthz", "/livez", "/readyz"), AccessReviews(api, clock, 0, 0)
    )
    gate = Gate(
        endpoints,
        DelegatingAuthenticator(authorities, TokenReviews(api, clock, 0)),
        authorizer,
        lambda user: ReviewedReader(user, authorizer),
    )
    listener = socket.create_server(("127.0.0.1", 0))
    tls = ServingTls(SecureServing(bind_address="127.0.0.1"), ask=True, authorities=authorities.pem)
    server = SecureServer(endpoints, clock)
    await server.serve_securely(listener, tls, gate, authorities)
    yield Site(f"https://{address_of(listener)}")
    await server.stop()
    listener.close()


@pytest.fixture
def admin(authority: Authority) -> ssl.SSLContext:
    return certified(authority, "root", "system:masters")
