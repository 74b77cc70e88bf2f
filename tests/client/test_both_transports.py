"""The same behaviour over both transports: through a socket, and within the process."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from mooring.api import Node, ObjectMeta, Pod, ResourceClaim
from mooring.apiserver.auth.certificate_authority import Authority
from mooring.apiserver.http import BODY_LIMIT, ApiResponse, BodyReader
from mooring.apiserver.http import ApiRequest as Received
from mooring.apiserver.in_process_transport import LocalTransport
from mooring.apiserver.listener import ApiListener, tls
from mooring.apiserver.resource_store import ResourceStore
from mooring.client.client import JSON_PATCH, MERGE, STRATEGIC, Client
from mooring.client.connection import Connection
from mooring.client.http_transport import HttpTransport
from mooring.client.protobuf import PROTOBUF
from mooring.client.resources import ListOptions
from mooring.client.tls_settings import KeyPair, Pem, TlsSettings
from mooring.client.transport import Request, Transport
from mooring.errors import ApiError, NoAnswerError
from tests.apiserver.api_server import ADMIN, MAPS, PODS, ApiServer, pod
from tests.support.waiting import PATIENCE

WATCH = Request("GET", f"{PODS}?watch=true")
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
#: Headers that describe how a body is transferred, which depends on the transport.
CARRIAGE = {
    "connection",
    "content-length",
    "date",
    "server",
    "transfer-encoding",
    "content-encoding",
    "vary",
}

Handle = Callable[[Received, BodyReader], Awaitable[ApiResponse]]
Opened = Callable[[Handle], AbstractAsyncContextManager[Transport]]


class Handling:
    """An API server that consists of one function."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle


@asynccontextmanager
async def over_the_socket(handle: Handle) -> AsyncIterator[Transport]:
    authority = Authority(None)
    server = ApiListener(handle)
    port = await server.start("127.0.0.1", 0, tls(authority, "127.0.0.1"))
    pair = authority.client(ADMIN.name, ADMIN.groups)
    settings = TlsSettings(
        authority=Pem(data=authority.pem),
        key_pair=KeyPair(Pem(data=pair.certificate), Pem(data=pair.key)),
    )
    transport = HttpTransport(
        Connection(server=f"https://127.0.0.1:{port}", tls=settings), user_agent="test/1"
    )
    try:
        yield transport
    finally:
        await transport.close()
        await server.stop()


@asynccontextmanager
async def in_process(handle: Handle) -> AsyncIterator[Transport]:
    transport = LocalTransport(Handling(handle), ADMIN, user_agent="test/1")
    try:
        yield transport
    finally:
        await transport.close()


@pytest.fixture(params=[over_the_socket, in_process], ids=["over the socket", "in process"])
def transport_to(request: pytest.FixtureRequest) -> Opened:
    opened: Opened = request.param
    return opened


class CountingStore(ResourceStore):
    """A store that counts who listens to each resource."""

    def __init__(self) -> None:
        super().__init__()
        self._listeners: dict[str, set[object]] = defaultdict(set)

    def listen(self, resource: str, listener: Any) -> Callable[[], None]:
        stop = super().listen(resource, listener)
        key = object()
        self._listeners[resource].add(key)

        def end() -> None:
            stop()
            self._listeners[resource].discard(key)

        return end

    def listening(self, resource: str) -> int:
        """Return how many listen to a resource."""
        return len(self._listeners[resource])


@pytest.fixture
def api() -> ApiServer:
    return ApiServer(CountingStore())


@pytest.fixture
async def transport(api: ApiServer, transport_to: Opened) -> AsyncIterator[Transport]:
    async with transport_to(api.api.handle) as made:
        yield made


@pytest.fixture
def client(transport: Transport) -> Client:
    return Client(transport)


def listeners(api: ApiServer) -> int:
    assert isinstance(api.store, CountingStore)
    return api.store.listening("/pods")


