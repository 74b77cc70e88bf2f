"""The page over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from mooring.errors import ConfigError
from mooring.leader.scheduler_questions import SchedulerAddress
from mooring.ui import page_server
from mooring.ui.leader_link import LeaderBusyError
from mooring.ui.page_access import HEADERS, NO_COOKIE, WRONG_HOST, WRONG_ORIGIN, WRONG_TOKEN
from mooring.ui.page_data import PageData
from mooring.ui.page_server import listen
from tests.apiserver.api_server import PODS, pod
from tests.local.clusters import running
from tests.support.pages import ServedPage, serving
from tests.support.waiting import PATIENCE


@asynccontextmanager
async def visited(page: ServedPage) -> AsyncIterator[aiohttp.ClientSession]:
    """Open a session that has entered with the token."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(page.origin, cookie_jar=jar) as session:
        async with session.get(page.url) as answer:
            assert answer.status == 200
        yield session


async def test_the_token_becomes_a_cookie_and_leaves_the_address(tmp_path: Path) -> None:
    async with (
        running(tmp_path, nodes=1),
        serving(tmp_path) as page,
        aiohttp.ClientSession(page.origin) as session,
    ):
        async with session.get(page.url, allow_redirects=False) as answer:
            assert (answer.status, answer.headers["Location"]) == (303, "/")
            assert answer.headers["Set-Cookie"] == page.access.cookie
        cookie = {"Cookie": page.access.cookie.partition(";")[0]}
        async with session.get("/", headers=cookie) as answer:
            assert answer.status == 200
            assert "<!doctype html>" in await answer.text()
            assert {name: answer.headers[name] for name in HEADERS} == dict(HEADERS)


@pytest.mark.parametrize(
    ("path", "headers", "text"),
    [
        pytest.param("/", {}, NO_COOKIE, id="no cookie"),
        pytest.param("/main.js", {}, NO_COOKIE, id="no cookie for a file"),
        pytest.param("/api/nodes", {}, NO_COOKIE, id="no cookie for data"),
        pytest.param("/api/changes", {}, NO_COOKIE, id="no cookie for changes"),
        pytest.param("/?token=wrong", {}, WRONG_TOKEN, id="a wrong token"),
        pytest.param("/?token=", {}, WRONG_TOKEN, id="an empty token"),
        pytest.param(
            "/api/nodes", {"Cookie": "mooring-ui-{port}=x"}, NO_COOKIE, id="a wrong cookie"
        ),
        pytest.param("/api/nodes", {"Cookie": '"=;=(),;'}, NO_COOKIE, id="no cookie at all"),
        pytest.param("{right}", {"Host": "evil.example"}, WRONG_HOST, id="a foreign host"),
        pytest.param("{right}", {"Origin": "http://evil.example"}, WRONG_ORIGIN, id="an origin"),
    ],
)
async def test_strangers_are_refused(
    path: str, headers: dict[str, str], text: str, tmp_path: Path
) -> None:
    async with (
        running(tmp_path, nodes=1),
        serving(tmp_path) as page,
        aiohttp.ClientSession(page.origin) as session,
    ):
        path = page.url.removeprefix(page.origin) if path == "{right}" else path
        sent = {name: value.replace("{port}", str(page.port)) for name, value in headers.items()}
        async with session.get(path, headers=sent, allow_redirects=False) as answer:
            assert (answer.status, await answer.text()) == (403, f"{text}\n")
            assert "Set-Cookie" not in answer.headers
            assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_foreign_origin_is_refused_with_the_cookie_too(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=1), serving(tmp_path) as page, visited(page) as session:
        question = {"action": "cordon", "nodes": ["node-0"]}
        for origin, status in (("http://evil.example", 403), (page.origin, 200)):
            sent = {"Origin": origin}
            async with session.post("/api/what-if", json=question, headers=sent) as answer:
                assert answer.status == status


async def test_the_answers(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=2) as cluster:
        await cluster.post(PODS, pod("web"))
        await cluster.until(f"{PODS}/web", lambda found: found["spec"].get("nodeName"))
        async with serving(tmp_path) as page, visited(page) as session:

            async def ask(path: str) -> Any:
                async with session.get(path) as answer:
                    assert answer.content_type == "application/json"
                    return answer.status, await answer.json()

            assert (await ask("/api/about"))[1]["rules"] == "the default configuration"
            assert (await ask("/api/nodes"))[1]["names"] == ["node-0", "node-1"]
            assert (await ask("/api/node?name=node-1"))[1]["name"] == "node-1"
            assert (await ask("/api/search?q=web"))[1]["pods"][0]["name"] == "web"
            assert (await ask("/api/pending?q=x&offset=0"))[1]["total"] == 0
            assert (await ask("/api/decisions"))[0] == 200
            status, found = await ask("/api/explain?namespace=default&name=web")
            assert (status, found["name"]) == (200, "web")
            assert await ask("/api/node?name=x") == (404, {"error": 'there is no node "x"'})
            status, found = await ask("/api/pending?offset=-1")
            assert (status, found["error"]) == (
                400,
                'offset must be a non-negative integer, got "-1"',
            )


