"""The paths of explanations, and who may read them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring.explain.scheduler_rules import SchedulerRules
from mooring.serve import explain_paths as module
from mooring.serve.explain_paths import (
    MOST_STREAMS,
    NO_RECORDS,
    OFF,
    ExplainAnswer,
    ExplainPaths,
    ExplainRequest,
)
from tests.serve.explaining import ALL, DECISIONS, POD, QUEUE, FakeReader, FakeScheduler

RULES = "/explain/v1/rules"


async def ask(
    paths: ExplainPaths,
    path: str,
    reader: FakeReader = ALL,
    *,
    method: str = "GET",
    last: str = "",
    **query: str,
) -> ExplainAnswer:
    values = {name.rstrip("_"): [value] for name, value in query.items()}
    return await paths.answer(ExplainRequest(method, path, values, last), reader)


def data_of(answer: ExplainAnswer) -> Any:
    return msgspec.json.decode(answer.body)


async def test_a_pod_is_explained() -> None:
    scheduler = FakeScheduler()
    paths = ExplainPaths(scheduler)
    answer = await ask(paths, POD, attempt="3")
    assert (answer.code, data_of(answer)["nodes"]) == (200, ["node-1"])
    assert scheduler.asked == [("shop", "web", 3)]
    await ask(paths, POD)
    assert scheduler.asked[-1] == ("shop", "web", None)


async def test_the_rules_are_for_those_who_may_read_all() -> None:
    scheduler = FakeScheduler()
    paths = ExplainPaths(scheduler)
    answer = await ask(paths, RULES)
    assert (answer.code, data_of(answer)["details"]["kind"]) == (404, "rules")
    scheduler.known_rules = SchedulerRules(
        mooring="1", release="1.37", gates={"A": True}, config={"profiles": []}
    )
    answer = await ask(paths, RULES)
    assert (answer.code, data_of(answer)) == (
        200,
        {
            "version": 1,
            "mooring": "1",
            "release": "1.37",
            "minCompatibility": "",
            "gates": {"A": True},
            "config": {"profiles": []},
            "plugins": [],
        },
    )
    answer = await ask(paths, RULES, FakeReader(pods=("shop/web",), nodes=True))
    assert answer.code == 403


@pytest.mark.parametrize(
    ("path", "query", "code", "message"),
    [
        ("/explain", {}, 404, "there is no path /explain"),
        ("/explain/v2/queue", {}, 404, "there is no path /explain/v2/queue"),
        ("/explain/v1/namespaces/shop/pods/", {}, 404, "there is no path "),
        ("/explain/v1/namespaces/shop/pods/web/x", {}, 404, "there is no path "),
        ("/explain/v1/namespaces/shop/pods/db", {}, 404, "pod shop/db is not known"),
        ("/explain/v1/namespaces/shop/pods/odd", {}, 404, "no profile serves it"),
        (POD, {"attempt": "-1"}, 400, "attempt must be an integer of at least 0, got '-1'"),
        (POD, {"attempt": "x"}, 400, "attempt must be an integer of at least 0, got 'x'"),
        (QUEUE, {"limit": "-1"}, 400, "limit must be an integer of at least 1, got '-1'"),
        (DECISIONS, {"since": "x"}, 400, "since must be a sequence number, got 'x'"),
    ],
)
async def test_bad_requests_get_a_status(
    path: str, query: dict[str, str], code: int, message: str
) -> None:
    answer = await ask(ExplainPaths(FakeScheduler()), path, **query)
    status = data_of(answer)
    assert (answer.code, status["kind"], status["code"]) == (code, "Status", code)
    assert status["message"].startswith(message)
    assert status["details"]["group"] == "mooring.dev"


@pytest.mark.parametrize("path", [POD, QUEUE, DECISIONS, "/explain/v1"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
async def test_paths_are_only_read(path: str, method: str) -> None:
    answer = await ask(ExplainPaths(FakeScheduler()), path, method=method)
    assert (answer.code, answer.headers["Allow"]) == (405, "GET")
    assert data_of(answer)["reason"] == "MethodNotAllowed"


@pytest.mark.parametrize("path", [POD, QUEUE, DECISIONS, "/explain/v1/other"])
async def test_a_reader_without_rights_sees_nothing(path: str) -> None:
    scheduler = FakeScheduler()
    answer = await ask(ExplainPaths(scheduler), path, FakeReader(pods=("shop/db",), nodes=True))
    assert (answer.code, scheduler.asked) == (403, [])
    message = data_of(answer)["message"]
    assert message.startswith(f'forbidden: User "jane" cannot get path "{path}"')


@pytest.mark.parametrize(
    ("reader", "message"),
    [
        pytest.param(
            FakeReader(pods=("shop/web",)),
            "taken by another pod on node 1, not on node 2; another pod is there",
            id="the pod alone",
        ),
        pytest.param(
            FakeReader(pods=("shop/web",), nodes=True),
            "taken by another pod on node-1, not on node-9; another pod is there",
            id="the pod, and nodes",
        ),
        pytest.param(
            FakeReader(pods=("shop/web", "shop/")),
            "taken by another pod on node 1, not on node 2; shop/cart is there",
            id="the pods of its namespace",
        ),
        pytest.param(
            FakeReader(pods=("shop/web", "other/db-0"), nodes=True),
            "taken by other/db-0 on node-1, not on node-9; another pod is there",
            id="one other pod",
        ),
        pytest.param(
            ALL,
            "taken by other/db-0 on node-1, not on node-9; shop/cart is there",
            id="the path",
        ),
    ],
)
async def test_names_are_for_those_who_may_read_the_objects(
    reader: FakeReader, message: str
) -> None:
    answer = await ask(ExplainPaths(FakeScheduler()), POD, reader)
    assert (answer.code, data_of(answer)["message"]) == (200, message)


async def test_pods_beyond_the_limit_are_hidden_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_MENTIONED", 1)
    reader = FakeReader(pods=("shop/web", "other/db-0", "shop/"), nodes=True)
    answer = await ask(ExplainPaths(FakeScheduler()), POD, reader)
    assert data_of(answer)["message"] == (
        "taken by other/db-0 on node-1, not on node-9; another pod is there"
    )


async def test_the_queue_is_read_in_pages() -> None:
    paths = ExplainPaths(FakeScheduler())
    first = data_of(await ask(paths, QUEUE, limit="2"))
    assert [item["name"] for item in first.pop("items")] == ["pod-0", "pod-1"]
    assert first == {"version": 1, "continue": "2", "total": 3}
    rest = data_of(await ask(paths, QUEUE, continue_="2"))
    assert (len(rest["items"]), rest["continue"]) == (1, "")


async def test_too_many_questions_are_asked_again_later() -> None:
    scheduler = FakeScheduler()
    scheduler.busy = True
    answer = await ask(ExplainPaths(scheduler), POD)
    assert (answer.code, answer.headers["Retry-After"]) == (429, "1")
    assert data_of(answer)["reason"] == "TooManyRequests"
    assert data_of(answer)["details"]["retryAfterSeconds"] == 1


async def test_a_loop_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUESTION_SECONDS", 0.0)
    monkeypatch.setattr(module, "REPLAY_SECONDS", 0.0)
    scheduler = FakeScheduler()
    scheduler.hangs = True
    answer = await ask(ExplainPaths(scheduler), POD)
    assert (answer.code, data_of(answer)["reason"]) == (504, "Timeout")


async def test_a_replay_that_takes_too_long() -> None:
    scheduler = FakeScheduler()
    scheduler.replays = False
    answer = await ask(ExplainPaths(scheduler), POD, attempt="3")
    assert (answer.code, data_of(answer)["message"]) == (504, "not within 40 s")


@pytest.mark.parametrize("path", [POD, QUEUE, DECISIONS])
async def test_a_standby_says_who_leads(path: str) -> None:
    paths = ExplainPaths(FakeScheduler(), leader=lambda: "other_1")
    answer = await ask(paths, path)
    assert answer.code == 503
    assert data_of(answer)["message"] == "this replica does not lead: the leader is other_1"
    answer = await ask(ExplainPaths(FakeScheduler(), leader=lambda: ""), path)
    assert data_of(answer)["message"] == "this replica does not lead: no replica leads"
    refused = await ask(paths, path, FakeReader())
    assert refused.code == 403, "who leads is not for everybody"


@pytest.mark.parametrize("path", [POD, QUEUE, DECISIONS])
async def test_without_records_nothing_is_there(path: str) -> None:
    answer = await ask(ExplainPaths(None), path)
    assert (answer.code, data_of(answer)["message"]) == (404, OFF)
    assert data_of(answer)["details"]["kind"] == NO_RECORDS


async def test_only_so_many_readers_follow() -> None:
    paths = ExplainPaths(FakeScheduler())
    answers = [await ask(paths, DECISIONS) for _ in range(MOST_STREAMS)]
    assert answers[0].headers == {"Content-Type": "text/event-stream"}
    refused = await ask(paths, DECISIONS)
    assert (refused.code, refused.headers["Retry-After"]) == (429, "10")
    assert answers[0].stream is not None
    await answers[0].stream.aclose()
    assert (await ask(paths, DECISIONS)).code == 200
    for answer in answers:
        assert answer.stream is not None
        await answer.stream.aclose()


async def test_a_stream_begins_after_the_last_event_that_was_read() -> None:
    scheduler = FakeScheduler()
    scheduler.add(1, 2, 3)
    paths = ExplainPaths(scheduler)
    for query, last, first in (({}, "", 1), ({"since": "1"}, "", 2), ({"since": "1"}, "2", 3)):
        stream = (await ask(paths, DECISIONS, last=last, **query)).stream
        assert stream is not None
        await anext(stream)
        assert (await anext(stream)).startswith(b"id: %d\n" % first)
        await stream.aclose()


async def test_streams_end_with_the_server() -> None:
    paths = ExplainPaths(FakeScheduler())
    stream = (await ask(paths, DECISIONS)).stream
    assert stream is not None
    await anext(stream)
    paths.stop()
    assert [chunk async for chunk in stream] == []
    await stream.aclose()
    assert (await ask(paths, DECISIONS)).code == 503
