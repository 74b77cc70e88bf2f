"""Questions to a scheduler from another event loop."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mooring.explain.record_store import RecordBatch
from mooring.serve.loop_explanations import LoopExplanations
from mooring.serve.side_loop import SideLoop
from tests.serve.explaining import record


class OneLoop:
    """An explainer that answers with the loop that it was asked in."""

    class History:
        """A history with one record."""

        latest = 7

    def __init__(self) -> None:
        self.history: Any = self.History()
        self.waiting = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def explain_pod(self, namespace: str, name: str, attempt: int | None) -> Any:
        return asyncio.get_running_loop(), namespace, name, attempt

    async def queue_page(self, after: str, limit: int) -> Any:
        return asyncio.get_running_loop(), after, limit

    def records_since(self, sequence: int, limit: int) -> RecordBatch:
        asyncio.get_running_loop()
        return RecordBatch([record(sequence + 1)], missed=True)

    async def wait_for_records(self, sequence: int) -> None:
        self.waiting.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()

    async def node_names(self) -> Any:
        return [str(id(asyncio.get_running_loop()))]


async def answers(explainer: Any, loop: asyncio.AbstractEventLoop) -> list[Any]:
    """Return the answers to all questions."""
    asked = LoopExplanations(explainer, loop)
    page = await asked.records_since(4, 1)
    return [
        await asked.explain_pod("shop", "web", 2),
        await asked.queue_page("a", 3),
        ([one.sequence for one in page.records], page.missed, page.latest),
        await asked.node_names(),
    ]


@pytest.mark.parametrize("elsewhere", [False, True], ids=["the same loop", "another loop"])
async def test_questions_are_answered_in_the_loop_of_the_scheduler(elsewhere: bool) -> None:
    loop, explainer = asyncio.get_running_loop(), OneLoop()
    side = SideLoop()
    side.start()
    try:
        if elsewhere:
            found = await asyncio.wrap_future(side.submit(answers(explainer, loop)))
        else:
            found = await answers(explainer, loop)
    finally:
        await asyncio.to_thread(side.stop)
    assert found == [
        (loop, "shop", "web", 2),
        (loop, "a", 3),
        ([5], True, 7),
        [str(id(loop))],
    ]


async def test_without_records_there_is_no_latest_one() -> None:
    explainer: Any = OneLoop()
    explainer.history = None
    page = await LoopExplanations(explainer, asyncio.get_running_loop()).records_since(0, 1)
    assert page.latest == 0


async def test_a_question_that_is_withdrawn_ends_in_the_other_loop() -> None:
    explainer: Any = OneLoop()
    asked = LoopExplanations(explainer, asyncio.get_running_loop())
    side = SideLoop()
    side.start()
    try:
        waiting = side.submit(asked.wait_for_records(9))
        await explainer.waiting.wait()
        waiting.cancel()
        await explainer.cancelled.wait()
    finally:
        await asyncio.to_thread(side.stop)