async def test_the_leader_answers_if_there_is_one(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=2) as cluster:
        await cluster.post(PODS, pod("web"))
        await cluster.until(f"{PODS}/web", lambda found: found["spec"].get("nodeName"))
        async with (
            serving(tmp_path, leader=SchedulerAddress()) as page,
            visited(page) as session,
        ):

            async def ask(path: str) -> Any:
                async with session.get(path) as answer:
                    return answer.status, await answer.json()

            web = "/api/explain?namespace=default&name=web"
            async with asyncio.timeout(PATIENCE):
                while page.data.summary()["leader"].state != "live":
                    await asyncio.sleep(0.01)
            for path in (web, f"{web}&attempt=1"):
                status, found = await ask(path)
                assert (status, found["record"]["attempt"]) == (200, 1)
                assert found["answeredBy"].startswith("the scheduler of the local cluster ")
            status, found = await ask(f"{web}&attempt=now")
            assert (status, found["rules"], found["noLeader"]) == (
                200,
                "the default configuration",
                "",
            )
            status, found = await ask(f"{web}&attempt=7")
            assert (status, found["error"]) == (
                404,
                "attempt 7 of pod default/web is not known; known are: 1",
            )
            status, found = await ask(f"{web}&attempt=x")
            assert (status, found["error"]) == (
                400,
                'attempt must be a non-negative integer, got "x"',
            )
            assert await ask("/api/place?namespace=default&name=web") == (
                200,
                {"place": "", "problem": ""},
            )


async def test_the_response_for_a_busy_leader_has_the_time_to_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> None:
        raise LeaderBusyError(2.2)

    monkeypatch.setattr(PageData, "explain_attempt", refuse)
    async with (
        running(tmp_path, nodes=1),
        serving(tmp_path) as page,
        visited(page) as session,
        session.get("/api/explain?namespace=default&name=web") as answer,
    ):
        assert (answer.status, answer.headers["Retry-After"]) == (429, "3")
        assert await answer.json() == {
            "error": "the leader answers too many questions already; asked again in 2 s",
            "retryAfter": 3,
        }


@pytest.mark.parametrize(
    ("body", "status", "part"),
    [
        pytest.param(b'{"action": "drain", "nodes": ["x"]}', 400, "no node", id="no such node"),
        pytest.param(b'{"action": "explode"}', 400, "Invalid enum value", id="an unknown action"),
        pytest.param(b'{"action": "add", "count": 0}', 400, "$.count", id="too few"),
        pytest.param(b"{", 400, "truncated", id="no JSON"),
        pytest.param(b" " * 2**17, 413, "limit is 65536", id="too long"),
    ],
)
async def test_bad_questions(body: bytes, status: int, part: str, tmp_path: Path) -> None:
    async with (
        running(tmp_path, nodes=1),
        serving(tmp_path) as page,
        visited(page) as session,
        session.post("/api/what-if", data=body) as answer,
    ):
        assert answer.status == status
        assert part in (await answer.json())["error"]


async def test_paths_that_do_not_exist(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=1), serving(tmp_path) as page, visited(page) as session:
        for method, path in (("GET", "/nope"), ("POST", "/api/nodes"), ("GET", "/../page_data.py")):
            async with session.request(method, path) as answer:
                assert answer.status == 404


async def events_of(content: aiohttp.StreamReader) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """Yield the marks and data of server-sent events."""
    mark = ""
    async for line in content:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name == "id":
            mark = value
        elif name == "data":
            yield mark, json.loads(value)


async def test_changes_are_sent_and_can_be_continued(tmp_path: Path) -> None:
    async with (
        running(tmp_path, nodes=2) as cluster,
        serving(tmp_path) as page,
        visited(page) as session,
        asyncio.timeout(PATIENCE),
    ):
        async with session.get("/api/nodes") as answer:
            start = (await answer.json())["mark"]
        async with session.get(f"/api/changes?mark={start}") as answer:
            assert answer.content_type == "text/event-stream"
            events = events_of(answer.content)
            mark, event = await anext(events)
            assert event["summary"]["nodes"] == 2
            await cluster.post(PODS, pod("web"))
            while "decisions" not in event:
                mark, event = await anext(events)
            assert event["decisions"][0]["name"] == "web"
        # The browser names the last event that it got.
        async with session.get("/api/changes", headers={"Last-Event-ID": mark}) as answer:
            _, again = await anext(events_of(answer.content))
            assert set(again) <= {"summary", "nodes"}
        async with session.get("/api/changes?mark=old") as answer:
            _, again = await anext(events_of(answer.content))
            assert "reset" in again


async def test_few_pages_are_open_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_server, "MOST_READERS", 1)
    async with running(tmp_path, nodes=1), serving(tmp_path) as page, visited(page) as session:
        async with session.get("/api/changes") as first:
            assert first.status == 200
            async with session.get("/api/changes") as second:
                assert second.status == 503
                assert await second.text() == "1 pages are open already: close one.\n"
        async with asyncio.timeout(PATIENCE):
            while True:
                async with session.get("/api/changes") as third:
                    if third.status == 200:
                        break


def test_a_port_that_is_taken() -> None:
    with listen(0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"^cannot listen on 127\.0\.0\.1:{port}: "):
            listen(port)
