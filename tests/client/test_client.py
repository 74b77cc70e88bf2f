"""Verbs, retries and errors, on a transport with given responses."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring.api import CustomResource, Node, ObjectMeta, Pod, ResourceClaim
from mooring.client.client import APPLY, JSON_PATCH, MERGE, REQUEST_SECONDS, STRATEGIC, Client
from mooring.client.protobuf import PROTOBUF
from mooring.client.rate_limit import RateLimit
from mooring.client.resources import ListOptions
from mooring.client.transport import JSON
from mooring.errors import ApiError, NoAnswerError, ObjectError
from mooring.framework import handle
from tests.client.fakes import FakeStream, FakeTransport, RecordingClock, answer, failure

POD = Pod(metadata=ObjectMeta(name="p", namespace="team", uid="u1"))
CLAIM = ResourceClaim(
    metadata=ObjectMeta(name="c", namespace="team", uid="u", resource_version="7")
)
BODY = {"metadata": {"name": "p", "namespace": "team"}}
PATH = "/api/v1/namespaces/team/pods/p"
LOST = NoAnswerError("lost", sent=True)
REFUSED = NoAnswerError("connection refused", sent=False)
BUSY = answer(429, failure(429, "TooManyRequests", "busy"), Retry_After="3")


class Recorder:
    def __init__(self) -> None:
        self.lines: list[tuple[Any, ...]] = []

    def requested(self, method: str, host: str, code: str, seconds: float) -> None:
        self.lines.append(("requested", method, host, code))

    def sized(self, method: str, host: str, sent: int, received: int) -> None:
        self.lines.append(("sized", method, sent, received))

    def retried(self, method: str, host: str, code: str) -> None:
        self.lines.append(("retried", method, host, code))

    def throttled(self, method: str, host: str, seconds: float) -> None:
        self.lines.append(("throttled", method, host, seconds))


def make(*answers: Any, **options: Any) -> tuple[Client, FakeTransport, RecordingClock]:
    transport, clock = FakeTransport(*answers), RecordingClock()
    return Client(transport, clock=clock, **options), transport, clock


def test_a_client_is_what_plugins_are_promised() -> None:
    client, _, _ = make()
    promised: handle.ApiClient = client
    assert promised is client


@pytest.mark.parametrize(
    ("call", "method", "target", "content_type", "body"),
    [
        pytest.param(lambda c: c.get(Pod, "p", "team"), "GET", PATH, JSON, None, id="get"),
        pytest.param(
            lambda c: c.create(POD),
            "POST",
            "/api/v1/namespaces/team/pods",
            JSON,
            {"apiVersion": "v1", "kind": "Pod", **BODY},
            id="create",
        ),
        pytest.param(
            lambda c: c.update(POD, subresource="status"),
            "PUT",
            f"{PATH}/status",
            JSON,
            {"apiVersion": "v1", "kind": "Pod", **BODY},
            id="update",
        ),
        pytest.param(
            lambda c: c.patch(Pod, "p", "team", {"a": 1}, subresource="status"),
            "PATCH",
            f"{PATH}/status",
            STRATEGIC,
            {"a": 1},
            id="strategic merge patch",
        ),
        pytest.param(
            lambda c: c.patch(Pod, "p", "team", {"a": None}, patch_type=MERGE),
            "PATCH",
            PATH,
            MERGE,
            {"a": None},
            id="merge patch",
        ),
        pytest.param(
            lambda c: c.patch(Pod, "p", "team", [{"op": "test"}], patch_type=JSON_PATCH),
            "PATCH",
            PATH,
            JSON_PATCH,
            [{"op": "test"}],
            id="JSON patch",
        ),
        pytest.param(
            lambda c: c.patch(
                Pod, "p", "team", {}, patch_type=APPLY, field_manager="me", force=True
            ),
            "PATCH",
            f"{PATH}?fieldManager=me&force=true",
            APPLY,
            {},
            id="apply",
        ),
        pytest.param(
            lambda c: c.delete(Pod, "p", "team", uid="u1", grace_period_seconds=0),
            "DELETE",
            PATH,
            JSON,
            {
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "preconditions": {"uid": "u1"},
                "gracePeriodSeconds": 0,
            },
            id="delete",
        ),
        pytest.param(
            lambda c: c.bind(POD, "n"),
            "POST",
            f"{PATH}/binding",
            JSON,
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": "p", "namespace": "team", "uid": "u1"},
                "target": {"kind": "Node", "name": "n"},
            },
            id="bind",
        ),
        pytest.param(
            lambda c: c.evict(POD),
            "POST",
            f"{PATH}/eviction",
            JSON,
            {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"name": "p", "namespace": "team"},
                "deleteOptions": {"preconditions": {"uid": "u1"}},
            },
            id="evict",
        ),
    ],
)
async def test_a_verb_on_the_wire(
    call: Any, method: str, target: str, content_type: str, body: Any
) -> None:
    client, transport, _ = make(answer(200, BODY))
    await call(client)
    (asked,) = transport.asked
    assert (asked.method, asked.target, asked.content_type) == (method, target, content_type)
    sent = msgspec.json.decode(asked.body) if asked.body else None
    if isinstance(sent, dict) and method in ("POST", "PUT") and sent.get("kind") == "Pod":
        sent["metadata"].pop("uid")
    assert sent == body


async def test_a_list_asks_for_what_is_selected() -> None:
    body = {"metadata": {"resourceVersion": "7", "continue": "more"}, "items": [BODY]}
    client, transport, _ = make(answer(200, body))
    found = await client.list(Pod, "team", ListOptions(limit=1))
    assert transport.asked[0].target == "/api/v1/namespaces/team/pods?limit=1"
    assert (found.metadata.resource_version, found.metadata.continue_) == ("7", "more")
    assert found.items[0].metadata.name == "p"


async def test_a_watch_is_asked_for_and_read() -> None:
    line = msgspec.json.encode({"type": "ADDED", "object": BODY}) + b"\n"
    client, transport, _ = make(FakeStream([line]))
    async with client.watch(Pod, options=ListOptions(resource_version="5")) as watch:
        batches = [batch async for batch in watch.batches()]
    assert transport.asked[0].target == "/api/v1/pods?resourceVersion=5&watch=true"
    assert [event.object.metadata.name for batch in batches for event in batch] == ["p"]


async def test_a_stream_is_read_as_it_arrives() -> None:
    transport = FakeTransport(FakeStream([b"a", b"b"]))
    client = Client(transport)
    async with client.stream("/x?since=1", accept="text/event-stream") as stream:
        assert [chunk async for chunk in stream.chunks()] == [b"a", b"b"]
    (request,) = transport.asked
    assert (request.method, request.target) == ("GET", "/x?since=1")
    assert (request.accept, request.timeout) == ("text/event-stream", REQUEST_SECONDS)


async def test_a_watch_that_is_refused_raises() -> None:
    body = msgspec.json.encode(failure(410, "Expired", "too old"))
    client, _, _ = make(FakeStream([body], status=410))
    with pytest.raises(ApiError, match="too old") as raised:
        async with client.watch(Pod):
            raise AssertionError("there is nothing to watch")
    assert raised.value.is_gone


#: An object as the server stores it: runtime.Unknown whose field 2 (0x12) is the object.
KEPT = b"k8s\x00\x12\x03abc"
#: The same with metadata (0x0a) appended: finalizer (0x72), uid (0x2a), resource version (0x32).
KEPT_AND_FINALIZER = b"k8s\x00\x12\x10abc\x0a\x0b\x72\x03x/y\x2a\x01u\x32\x017"
FINALIZED = {"metadata": {"name": "c", "finalizers": ["x/y"]}}
IMMUTABLE = answer(422, failure(422, "Invalid", "field is immutable"))


async def test_a_finalizer_is_added_to_the_very_object_that_was_read() -> None:
    client, transport, _ = make(answer(200, FINALIZED))
    written = await client.add_finalizer(CLAIM, "x/y")
    assert written.metadata.finalizers == ("x/y",)
    (patch,) = transport.asked
    assert patch.method == "PATCH"
    assert msgspec.json.decode(patch.body) == {
        "metadata": {"uid": "u", "resourceVersion": "7", "finalizers": ["x/y"]}
    }


async def test_an_object_that_was_never_read_gets_a_finalizer_without_a_precondition() -> None:
    client, transport, _ = make(answer(200, FINALIZED))
    made = ResourceClaim(metadata=ObjectMeta(name="c", namespace="team"))
    await client.add_finalizer(made, "x/y")
    (patch,) = transport.asked
    assert msgspec.json.decode(patch.body) == {"metadata": {"finalizers": ["x/y"]}}


@pytest.mark.parametrize(
    ("status", "reason"), [(409, "Conflict"), (403, "Forbidden"), (404, "NotFound")]
)
async def test_a_finalizer_that_is_refused_for_another_reason_is_not_tried_again(
    status: int, reason: str
) -> None:
    # A second or third request would succeed.
    again = (answer(200, KEPT), answer(200, FINALIZED))
    client, transport, _ = make(answer(status, failure(status, reason)), *again)
    with pytest.raises(ApiError) as raised:
        await client.add_finalizer(CLAIM, "x/y")
    assert raised.value.status == status
    assert [request.method for request in transport.asked] == ["PATCH"]


async def test_an_object_that_no_patch_leaves_alone_is_sent_back_as_it_is_kept() -> None:
    client, transport, _ = make(IMMUTABLE, answer(200, KEPT), answer(200, FINALIZED))
    written = await client.add_finalizer(CLAIM, "x/y")
    assert written.metadata.finalizers == ("x/y",)
    patch, read, put = transport.asked
    assert msgspec.json.decode(patch.body) == {
        "metadata": {"uid": "u", "resourceVersion": "7", "finalizers": ["x/y"]}
    }
    assert (read.method, read.target, read.accept) == ("GET", patch.target, PROTOBUF)
    assert (put.method, put.target, put.content_type) == ("PUT", patch.target, PROTOBUF)
    assert put.body == KEPT_AND_FINALIZER


async def test_where_nothing_is_kept_as_protobuf_the_refusal_stands() -> None:
    kept = answer(200, {"kind": "ResourceClaim"})
    client, transport, _ = make(IMMUTABLE, kept, answer(200, FINALIZED))
    with pytest.raises(ApiError, match="field is immutable"):
        await client.add_finalizer(CLAIM, "x/y")
    assert [request.method for request in transport.asked] == ["PATCH", "GET"]


@pytest.mark.parametrize(
    "call",
    [lambda c: c.get(Pod, "p"), lambda c: c.bind(POD, "n"), lambda c: c.list(Node)],
    ids=["a read", "a write", "a list"],
)
async def test_the_server_asks_for_patience_and_gets_it(call: Any) -> None:
    metrics = Recorder()
    client, transport, clock = make(BUSY, BUSY, answer(200, {}), metrics=metrics)
    await call(client)
    assert clock.slept == [3.0, 3.0]
    assert len(transport.asked) == 3
    codes = [line[-1] for line in metrics.lines if line[0] == "requested"]
    assert codes == ["429", "429", "200"]
    assert sum(line[0] == "retried" for line in metrics.lines) == 2


async def test_sizes_are_counted() -> None:
    metrics = Recorder()
    client, transport, _ = make(answer(201, b"{}"), metrics=metrics)
    await client.bind(POD, "n")
    sized = [line for line in metrics.lines if line[0] == "sized"]
    assert sized == [("sized", "POST", len(transport.asked[0].body), 2)]


async def test_a_request_without_an_answer_is_counted() -> None:
    metrics = Recorder()
    client, _, clock = make(LOST, REFUSED, metrics=metrics)
    with pytest.raises(NoAnswerError):
        await client.get(Pod, "p")
    assert clock.slept == [1.0]
    assert metrics.lines == [
        ("requested", "GET", "server:6443", "<error>"),
        ("retried", "GET", "server:6443", "<error>"),
        ("requested", "GET", "server:6443", "<error>"),
    ]


async def test_the_time_of_a_request_is_taken_and_never_negative() -> None:
    took: list[float] = []

    class Timing(Recorder):
        def requested(self, method: str, host: str, code: str, seconds: float) -> None:
            took.append(seconds)

    class Slow(FakeTransport):
        async def send(self, request: Any) -> Any:
            clock.time += 0.25 if len(self.asked) == 0 else -5.0
            return await super().send(request)

    class Jumping(RecordingClock):
        time = 100.0

        def now(self) -> float:
            return self.time

    clock = Jumping()
    transport = Slow(answer(200, {}), answer(200, {}))
    client = Client(transport, clock=clock, metrics=Timing())
    for _ in range(2):
        await client.get(Pod, "p")
    assert took == [0.25, 0.0]


async def test_a_watch_that_is_refused_to_nobody_carries_the_hint() -> None:
    client, _, _ = make(FakeStream([b"{}"], status=401))
    with pytest.raises(ApiError, match="a hint"):
        async with client.watch(Pod):
            raise AssertionError("there is nothing to watch")


async def test_patience_ends_after_ten_times() -> None:
    client, transport, _ = make(*[BUSY] * 11)
    with pytest.raises(ApiError, match="busy"):
        await client.get(Pod, "p")
    assert len(transport.asked) == 11


@pytest.mark.parametrize(
    ("answered", "reads", "writes"),
    [
        pytest.param(LOST, 2, 1, id="no answer"),
        pytest.param(REFUSED, 1, 1, id="no connection"),
        pytest.param(answer(500, {}, Retry_After="1"), 2, 1, id="500 with Retry-After"),
        pytest.param(answer(504, {}, Retry_After="1"), 2, 1, id="504 with Retry-After"),
        pytest.param(answer(503, {}, Retry_After="1"), 2, 2, id="503 with Retry-After"),
        pytest.param(answer(500, {}), 1, 1, id="500"),
        pytest.param(answer(429, {}), 1, 1, id="429 without Retry-After"),
        pytest.param(answer(409, {}, Retry_After="1"), 1, 1, id="409"),
        pytest.param(answer(499, {}, Retry_After="1"), 1, 1, id="499"),
    ],
)
async def test_what_may_have_been_carried_out_is_not_sent_again(
    answered: Any, reads: int, writes: int
) -> None:
    for call, expected in (
        (lambda c: c.get(Pod, "p"), reads),
        (lambda c: c.bind(POD, "n"), writes),
    ):
        client, transport, _ = make(answered, answer(200, {}))
        try:
            await call(client)
        except ApiError:
            assert expected == 1
        assert len(transport.asked) == expected


async def test_a_budget_that_forbids_an_eviction_is_not_asked_again() -> None:
    client, _, _ = make(BUSY)
    with pytest.raises(ApiError) as raised:
        await client.evict(POD)
    assert raised.value.is_too_many_requests and raised.value.retry_after == 3.0


async def test_a_refusal_of_credentials_carries_the_hint() -> None:
    client, _, _ = make(answer(401, failure(401, "Unauthorized", "Unauthorized")))
    with pytest.raises(ApiError, match="Unauthorized; a hint"):
        await client.get(Pod, "p")


async def test_requests_wait_for_their_turn() -> None:
    clock = RecordingClock()
    metrics = Recorder()
    transport = FakeTransport(*[answer(200, {})] * 3)
    client = Client(transport, clock=clock, limit=RateLimit(2.0, 1, clock), metrics=metrics)
    for _ in range(3):
        await client.get(Pod, "p")
    assert clock.slept == [pytest.approx(0.5), pytest.approx(0.5)]
    assert [line[-1] for line in metrics.lines if line[0] == "throttled"] == [
        0,
        pytest.approx(0.5),
        pytest.approx(0.5),
    ]


@pytest.mark.parametrize("body", [b"garbage", b"[]", b"\xff"])
async def test_garbage_is_an_error_of_the_server(body: bytes) -> None:
    client, _, _ = make(answer(200, body), answer(200, body))
    with pytest.raises(ApiError, match="cannot be read") as got:
        await client.get(Pod, "p")
    with pytest.raises(ApiError, match="cannot be read") as listed:
        await client.list(Pod)
    for raised in (got, listed):
        assert (raised.value.status, raised.value.reason) == (500, "ClientDecoding")


async def test_a_custom_resource_goes_where_the_server_says() -> None:
    served = {
        "resources": [
            {"name": "crews/status", "kind": "Crew"},
            {"name": "crews", "kind": "Crew"},
        ]
    }
    raw = {"apiVersion": "x.io/v1", "kind": "Crew", "metadata": {"name": "a", "namespace": "t"}}
    crew = CustomResource(
        api_version="x.io/v1", kind="Crew", metadata=ObjectMeta(name="a", namespace="t"), raw=raw
    )
    client, transport, _ = make(answer(200, served), answer(201, raw), answer(200, raw))
    assert (await client.create(crew)).raw == raw
    await client.update(crew)
    assert [asked.target for asked in transport.asked] == [
        "/apis/x.io/v1",
        "/apis/x.io/v1/namespaces/t/crews",
        "/apis/x.io/v1/namespaces/t/crews/a",
    ]


async def test_a_custom_resource_that_nobody_serves() -> None:
    crew = CustomResource(api_version="x.io/v1", kind="Crew")
    client, _, _ = make(answer(200, {"resources": []}))
    with pytest.raises(ApiError, match="knows no Crew in") as raised:
        await client.create(crew)
    assert raised.value.is_not_found


async def test_what_is_no_object_is_refused() -> None:
    client, _, _ = make()
    with pytest.raises(ObjectError, match="got dict"):
        await client.create({})


async def test_a_warning_of_the_server_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    warnings = '299 - "v1beta1 is deprecated", 199 - "of no interest", 299 - "and \\"b\\" too"'
    client, _, _ = make(answer(200, BODY, Warning=warnings))
    await client.get(Pod, "p")
    assert [record.getMessage() for record in caplog.records] == [
        "v1beta1 is deprecated",
        'and "b" too',
    ]


async def test_closing_closes_the_connections() -> None:
    client, transport, _ = make()
    await client.close()
    assert transport.closed


@pytest.mark.parametrize(
    ("call", "attempts"),
    [
        pytest.param(lambda client: client.get(Pod, "p"), 11, id="ten times by default"),
        pytest.param(lambda client: client.request("GET", "/", retries=2), 3, id="twice"),
        pytest.param(lambda client: client.request("GET", "/", retries=0), 1, id="never"),
    ],
)
@pytest.mark.parametrize("answered", [LOST, BUSY], ids=["no answer", "busy"])
async def test_a_read_is_repeated_as_often_as_allowed(
    call: Any, attempts: int, answered: Any
) -> None:
    client, transport, clock = make(*[answered] * 20)
    with pytest.raises(ApiError):
        await call(client)
    assert len(transport.asked) == attempts
    assert clock.slept == [1.0 if answered is LOST else 3.0] * (attempts - 1)


@pytest.mark.parametrize(
    ("answered", "counted"),
    [
        pytest.param(REFUSED, ["<error>"], id="a watch that was not sent"),
        pytest.param(FakeStream([LOST]), ["200"], id="a watch that broke later"),
        pytest.param(FakeStream([b"{}"], status=403), ["403"], id="a watch that was refused"),
    ],
)
async def test_a_watch_is_counted_once(answered: Any, counted: list[str]) -> None:
    metrics = Recorder()
    client, _, _ = make(answered, metrics=metrics)
    with pytest.raises(ApiError):
        async with client.watch(Pod) as watch:
            async for _ in watch.batches():
                pass
    assert [line[-1] for line in metrics.lines] == counted


async def test_what_each_request_allows() -> None:
    """Seconds and bytes: a list may be larger than an object, and a watch may be idle longer."""
    stream = FakeStream([])
    client, transport, _ = make(answer(200, BODY), answer(200, {}), stream)
    idle: list[float | None] = []
    opened = transport.stream

    def recording(request: Any, *, idle_timeout: float | None = None) -> Any:
        idle.append(idle_timeout)
        return opened(request, idle_timeout=idle_timeout)

    transport.stream = recording  # type: ignore[method-assign]
    await client.get(Pod, "p")
    await client.list(Pod)
    async with client.watch(Pod):
        pass
    assert [(one.timeout, one.max_bytes) for one in transport.asked] == [
        (75.0, 2**24),
        (75.0, 2**30),
        (75.0, 2**24),
    ]
    assert idle == [150.0]


async def test_a_watch_may_be_idle_for_as_long_as_asked() -> None:
    client, transport, _ = make(FakeStream([]))
    async with client.watch(Pod, "team", ListOptions(label_selector="a=b"), idle_timeout=None):
        pass
    assert transport.asked[0].target == (
        "/api/v1/namespaces/team/pods?labelSelector=a%3Db&watch=true"
    )


async def test_a_failure_names_the_path_without_the_query() -> None:
    refused = answer(403, failure(403, "Forbidden", "no"))
    client, _, _ = make(refused, refused, answer(200, b"garbage"))
    with pytest.raises(ApiError) as raised:
        await client.list(Pod, options=ListOptions(label_selector="a=b"))
    assert (raised.value.method, raised.value.url) == ("GET", "https://server:6443/api/v1/pods")
    with pytest.raises(ApiError) as raised:
        await client.delete(Pod, "p", "team")
    assert (raised.value.method, raised.value.url) == ("DELETE", f"https://server:6443{PATH}")
    with pytest.raises(ApiError) as raised:
        await client.list(Pod)
    assert (raised.value.method, raised.value.url) == ("GET", "https://server:6443/api/v1/pods")


@pytest.mark.parametrize("status", [200, 201, 299])
async def test_a_success_is_any_status_below_300(status: int) -> None:
    client, _, _ = make(answer(status, b"body"))
    assert await client.request("GET", "/") == b"body"


@pytest.mark.parametrize("status", [300, 304, 404])
async def test_a_failure_is_any_status_from_300_on(status: int) -> None:
    client, _, _ = make(answer(status, b""))
    with pytest.raises(ApiError) as raised:
        await client.request("GET", "/")
    assert raised.value.status == status


@pytest.mark.parametrize("body", [b"garbage", b"\xff"])
async def test_garbage_about_custom_resources_names_where_it_came_from(body: bytes) -> None:
    crew = CustomResource(api_version="x.io/v1", kind="Crew")
    client, _, _ = make(answer(200, body))
    with pytest.raises(ApiError, match="cannot be read") as raised:
        await client.create(crew)
    assert (raised.value.method, raised.value.url) == ("GET", "https://server:6443/apis/x.io/v1")