async def until(condition: Callable[[], bool]) -> None:
    """Wait until another task has made a condition true."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.001)


# The client's verbs.


async def test_a_pod_lives_and_goes(client: Client, api: ApiServer) -> None:
    await api.ask("POST", PODS, pod("p"))
    found = await client.get(Pod, "p", "default")
    changed = await client.patch(
        Pod, "p", "default", {"metadata": {"labels": {"a": "b"}}}, patch_type=STRATEGIC
    )
    assert changed.metadata.labels["a"] == "b"
    patch = [{"op": "add", "path": "/metadata/labels/c", "value": "d"}]
    changed = await client.patch(Pod, "p", "default", patch, patch_type=JSON_PATCH)
    assert changed.metadata.labels["c"] == "d"
    with pytest.raises(ApiError) as stale:
        await client.update(found)
    assert stale.value.is_conflict
    await client.bind(found, "n")
    with pytest.raises(ApiError, match="already assigned"):
        await client.bind(found, "m")
    listed = await client.list(Pod, options=ListOptions(field_selector="spec.nodeName=n"))
    assert [one.name for one in listed.items] == ["p"]
    await client.delete(Pod, "p", "default", uid=found.metadata.uid, grace_period_seconds=0)
    with pytest.raises(ApiError) as gone:
        await client.get(Pod, "p", "default")
    assert gone.value.is_not_found


async def test_an_object_is_created_once(client: Client) -> None:
    node = Node(metadata=ObjectMeta(name="n"))
    assert (await client.create(node)).metadata.uid
    with pytest.raises(ApiError) as twice:
        await client.create(node)
    assert (twice.value.status, twice.value.reason) == (409, "AlreadyExists")
    made = await client.patch(Node, "n", "", {"metadata": {"labels": {"a": "b"}}}, patch_type=MERGE)
    assert made.metadata.labels["a"] == "b"


async def test_a_claim_gets_a_finalizer(client: Client, api: ApiServer) -> None:
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
    }
    path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    await api.ask("POST", path, claim)
    found = await client.get(ResourceClaim, "c", "default")
    written = await client.add_finalizer(found, "example.com/kept")
    assert written.metadata.finalizers == ("example.com/kept",)


async def test_an_eviction_that_a_budget_forbids_says_when_to_come_again(
    client: Client, api: ApiServer
) -> None:
    await api.ask("POST", PODS, pod("p"))
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "p"}}},
    }
    await api.ask("POST", "/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget)
    found = await client.get(Pod, "p", "default")
    await client.bind(found, "n")
    status = {"status": {"phase": "Running"}}
    bound = await client.patch(Pod, "p", "default", status, subresource="status")
    with pytest.raises(ApiError) as refused:
        await client.evict(bound)
    assert refused.value.is_too_many_requests and refused.value.retry_after == 10.0


async def test_a_watch_tells_what_happens(client: Client, api: ApiServer) -> None:
    async with client.watch(Pod) as watch:
        await api.ask("POST", PODS, pod("p"))
        async with asyncio.timeout(PATIENCE):
            async for batch in watch.batches():
                assert [(event.type, event.object.name) for event in batch] == [("ADDED", "p")]
                break
    await until(lambda: listeners(api) == 0)


# The content of requests and responses.

REQUESTS = [
    pytest.param(Request("GET", f"{PODS}/p"), id="one object"),
    pytest.param(Request("GET", PODS), id="a list"),
    pytest.param(Request("GET", PODS, accept=TABLE), id="a list as a table"),
    pytest.param(Request("GET", f"{PODS}/p", accept="application/yaml"), id="an object as YAML"),
    pytest.param(Request("GET", f"{PODS}/p", accept=PROTOBUF), id="a form that is not served"),
    pytest.param(Request("GET", f"{PODS}/none"), id="an object that is not there"),
    pytest.param(Request("GET", "/api/v1/namespaces/a%2Fb/pods"), id="an odd namespace"),
    pytest.param(Request("GET", f"{PODS}?limit=many"), id="a query that is wrong"),
    pytest.param(Request("GET", "/nowhere"), id="a path that is not served"),
    pytest.param(Request("GET", "/version"), id="the version"),
    pytest.param(Request("POST", PODS), id="a body that is missing"),
    pytest.param(Request("POST", PODS, b"{"), id="a body that is cut"),
    pytest.param(Request("POST", PODS, b"{}", "text/plain"), id="a body of another type"),
    pytest.param(
        Request("POST", MAPS, b" " * (BODY_LIMIT + 1)), id="a body that is longer than allowed"
    ),
    pytest.param(Request("GET", "/api/v1/componentstatuses"), id="a kind that is deprecated"),
    pytest.param(
        Request(
            "POST",
            f"{PODS}?dryRun=All",
            b'{"metadata":{"name":"w","annotations":'
            b'{"container.apparmor.security.beta.kubernetes.io/c":"runtime/default"}},'
            b'"spec":{"automountServiceAccountToken":false,"containers":[{"name":"c","image":"i"}]}}',
        ),
        id="an object with a warning",
    ),
    pytest.param(Request("DELETE", f"{PODS}/none"), id="a deletion without a body"),
    pytest.param(Request("DELETE", f"{PODS}?dryRun=All"), id="a deletion of many"),
    pytest.param(Request("PATCH", f"{PODS}/p", b"{}", "text/plain"), id="a patch of no type"),
]


@pytest.mark.parametrize("request_", REQUESTS)
async def test_both_transports_bring_the_same_response(request_: Request) -> None:
    api = ApiServer()
    await api.ask("POST", PODS, pod("p"))
    seen = []
    for way in (over_the_socket, in_process):
        async with way(api.api.handle) as transport:
            response = await transport.send(request_)
            headers = {
                name.lower(): value
                for name, value in response.headers.items()
                if name.lower() not in CARRIAGE
            }
            seen.append((response.status, headers, _stable(response.body)))
            for name in headers:
                assert response.headers[name.title()] == headers[name]
            async with transport.stream(request_) as stream:
                assert stream.status == response.status
                assert stream.headers.get("Content-Type") == headers["content-type"]
                assert _stable(await stream.read()) == seen[0][2]
    assert seen[0] == seen[1]


def _stable(body: bytes) -> bytes:
    """Return a body without uids: each dry run of a creation generates a new one."""
    return re.sub(rb'"uid":"[^"]*"', b"", body)


async def test_a_warning_is_shown(
    client: Client, api: ApiServer, caplog: pytest.LogCaptureFixture
) -> None:
    await client.request("GET", "/api/v1/componentstatuses")
    assert [record.getMessage() for record in caplog.records] == [
        "v1 ComponentStatus is deprecated in v1.19+"
    ]


async def test_a_request_arrives_as_it_was_made(transport_to: Opened) -> None:
    seen: list[Received] = []

    async def handle(request: Received, read_body: BodyReader) -> ApiResponse:
        request.body = await read_body()
        seen.append(request)
        return ApiResponse(200)

    async with transport_to(handle) as transport:
        await transport.send(Request("GET", "/a%2Fb?c=d%26e&c=", accept="x/y"))
        await transport.send(Request("POST", "/a", b"body", "x/z"))
    read, write = seen
    assert (read.method, read.path, read.query) == ("GET", "/a%2Fb", {"c": ["d&e", ""]})
    assert read.headers["accept"] == "x/y" and read.headers["user-agent"] == "test/1"
    assert "content-type" not in read.headers
    assert (write.body, write.headers["content-type"]) == (b"body", "x/z")
    assert write.certificate is not None and write.certificate.name == ADMIN.name


async def test_a_target_that_is_not_encoded_is_a_mistake_of_the_caller(
    transport: Transport,
) -> None:
    with pytest.raises(ValueError, match="must be percent-encoded"):
        await transport.send(Request("GET", "/a b"))
    with pytest.raises(ValueError, match="must be percent-encoded"):
        async with transport.stream(Request("GET", "/\n")):
            raise AssertionError("there is no response")


# Streams that end, and requests that do not.


async def test_watches_left_before_their_first_event_are_freed(
    transport: Transport, api: ApiServer
) -> None:
    for _ in range(50):
        async with transport.stream(WATCH) as stream:
            assert stream.status == 200
    await until(lambda: listeners(api) == 0)


async def test_a_watch_whose_reader_is_cancelled_is_freed(
    transport: Transport, api: ApiServer
) -> None:
    begun = asyncio.Event()

    async def read() -> None:
        async with transport.stream(WATCH) as stream:
            begun.set()
            await stream.read()

    task = asyncio.create_task(read())
    await begun.wait()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: listeners(api) == 0)


async def test_a_watch_that_is_read_as_a_whole_has_its_time(
    transport: Transport, api: ApiServer
) -> None:
    with pytest.raises(NoAnswerError, match="no answer within the time allowed") as raised:
        await transport.send(Request("GET", f"{PODS}?watch=true", timeout=0.05))
    assert raised.value.sent
    assert str(raised.value).startswith(f"GET {transport.server}{PODS}: ")
    await until(lambda: listeners(api) == 0)


async def test_a_request_that_is_not_answered_has_its_time(transport_to: Opened) -> None:
    ended = asyncio.Event()

    async def never(request: Received, read_body: BodyReader) -> ApiResponse:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    async with transport_to(never) as transport:
        with pytest.raises(NoAnswerError, match="no answer within the time allowed") as raised:
            await transport.send(Request("POST", "/api", b"{}", timeout=0.05))
        assert raised.value.sent
        with pytest.raises(NoAnswerError, match="no answer within the time allowed"):
            async with transport.stream(Request("GET", "/api"), idle_timeout=0.05):
                raise AssertionError("there is no response")
        async with asyncio.timeout(PATIENCE):
            await ended.wait()


async def test_a_request_that_is_cancelled_ends_at_the_server(transport_to: Opened) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def never(request: Received, read_body: BodyReader) -> ApiResponse:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    async with transport_to(never) as transport:
        task = asyncio.create_task(transport.send(Request("GET", "/api")))
        async with asyncio.timeout(PATIENCE):
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await ended.wait()


async def test_a_watch_that_falls_silent_is_given_up(transport: Transport, api: ApiServer) -> None:
    with pytest.raises(NoAnswerError, match="no answer within the time allowed") as raised:
        async with transport.stream(WATCH, idle_timeout=0.05) as stream:
            await stream.read()
    assert raised.value.sent
    await until(lambda: listeners(api) == 0)


async def test_a_stream_that_breaks_is_cut(
    transport_to: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"one\n"
        raise KeyError("a mistake of the server")

    async def handle(request: Received, read_body: BodyReader) -> ApiResponse:
        return ApiResponse(200, stream=broken())  # type: ignore[arg-type]

    async with transport_to(handle) as transport:
        seen = b""
        with pytest.raises(NoAnswerError, match="cut within the answer") as raised:
            async with transport.stream(Request("GET", "/api")) as stream:
                async for chunk in stream.chunks():
                    seen += chunk
        assert raised.value.sent and seen == b"one\n"
    assert any(record.exc_info for record in caplog.records)


async def test_a_stream_is_closed_even_if_it_never_began(transport_to: Opened) -> None:
    class Chunks:
        closed = 0

        def __aiter__(self) -> Any:
            return self

        async def __anext__(self) -> bytes:
            await asyncio.Event().wait()
            raise AssertionError

        async def aclose(self) -> None:
            self.closed += 1

    made: list[Chunks] = []

    async def handle(request: Received, read_body: BodyReader) -> ApiResponse:
        made.append(Chunks())
        return ApiResponse(200, stream=made[-1])

    async with transport_to(handle) as transport:
        async with transport.stream(Request("GET", "/api")) as stream:
            assert stream.status == 200
        await until(lambda: made[0].closed == 1)


# Closing a transport.


async def test_closing_ends_open_watches(transport: Transport, api: ApiServer) -> None:
    with pytest.raises(NoAnswerError, match="the client was closed"):
        async with transport.stream(WATCH) as stream:
            reading = asyncio.create_task(stream.read())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            await transport.close()
            async with asyncio.timeout(PATIENCE):
                await reading
    await until(lambda: listeners(api) == 0)


async def test_watches_left_at_any_moment_are_freed(client: Client, api: ApiServer) -> None:
    for i in range(20):
        async with client.watch(Pod) as watch:
            if i % 2:
                await api.ask("POST", PODS, pod(f"p{i}"))
                async for _ in watch.batches():
                    break
    await until(lambda: listeners(api) == 0)
