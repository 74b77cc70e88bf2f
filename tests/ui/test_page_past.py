"""The moments of a journal that the page shows."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from mooring.errors import ObjectError
from mooring.ui.page_past import MOST_MOMENTS, PagePast
from tests.support.journals import record_two_pods
from tests.support.pages import serving_past
from tests.ui.test_journal_moment import rules_of


async def test_the_data_of_two_moments(tmp_path: Path) -> None:
    moments = await asyncio.to_thread(record_two_pods, tmp_path)
    past = PagePast(tmp_path / "journal", rules_of)
    data = await past.read(moments.before)
    assert data.summary()["pods"] == 0
    data = await past.read(moments.between)
    assert data.summary()["pods"] == 1
    assert data.about()["past"] == {
        "begin": past.begin,
        "end": past.end,
        "time": moments.between,
        "shadow": False,
    }
    found = await data.explain("default", "one")
    assert found["currentNode"] in ("node-0", "node-1")
    assert found["rules"] == "the recorded configuration"
    for time in (past.begin - 1, past.end + 2):
        with pytest.raises(ObjectError, match="the journal covers "):
            await past.read(time)
    past.close()


async def test_the_moments_that_were_used_last_are_kept(tmp_path: Path) -> None:
    moments = await asyncio.to_thread(record_two_pods, tmp_path)
    past = PagePast(tmp_path / "journal", rules_of)
    first = await past.read(past.end)
    assert await past.read(past.end) is first
    for number in range(MOST_MOMENTS):
        assert past.kept(past.end) is first
        await past.read(moments.between + number / 1000)
    assert past.kept(moments.between) is None
    assert past.kept(past.end) is first
    past.close()
    assert past.kept(past.end) is None


async def test_each_request_names_its_moment(tmp_path: Path) -> None:
    moments = await asyncio.to_thread(record_two_pods, tmp_path)
    jar = aiohttp.CookieJar(unsafe=True)
    async with (
        serving_past(tmp_path) as page,
        aiohttp.ClientSession(page.origin, cookie_jar=jar) as session,
    ):
        async with session.get(page.url) as answer:
            assert answer.status == 200

        async def ask(path: str) -> tuple[int, Any]:
            async with session.get(path) as answer:
                return answer.status, await answer.json()

        between = f"moment={moments.between}"
        _, about = await ask(f"/api/about?{between}")
        assert about["past"]["time"] == moments.between
        _, about = await ask("/api/about")
        assert about["past"]["time"] == about["past"]["end"]
        for search, pods in ((between, 1), ("", 3), (between, 1)):
            async with session.get(f"/api/changes?{search}") as changes:
                assert b'"pods":%d,' % pods in await _event(changes)
        status, found = await ask(f"/api/explain?namespace=default&name=two&{between}")
        assert (status, found["error"]) == (404, 'there is no pod "two" in namespace default')
        assert (await ask("/api/explain?namespace=default&name=two"))[0] == 200
        for text, error in (
            ("0", "the journal covers "),
            ("nan", "the journal covers "),
            ("x", 'moment must be a number of seconds, got "x"'),
        ):
            status, found = await ask(f"/api/nodes?moment={text}")
            assert status == 400
            assert found["error"].startswith(error)
        async with session.post("/api/what-if", json={"action": "drain"}) as answer:
            assert answer.status == 404


async def _event(changes: aiohttp.ClientResponse) -> bytes:
    async for line in changes.content:
        if line.startswith(b"data: "):
            return line
    raise AssertionError("the stream has ended")
