"""How the client identifies itself."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.client.connection import Connection
from mooring.client.credentials import Static
from mooring.client.http_transport import HttpTransport
from mooring.client.identity import Identity
from mooring.client.tls_settings import Pem, TlsSettings
from mooring.errors import ConfigError
from mooring.observe.clock import VirtualClock


def test_a_mistake_in_certificates_shows_at_the_start() -> None:
    with pytest.raises(ConfigError, match="unable to load root certificates"):
        HttpTransport(
            Connection(server="https://server", tls=TlsSettings(authority=Pem(data=b"no PEM")))
        )


class Failing(Static):
    """Credentials that cannot be renewed."""

    def __init__(self, answer: Any) -> None:
        super().__init__("Bearer old")
        self.answer = answer
        self.closed = False

    async def renew(self, refused: str) -> bool:
        assert refused == "Bearer old"
        if isinstance(self.answer, Exception):
            raise self.answer
        return bool(self.answer)

    async def close(self) -> None:
        self.closed = True


def identity(credentials: Any = None, **fields: Any) -> Identity:
    made = Static() if credentials is None else credentials
    connection = Connection(
        **{"server": "http://server", "credentials": lambda clock: made, **fields}
    )
    return Identity(connection, "mooring/1", VirtualClock())


@pytest.mark.parametrize(
    ("given", "added"),
    [
        pytest.param(("", "", False), [], id="a request without a body"),
        pytest.param(
            ("Bearer t", "", False), [("Authorization", "Bearer t")], id="with credentials"
        ),
        pytest.param(
            ("", "application/json", True),
            [("Content-Type", "application/json"), ("Accept-Encoding", "gzip")],
            id="with a body, compressed",
        ),
    ],
)
def test_the_headers_of_a_request(given: Any, added: list[tuple[str, str]]) -> None:
    headers = identity(headers=(("Impersonate-User", "ada"),)).headers(*given)
    assert headers == [
        ("User-Agent", "mooring/1"),
        ("Impersonate-User", "ada"),
        ("Accept", "application/json"),
        *added,
    ]


def test_another_format_may_be_accepted() -> None:
    headers = dict(identity().headers("", "", False, accept="application/x"))
    assert headers["Accept"] == "application/x"


async def test_authorization_is_that_of_the_credentials() -> None:
    made = identity(Static("Basic x"))
    assert made.known() == await made.authorization() == "Basic x"


@pytest.mark.parametrize(("answer", "renewed"), [(True, True), (False, False)])
async def test_credentials_are_renewed_if_they_can_be(answer: bool, renewed: bool) -> None:
    assert await identity(Failing(answer)).renew("Bearer old") is renewed


async def test_a_renewal_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert not await identity(Failing(ConfigError("no program"))).renew("Bearer old")
    assert "refreshing credentials" in caplog.text


async def test_closing_closes_the_credentials() -> None:
    credentials = Failing(True)
    await identity(credentials).close()
    assert credentials.closed


def test_tls_is_used_where_the_server_asks_for_it() -> None:
    assert identity().context() is None
    assert identity(server="https://server").context() is not None
    assert identity().refusal_hint() == ""
