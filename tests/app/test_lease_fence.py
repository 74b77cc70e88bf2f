from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from mooring.api import ObjectMeta, Pod
from mooring.app.lease_fence import EXPIRED, NOT_HELD, LeaseFence
from mooring.cache.cache import Cache
from mooring.client import http_pool
from mooring.client.client import Client
from mooring.client.connection import Connection
from mooring.client.rate_limit import RateLimit
from mooring.client.transport import Request, Transport
from mooring.client.transports import make_transport
from mooring.errors import LeaseExpiredError, NoAnswerError
from mooring.extenders.extenders import Extenders
from mooring.framework.features import FeatureGates
from mooring.framework.pod_info import PodInfos
from mooring.observe.clock import VirtualClock
from tests.client.fakes import serving
from tests.extenders.webhooks import make_config
from tests.extenders.webhooks import serving as serving_extender

POD = Pod(metadata=ObjectMeta(name="a", namespace="ns", uid="u"))


def fence_at(clock: VirtualClock, seconds: float = 3.0) -> LeaseFence:
    return LeaseFence(seconds, clock.now)


def test_writes_pass_while_the_last_renewal_was_sent_less_than_a_lease_ago() -> None:
    clock = VirtualClock(100.0)
    fence = fence_at(clock)
    with pytest.raises(LeaseExpiredError, match=NOT_HELD):
        fence.check()
    sent = clock.now()
    clock.advance(2.0)
    fence.renew(sent)
    fence.check()
    clock.advance(1.0)
    with pytest.raises(LeaseExpiredError) as raised:
        fence.check()
    assert str(raised.value) == EXPIRED.format(3.0, 3.0)
    assert not raised.value.sent
    assert not raised.value.maybe_applied
    fence.renew(clock.now())
    fence.check()
    fence.close()
    with pytest.raises(LeaseExpiredError, match=NOT_HELD):
        fence.check()


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
def test_reads_always_pass(method: str) -> None:
    fence = fence_at(VirtualClock())
    request = Request(method, "/api/v1/pods")
    if method in ("GET", "HEAD"):
        fence.check_request(request)
    else:
        with pytest.raises(LeaseExpiredError):
            fence.check_request(request)


