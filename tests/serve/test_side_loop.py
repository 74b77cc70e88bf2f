from __future__ import annotations

import asyncio
import threading

import pytest

from mooring.serve.side_loop import SideLoop
from tests.support.waiting import PATIENCE


def test_coroutines_run_on_a_thread_of_their_own() -> None:
    side = SideLoop("beside")
    side.start()

    async def where() -> str:
        await asyncio.sleep(0)
        return threading.current_thread().name

    assert side.is_running
    assert side.submit(where()).result(5) == "beside"
    side.stop(5)
    assert not side.is_running


def test_a_failure_comes_back_to_whoever_waits() -> None:
    side = SideLoop()
    side.start()

    async def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        side.submit(fail()).result(5)
    side.stop(5)


def test_stopping_cancels_what_runs_there() -> None:
    side = SideLoop()
    side.start()
    begun, cancelled = threading.Event(), threading.Event()

    async def wait() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    side.submit(wait())
    assert begun.wait(PATIENCE)
    side.stop(5)
    assert cancelled.is_set()
    side.stop(5)
