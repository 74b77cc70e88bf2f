"""The moments of a journal that the page shows."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest

from mooring.errors import ObjectError
from mooring.ui.page_past import PagePast
from tests.support.journals import record_two_pods
from tests.support.pages import serving_past
from tests.ui.test_journal_moment import rules_of


async def test_the_data_of_two_moments(tmp_path: Path) -> None:
    moments = await asyncio.to_thread(record_two_pods, tmp_path)
    past = PagePast(tmp_path / "journal", rules_of)
    data = await past.move(moments.before)
    assert data.summary()["pods"] == 0
    data = await past.move(moments.between)
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
            await past.move(time)
    past.close()


async def test_readers_get_all_of_another_moment(tmp_path: Path) -> None:
    moments = await asyncio.to_thread(record_two_pods, tmp_path)
    jar = aiohttp.CookieJar(unsafe=True)
    async with (
        serving_past(tmp_path) as page,
        aiohttp.ClientSession(page.origin, cookie_jar=jar) as session,
    ):
        async with session.get(page.url) as answer:
            assert answer.status == 200
        async with session.get("/api/changes") as changes:
            assert b'"reset"' in await _event(changes)
            async with session.post("/api/moment", json={"time": moments.between}) as answer:
                assert (await answer.json())["past"]["time"] == moments.between
            text = await _event(changes)
            assert b'"reset"' in text
            assert b'"pods":1,' in text
        async with session.post("/api/moment", json={"time": 0}) as answer:
            assert answer.status == 400
            assert (await answer.json())["error"].startswith("the journal covers ")
        async with session.post("/api/what-if", json={"action": "drain"}) as answer:
            assert answer.status == 404


async def _event(changes: aiohttp.ClientResponse) -> bytes:
    async for line in changes.content:
        if line.startswith(b"data: "):
            return line
    raise AssertionError("the stream has ended")
