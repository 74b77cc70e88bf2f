"""Watches: from a version, with initial events, by selector, and their end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from mooring.apiserver import resource_store as store_module
from mooring.apiserver import watching
from mooring.apiserver.http import ApiResponse
from tests.apiserver.api_server import MAPS, ApiServer, config_map
from tests.apiserver.listeners import count_listeners
from tests.support.waiting import PATIENCE


class Watch:
    """A reader of the events in a watch response."""

    def __init__(self, response: ApiResponse) -> None:
        assert response.stream is not None
        self._stream: AsyncIterator[bytes] = response.stream
        self._ready: list[dict[str, Any]] = []

    async def next(self) -> tuple[str, str]:
        """Return the type of the next event and the name of its object."""
        while not self._ready:
            chunk = await asyncio.wait_for(anext(self._stream), 5)
            self._ready += [json.loads(line) for line in chunk.splitlines()]
        self.last = self._ready.pop(0)
        return self.last["type"], self.last["object"].get("metadata", {}).get("name", "")


async def watch(server: ApiServer, query: str) -> Watch:
    return Watch(await server.send("GET", f"{MAPS}?watch=true&{query}"))


async def test_a_watch_tells_what_happens_after_a_version() -> None:
    server = ApiServer()
    first = await server.ask("POST", MAPS, config_map("a"))
    await server.ask("POST", MAPS, config_map("b"))
    seen = await watch(server, f"resourceVersion={first['metadata']['resourceVersion']}")
    assert await seen.next() == ("ADDED", "b")
    await server.ask("DELETE", f"{MAPS}/a")
    assert await seen.next() == ("DELETED", "a")


async def test_a_watch_without_a_version_begins_with_what_is_there() -> None:
    server = ApiServer()
    await server.ask("POST", MAPS, config_map("a"))
    seen = await watch(server, "")
    assert await seen.next() == ("ADDED", "a")


async def test_initial_events_end_with_a_bookmark() -> None:
    server = ApiServer()
    await server.ask("POST", MAPS, config_map("a"))
    seen = await watch(
        server, "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    )
    assert await seen.next() == ("ADDED", "a")
    assert await seen.next() == ("BOOKMARK", "")
    assert seen.last["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_an_object_that_no_longer_matches_is_deleted_for_the_watcher() -> None:
    server = ApiServer()
    seen = await watch(server, f"labelSelector=a%3Db&resourceVersion={server.store.version}")
    await server.ask("POST", MAPS, config_map("x"))
    for labels in ({"a": "b"}, {"a": "c"}):
        patch = json.dumps({"metadata": {"labels": labels}}).encode()
        await server.send("PATCH", f"{MAPS}/x", patch, content_type="application/merge-patch+json")
    assert await seen.next() == ("ADDED", "x")
    assert await seen.next() == ("DELETED", "x")


async def test_a_version_that_is_lost_is_answered_with_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store_module, "RING", 2)
    server = ApiServer()
    for name in "abcd":
        await server.ask("POST", MAPS, config_map(name))
    seen = await watch(server, "resourceVersion=1")
    assert (await seen.next())[0] == "ERROR"
    assert seen.last["object"]["code"] == 410
    assert seen.last["object"]["reason"] == "Expired"


async def test_a_watch_ends_in_time() -> None:
    server = ApiServer()
    response = await server.send("GET", f"{MAPS}?watch=true&timeoutSeconds=1&resourceVersion=1")
    assert response.stream is not None
    async with asyncio.timeout(PATIENCE):
        assert [chunk async for chunk in response.stream if chunk] == []


async def test_bookmarks_tell_how_far_a_watch_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "BOOKMARK_SECONDS", 0.01)
    server = ApiServer()
    at = server.store.version
    seen = await watch(server, f"allowWatchBookmarks=true&resourceVersion={at}")
    assert await seen.next() == ("BOOKMARK", "")
    assert seen.last["object"]["metadata"]["resourceVersion"] == str(at)


async def test_a_watch_that_is_closed_listens_no_more() -> None:
    server = ApiServer()
    listeners = count_listeners(server.store)
    response = await server.send("GET", f"{MAPS}?watch=true")
    assert response.stream is not None
    await anext(response.stream)
    assert listeners["/configmaps"] == 1
    await response.stream.aclose()  # type: ignore[attr-defined]
    assert listeners["/configmaps"] == 0


async def test_the_bookmark_of_initial_events_claims_no_change_that_comes_after_it() -> None:
    server = ApiServer()
    await server.ask("POST", MAPS, config_map("a"))
    at = server.store.version
    seen = await watch(
        server, "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    )
    # Written after the request, before its response is read.
    await server.ask("POST", MAPS, config_map("b"))
    assert await seen.next() == ("ADDED", "a")
    assert await seen.next() == ("BOOKMARK", "")
    assert seen.last["object"]["metadata"]["resourceVersion"] == str(at)
    assert await seen.next() == ("ADDED", "b")


async def test_many_initial_events_come_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_SLICE", 2)
    server = ApiServer()
    for name in "abcde":
        await server.ask("POST", MAPS, config_map(name))
    response = await server.send("GET", f"{MAPS}?watch=true")
    assert response.stream is not None
    assert [len((await anext(response.stream)).splitlines()) for _ in range(3)] == [2, 2, 1]
    await response.stream.aclose()  # type: ignore[attr-defined]
