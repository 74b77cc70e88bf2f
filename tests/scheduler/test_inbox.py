from __future__ import annotations

import asyncio
import logging

import pytest

from mooring.scheduler.inbox import Inbox


async def test_calls_are_made_in_order_and_with_those_they_post() -> None:
    inbox, made = Inbox(), []

    def first() -> None:
        made.append("first")
        inbox.post(made.append, "posted by the first")

    inbox.post(first)
    inbox.post(made.append, "second")
    assert made == []
    inbox.drain()
    assert made == ["first", "second", "posted by the first"]
    inbox.drain()
    assert len(made) == 3


async def test_a_call_that_fails_does_not_stop_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    inbox, made = Inbox(), []

    def broken() -> None:
        raise ValueError("broken")

    inbox.post(broken)
    inbox.post(made.append, "next")
    with caplog.at_level(logging.ERROR):
        inbox.drain()
    assert made == ["next"]
    assert "Handling an event failed" in caplog.text


async def test_a_wait_ends_at_once_where_something_was_posted() -> None:
    inbox = Inbox()
    inbox.post(lambda: None)
    await asyncio.wait_for(inbox.wait(None), 1)


@pytest.mark.parametrize(
    "wake", [lambda inbox: inbox.post(print), lambda inbox: inbox.wake()], ids=["post", "wake"]
)
async def test_a_wait_is_ended(wake) -> None:
    inbox = Inbox()
    waiting = asyncio.create_task(inbox.wait(None))
    await asyncio.sleep(0)
    assert not waiting.done()
    wake(inbox)
    await asyncio.wait_for(waiting, 1)


async def test_a_wait_ends_by_itself() -> None:
    await asyncio.wait_for(Inbox().wait(0.0), 1)


async def test_its_length_is_the_number_of_calls_that_wait() -> None:
    inbox, lengths = Inbox(), []
    for _ in range(2):
        inbox.post(lambda: lengths.append(len(inbox)))
    assert len(inbox) == 2
    inbox.drain()
    assert lengths == [1, 0]
