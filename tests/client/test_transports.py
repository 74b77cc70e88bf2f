from __future__ import annotations

import pytest

from mooring.client.aiohttp_transport import AiohttpTransport
from mooring.client.connection import Connection
from mooring.client.http_transport import HttpTransport
from mooring.client.transports import make_transport


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


async def test_a_server_is_asked_straight_unless_a_proxy_stands_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = Connection(server="http://server")
    assert isinstance(make_transport(plain), HttpTransport)
    named = Connection(server="http://server", proxy="http://proxy:1")
    assert isinstance(make_transport(named), AiohttpTransport)
    monkeypatch.setenv("http_proxy", "http://proxy:1")
    assert isinstance(make_transport(plain), AiohttpTransport)
