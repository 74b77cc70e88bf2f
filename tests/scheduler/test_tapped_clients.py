"""The clients of plugins, if taps listen."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mooring import Plugin
from mooring.api import KubeObject, Pod, ResourceClaim
from mooring.api.meta import ObjectMeta
from mooring.errors import ApiError
from mooring.framework.handle import HttpAnswer
from mooring.observe.attempt_random import AttemptRandom
from mooring.scheduler.periodic_work import PeriodicWork
from mooring.scheduler.tapped_clients import (
    OpenRequests,
    PrivateAnswer,
    TappedClient,
    TappedHttpClient,
)
from mooring.scheduler.taps import SilentTap, Taps
from mooring.testing import make_pod
from tests.scheduler.test_periodic_work import Gate

CLAIM = ResourceClaim(metadata=ObjectMeta(name="gpu", namespace="shop"))
KIND = "resourceclaims.v1.resource.k8s.io"


class Listener(SilentTap):
    """A tap that keeps what servers answer."""

    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []
        #: The periodic work that sent each request.
        self.works: list[str] = []

    def fetched(self, request: str, answer: Any, error: str, work: str = "") -> None:
        self.heard.append((request, answer, error))
        self.works.append(work)


class Listed:
    """The answer to a list."""

    items = (CLAIM,)


class Server:
    """A client that takes note of the calls, and answers with the claim or the pod."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.fails = False

    def _call(self, verb: str, answer: Any) -> Any:
        self.calls.append(verb)
        if self.fails:
            raise ApiError(409, "changed")
        return answer

    async def list(self, kind: Any, namespace: str = "", **options: Any) -> Any:
        return self._call("list", Listed())

    async def get(self, kind: Any, name: str, namespace: str = "") -> Any:
        return self._call("get", make_pod("one") if kind is Pod else CLAIM)

    async def create(self, obj: KubeObject) -> Any:
        return self._call("create", obj)

    async def update(self, obj: KubeObject) -> Any:
        return self._call("update", obj)

    async def patch(self, kind: Any, name: str, namespace: str, patch: Any, **options: Any) -> Any:
        return self._call("patch", CLAIM)

    async def add_finalizer(self, obj: KubeObject, finalizer: str) -> Any:
        return self._call("finalize", obj)

    async def delete(self, kind: Any, name: str, namespace: str = "", *, uid: str = "") -> None:
        self._call("delete", None)

    async def bind(self, pod: Pod, node_name: str) -> None:
        self._call("bind", None)


def tapped() -> tuple[Listener, Server, TappedClient]:
    listener, server = Listener(), Server()
    return listener, server, TappedClient(server, Taps([listener], AttemptRandom(1)))


async def _call_all(client: TappedClient) -> None:
    await client.list(ResourceClaim, "shop")
    await client.get(ResourceClaim, "gpu", "shop")
    await client.create(CLAIM)
    await client.update(CLAIM)
    await client.patch(ResourceClaim, "gpu", "shop", {}, subresource="status")
    await client.add_finalizer(CLAIM, "f")
    await client.delete(ResourceClaim, "gpu", "shop")
    await client.get(Pod, "one", "shop")
    await client.bind(make_pod("one"), "a")


def test_answers_are_passed_on_and_told_except_those_about_pods() -> None:
    listener, server, client = tapped()
    asyncio.run(_call_all(client))
    assert server.calls == [
        "list",
        "get",
        "create",
        "update",
        "patch",
        "finalize",
        "delete",
        "get",
        "bind",
    ]
    verbs = ("get", "create", "update", "patch", "finalize")
    assert listener.heard == [
        (f"list {KIND} shop", (CLAIM,), ""),
        *((f"{verb} {KIND} shop/gpu", CLAIM, "") for verb in verbs),
    ]


def test_what_the_client_has_beyond_the_contract_is_passed_on() -> None:
    _, server, client = tapped()
    assert client.calls is server.calls
    with pytest.raises(AttributeError):
        _ = client.unknown