class Scene:
    """A server, a fenced client, and a lease of 3 s that was just renewed."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.fence = fence_at(self.clock)
        self.fence.renew(self.clock.now())
        self.received: list[tuple[str, str]] = []
        #: Called for every request that arrives.
        self.answer: Callable[[], web.Response | None] = lambda: None
        self.client: Client
        self.transport: Transport
        self.hold = asyncio.Event()
        self.hold.set()
        self.arrived = asyncio.Event()

    async def handle(self, request: web.Request) -> web.Response:
        self.received.append((request.method, request.path))
        self.arrived.set()
        await self.hold.wait()
        return self.answer() or web.json_response({"metadata": {"name": "a"}})


@asynccontextmanager
async def scene(kind: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    made = Scene()
    monkeypatch.setattr(http_pool, "REQUEST_CONNECTIONS", 1)
    async with serving(made.handle) as url:
        connection = Connection(server=url)
        if kind == "through a proxy":
            connection = Connection(server="http://server.invalid", proxy=url)
        made.transport = make_transport(connection, before_send=made.fence.check_request)
        made.client = Client(made.transport)
        try:
            yield made
        finally:
            await made.client.close()


both = pytest.mark.parametrize("kind", ["straight", "through a proxy"])


@both
async def test_a_write_without_a_lease_is_not_sent_and_reads_are(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene(kind, monkeypatch) as stage:
        stage.clock.advance(3.0)
        for write in (
            stage.client.bind(POD, "node"),
            stage.client.delete(Pod, "a", "ns"),
            stage.client.patch(Pod, "a", "ns", {}, subresource="status"),
            stage.client.create(POD),
            stage.client.update(POD),
            stage.client.evict(POD),
        ):
            with pytest.raises(LeaseExpiredError):
                await write
        assert stage.received == []
        await stage.client.get(Pod, "a", "ns")
        stage.fence.renew(stage.clock.now())
        await stage.client.bind(POD, "node")
        assert [method for method, _ in stage.received] == ["GET", "POST"]


@both
async def test_a_write_that_waited_for_a_connection_is_checked_when_it_has_one(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene(kind, monkeypatch) as stage:
        stage.hold.clear()
        first = asyncio.create_task(stage.client.get(Pod, "first", "ns"))
        await stage.arrived.wait()
        # The only connection is busy; the lease is still valid when the write begins to wait.
        second = asyncio.create_task(stage.client.bind(POD, "node"))
        await asyncio.sleep(0)
        stage.clock.advance(3.0)
        stage.hold.set()
        await first
        with pytest.raises(LeaseExpiredError):
            await second
        assert [method for method, _ in stage.received] == ["GET"]
        # The connection can be used for other requests.
        await stage.client.get(Pod, "third", "ns")
        assert [method for method, _ in stage.received] == ["GET", "GET"]


@both
async def test_a_write_that_is_sent_again_is_checked_again(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene(kind, monkeypatch) as stage:

        def refuse() -> web.Response:
            stage.clock.advance(3.0)
            return web.json_response({}, status=429, headers={"Retry-After": "0"})

        stage.answer = refuse
        with pytest.raises(LeaseExpiredError):
            await stage.client.bind(POD, "node")
        assert len(stage.received) == 1


async def test_a_stop_between_check_and_write_lets_one_request_pass() -> None:
    clock = VirtualClock()
    fence = fence_at(clock)
    fence.renew(clock.now())
    received: list[str] = []

    async def handle(request: web.Request) -> web.Response:
        received.append(request.path)
        return web.json_response({})

    def check(request: Request) -> None:
        fence.check_request(request)
        # The process is stopped here, and continued after the lease has ended.
        clock.advance(3.0)

    async with serving(handle) as url:
        client = Client(make_transport(Connection(server=url), before_send=check))
        try:
            binds = [client.bind(POD, "node") for _ in range(10)]
            ended = await asyncio.gather(*binds, return_exceptions=True)
        finally:
            await client.close()
    assert len(received) == 1
    assert [type(end) for end in ended if end is not None] == [LeaseExpiredError] * 9


async def test_a_write_that_waited_for_the_rate_limit_is_checked_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with scene("straight", monkeypatch) as stage:
        # Waiting moves the virtual clock.
        limit = RateLimit(0.2, 1, stage.clock)
        limited = Client(stage.transport, limit=limit, clock=stage.clock)
        await limited.bind(POD, "node")
        with pytest.raises(LeaseExpiredError):
            await limited.bind(POD, "node")
        assert len(stage.received) == 1


async def test_a_refused_write_is_no_answer_and_was_not_sent() -> None:
    error = LeaseExpiredError(NOT_HELD)
    assert isinstance(error, NoAnswerError)
    assert error.status == 0
    assert str(error) == error.message == NOT_HELD


async def test_an_extender_is_asked_to_bind_with_a_lease_only_and_may_always_be_asked() -> None:
    clock = VirtualClock()
    fence = fence_at(clock)
    fence.renew(clock.now())
    verbs = {f"{verb}Verb": verb for verb in ("bind", "filter", "prioritize", "preempt")}
    answers = {"bind": {}, "filter": {}, "prioritize": [], "preempt": {}}
    async with serving_extender(answers) as server:
        config = make_config(urlPrefix=server.url, weight=1, **verbs)
        extenders = Extenders([config], before_write=fence.check)
        (extender,) = extenders
        try:
            await extender.bind(POD, "node")
            clock.advance(3.0)
            with pytest.raises(LeaseExpiredError):
                await extender.bind(POD, "node")
            await extender.filter(POD, [])
            await extender.prioritize(POD, [])
            await extender.process_preemption(POD, {}, Cache(PodInfos(FeatureGates())).nodes)
            with pytest.raises(LeaseExpiredError):
                await extender.bind(POD, "node")
        finally:
            await extenders.close()
    assert [verb for verb, _ in server.asked] == ["bind", "filter", "prioritize", "preempt"]
