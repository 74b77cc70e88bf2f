"""Decisions as server-sent events."""

from __future__ import annotations

import asyncio

import pytest

from mooring.serve import decision_stream as module
from mooring.serve.decision_stream import DecisionStream
from tests.serve.explaining import FakeScheduler


def opened(scheduler: FakeScheduler, since: int = 0) -> DecisionStream:
    return DecisionStream(scheduler, since, lambda stream: None)


async def test_records_are_sent_as_they_are_made() -> None:
    scheduler = FakeScheduler()
    stream = opened(scheduler)
    assert await anext(stream) == b":\n\n"
    waiting = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    assert not waiting.done()
    scheduler.add(1, 2)
    first, second = (await waiting).decode().removesuffix("\n\n").split("\n\n")
    assert first.startswith('id: 1\nevent: decision\ndata: {"sequence":1,')
    assert second.startswith("id: 2\n")
    await stream.aclose()


async def test_a_reader_looks_again_after_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 1e9)
    scheduler = FakeScheduler()
    scheduler.add(1)
    stream = opened(scheduler)
    await anext(stream)
    assert (await anext(stream)).startswith(b"id: 1\n")
    scheduler.add(2)
    waiting = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    assert not waiting.done()
    stream.end()
    with pytest.raises(StopAsyncIteration):
        await waiting
    await stream.aclose()


async def test_a_quiet_stream_shows_that_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUIET_SECONDS", 0.0)
    stream = opened(FakeScheduler())
    assert [await anext(stream) for _ in range(3)] == [b":\n\n"] * 3
    await stream.aclose()


async def test_a_stream_does_not_last_longer_than_the_rights_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LONGEST_SECONDS", 0.0)
    scheduler = FakeScheduler()
    scheduler.add(1)
    stream = opened(scheduler)
    assert [chunk async for chunk in stream] == [b":\n\n"]
    await stream.aclose()


async def test_records_that_are_gone_are_a_gap() -> None:
    scheduler = FakeScheduler()
    scheduler.add(7)
    scheduler.missed = True
    stream = opened(scheduler, since=3)
    await anext(stream)
    assert await anext(stream) == b'event: gap\ndata: {"since":3,"latest":7}\n\n'
    assert (await anext(stream)).startswith(b"id: 7\n")
    await stream.aclose()


async def test_a_number_of_another_run_begins_again() -> None:
    scheduler = FakeScheduler()
    scheduler.add(1)
    stream = opened(scheduler, since=90)
    await anext(stream)
    assert await anext(stream) == b'event: reset\ndata: {"since":90,"latest":1}\n\n'
    assert (await anext(stream)).startswith(b"id: 1\n")
    await stream.aclose()


async def test_a_reader_that_falls_behind_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BACKLOG", 2)
    scheduler = FakeScheduler()
    scheduler.add(1, 2, 3, 4)
    stream = opened(scheduler)
    await anext(stream)
    assert (await anext(stream)).count(b"id: ") == 4, "a reader that begins may be behind"
    waiting = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    scheduler.add(5)
    await waiting
    # It does not read while three more records are made.
    scheduler.add(6, 7, 8)
    assert await anext(stream) == b'event: dropped\ndata: {"since":5,"latest":8}\n\n'
    with pytest.raises(StopAsyncIteration):
        await anext(stream)
    await stream.aclose()


async def test_closing_ends_the_wait_for_a_record() -> None:
    closed: list[DecisionStream] = []
    scheduler = FakeScheduler()
    stream = DecisionStream(scheduler, 0, closed.append)
    await anext(stream)
    waiting = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    stream.end()
    with pytest.raises(StopAsyncIteration):
        await waiting
    await stream.aclose()
    assert closed == [stream]
