"""The queue that all controllers share."""

from __future__ import annotations

import asyncio

from mooring.controllers.work_queue import FIRST_DELAY, Key, WorkQueue
from mooring.errors import ApiError
from tests.support.controllers import ManualClock

A, B, C = ("a", "x"), ("b", "x"), ("c", "x")


class Worker:
    """A worker that records its keys, and blocks while the test keeps `gate` closed."""

    def __init__(self, *, limit: int = 4) -> None:
        self.clock = ManualClock()
        self.begun: list[Key] = []
        self.failures: list[Exception] = []
        self.again: float | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.queue = WorkQueue("test", self.work, self.clock, limit=limit)

    async def work(self, key: Key) -> float | None:
        self.begun.append(key)
        await self.gate.wait()
        if self.failures:
            raise self.failures.pop()
        return self.again

    async def settle(self) -> None:
        """Let all runnable tasks run."""
        for _ in range(20):
            await asyncio.sleep(0)


async def test_keys_wait_for_the_start_and_come_in_order() -> None:
    worker = Worker()
    for key in (B, A, B):
        worker.queue.add(key)
    await worker.settle()
    assert worker.begun == []
    worker.queue.start()
    await worker.settle()
    assert worker.begun == [B, A]
    assert worker.queue.idle


async def test_a_key_is_in_one_pair_of_hands_and_comes_again_afterwards() -> None:
    worker = Worker()
    worker.queue.start()
    worker.gate.clear()
    worker.queue.add(A)
    await worker.settle()
    worker.queue.add(A)
    worker.queue.add(A)
    await worker.settle()
    assert worker.begun == [A]
    worker.gate.set()
    await worker.settle()
    assert worker.begun == [A, A]


async def test_no_more_hands_than_the_limit() -> None:
    worker = Worker(limit=2)
    worker.queue.start()
    worker.gate.clear()
    for key in (A, B, C):
        worker.queue.add(key)
    await worker.settle()
    assert worker.begun == [A, B]
    worker.gate.set()
    await worker.settle()
    assert worker.begun == [A, B, C]


async def test_what_fails_comes_back_after_a_growing_delay() -> None:
    worker = Worker()
    worker.queue.start()
    worker.failures = [ApiError(409, reason="Conflict"), ValueError("a bug"), ApiError(500)]
    worker.queue.add(A)
    await worker.settle()
    for number in range(3):
        assert len(worker.begun) == number + 1
        worker.clock.advance(FIRST_DELAY * 2**number * 0.9)
        await worker.settle()
        assert len(worker.begun) == number + 1
        worker.clock.advance(FIRST_DELAY * 2**number * 0.2)
        await worker.settle()
    assert len(worker.begun) == 4
    worker.failures = [ApiError(500)]
    worker.queue.add(A)
    await worker.settle()
    worker.clock.advance(FIRST_DELAY * 1.1)
    await worker.settle()
    assert len(worker.begun) == 6


async def test_the_earliest_timer_counts() -> None:
    worker = Worker()
    worker.queue.start()
    for seconds in (10.0, 5.0, 20.0):
        worker.queue.add_after(A, seconds)
    await worker.settle()
    worker.clock.advance(5.0)
    await worker.settle()
    assert worker.begun == [A]
    worker.clock.advance(60.0)
    await worker.settle()
    assert worker.begun == [A]


async def test_work_asks_for_its_next_time() -> None:
    worker = Worker()
    worker.queue.start()
    worker.again = 7.0
    worker.queue.add(A)
    await worker.settle()
    worker.clock.advance(7.0)
    await worker.settle()
    assert worker.begun == [A, A]


async def test_nothing_goes_on_after_the_end() -> None:
    worker = Worker()
    worker.queue.start()
    worker.gate.clear()
    worker.queue.add(A)
    worker.queue.add_after(B, 1.0)
    await worker.settle()
    await worker.queue.close()
    worker.gate.set()
    worker.clock.advance(10.0)
    worker.queue.add(C)
    await worker.settle()
    assert worker.begun == [A]
