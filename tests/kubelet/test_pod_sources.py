"""The sources of pods' volumes and variables."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mooring.api.timestamps import format_time
from mooring.errors import ApiError
from mooring.kubelet.pod_sources import PodSources, SourceError
from tests.kubelet.sources import pod_with
from tests.support.controllers import ManualClock

PATHS = {
    "/api/v1/namespaces/team/configmaps/config": {"data": {"a": "A"}, "binaryData": {"b": "Qg=="}},
    "/api/v1/namespaces/team/secrets/secret": {"data": {"s": "Uw=="}},
}
TOKEN = "/api/v1/namespaces/team/serviceaccounts/default/token"


class Server:
    """A fake API server; its tokens contain the number of the request."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.asked: list[dict[str, Any]] = []
        self.away = False

    async def request(self, method: str, path: str, body: bytes = b"") -> bytes:
        if self.away:
            raise ApiError(503, "away", reason="ServiceUnavailable")
        if path == TOKEN:
            assert method == "POST"
            spec = json.loads(body)["spec"]
            self.asked.append(spec)
            ends = format_time(self.clock.now() + spec["expirationSeconds"])
            status = {"token": f"t{len(self.asked)}", "expirationTimestamp": ends}
            return json.dumps({"status": status}).encode()
        if path not in PATHS:
            raise ApiError(404, "not there", reason="NotFound")
        return json.dumps(PATHS[path]).encode()


@pytest.fixture
def clock() -> ManualClock:
    """Return a clock that tests advance."""
    return ManualClock()


@pytest.fixture
def server(clock: ManualClock) -> Server:
    """Return a fake API server."""
    return Server(clock)


@pytest.fixture
def sources(server: Server, clock: ManualClock) -> PodSources:
    """Return the sources of a pod."""
    return PodSources(server, clock, pod_with())  # type: ignore[arg-type]


async def test_data_of_both_sorts(sources: PodSources) -> None:
    assert await sources.config_map("config", False) == {"a": b"A", "b": b"B"}
    assert await sources.secret("secret", False) == {"s": b"S"}
    assert await sources.secret("no", True) == {}


async def test_what_is_missing(sources: PodSources, server: Server) -> None:
    with pytest.raises(SourceError, match=r'^configmap "no" not found$'):
        await sources.config_map("no", False)
    server.away = True
    with pytest.raises(SourceError, match="away"):
        await sources.secret("secret", True)
    with pytest.raises(SourceError, match="failed to fetch token: "):
        await sources.token("", 600)


async def test_a_token_is_renewed_in_good_time(
    sources: PodSources, server: Server, clock: ManualClock
) -> None:
    assert await sources.token("", 1000) == "t1"
    bound = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "123"}
    assert server.asked == [{"expirationSeconds": 1000, "boundObjectRef": bound}]
    clock.advance(790)
    assert await sources.token("", 1000) == "t1"
    clock.advance(20)
    server.away = True
    assert await sources.token("", 1000) == "t1"
    server.away = False
    assert await sources.token("", 1000) == "t2"
    assert await sources.token("vault", 1000) == "t3"
    assert server.asked[-1]["audiences"] == ["vault"]


async def test_a_token_that_lasts_is_renewed_every_day(
    sources: PodSources, clock: ManualClock
) -> None:
    assert await sources.token("", 10 * 86400) == "t1"
    clock.advance(86401)
    assert await sources.token("", 10 * 86400) == "t2"