def test_failures_are_told_and_raised() -> None:
    listener, server, client = tapped()
    server.fails = True
    with pytest.raises(ApiError):
        asyncio.run(client.patch(ResourceClaim, "gpu", "shop", {}))
    with pytest.raises(ApiError):
        asyncio.run(client.list(ResourceClaim))
    assert [(request, answer) for request, answer, _ in listener.heard] == [
        (f"patch {KIND} shop/gpu", None),
        (f"list {KIND}", None),
    ]
    assert all("changed" in error for _, _, error in listener.heard)


class Web:
    """A client of other servers."""

    async def get(self, url: str, **options: Any) -> HttpAnswer:
        if url.endswith("gone"):
            raise ApiError(0, f"no answer from {url}" if "?" in url else "no answer")
        return HttpAnswer(200, options["token"].encode())


class Measures(Plugin):
    """A plugin whose answers are measurements."""

    records_http = True


def test_answers_of_other_servers_are_told_without_the_token_in_the_request() -> None:
    listener = Listener()
    client = TappedHttpClient(Web(), Taps([listener], AttemptRandom(1))).for_plugin(Measures)
    answer = asyncio.run(client.get("http://example.com/load", token="secret"))
    assert answer == HttpAnswer(200, b"secret")
    with pytest.raises(ApiError):
        asyncio.run(client.get("http://example.com/gone"))
    (request, heard, _), (_, nothing, error) = listener.heard
    assert (request, heard) == ("GET http://example.com/load", answer)
    assert nothing is None
    assert "no answer" in error


def test_answers_are_private_unless_the_plugin_declares_measurements() -> None:
    listener = Listener()
    client = TappedHttpClient(Web(), Taps([listener], AttemptRandom(1)))
    for one in (client, client.for_plugin(Plugin)):
        answer = asyncio.run(one.get("http://example.com/load", token="secret"))
        assert answer == HttpAnswer(200, b"secret")
        assert listener.heard.pop()[1] == PrivateAnswer(200, b"secret")


def test_requests_lose_user_and_values_of_the_query() -> None:
    listener = Listener()
    client = TappedHttpClient(Web(), Taps([listener], AttemptRandom(1)))
    asyncio.run(client.get("http://me:secret@example.com/load?key=secret", token=""))
    with pytest.raises(ApiError):
        asyncio.run(client.get("http://me:secret@example.com/echo?gone", token=""))
    assert [(request, error) for request, _, error in listener.heard] == [
        ("GET http://example.com/load?key=…", ""),
        ("GET http://example.com/echo?…", "0: no answer from http://example.com/echo?…"),
    ]


def test_requests_with_equal_texts_that_wait_at_once_are_numbered() -> None:
    requests = OpenRequests()
    texts = [requests.begin("fetch 1", f"http://host?query={query}") for query in "abc"]
    assert texts == [f"GET http://host?query=…{number}" for number in ("", " #1", " #2")]
    assert requests.begin("fetch 2", "http://host?query=d") == texts[0]
    requests.end("fetch 1", texts[1])
    assert requests.begin("fetch 1", "http://host?query=e") == texts[1]
    requests.end("fetch 1", texts[0])
    assert requests.begin("fetch 1", "http://host?query=f") == texts[0]


async def test_taps_learn_which_periodic_work_sent_a_request() -> None:
    listener, _, client = tapped()
    web = TappedHttpClient(Web(), Taps([listener], AttemptRandom(1)))
    clock = Gate()
    periodic = PeriodicWork(clock)

    async def ask() -> None:
        await client.list(ResourceClaim)
        # Tasks belong to the work that starts them.
        await asyncio.gather(web.get("http://example.com/load", token=""))

    for _ in range(2):
        periodic.add(30.0, ask)
    periodic.start()
    for _ in range(2):
        await clock.slept.get()
    await client.list(ResourceClaim)
    await periodic.close()
    kind = "test_taps_learn_which_periodic_work_sent_a_request.<locals>.ask"
    assert sorted(listener.works) == ["", *(f"{kind} 1",) * 2, *(f"{kind} 2",) * 2]
