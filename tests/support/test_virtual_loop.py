from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any

import pytest

from tests.support.virtual_loop import (
    LoopClock,
    Process,
    StandstillError,
    VirtualLoop,
    run_virtually,
    start_outside,
)


def run(work: Coroutine[Any, Any, Any], seed: int = 0) -> Any:
    return run_virtually(work, Random(seed))


async def order_of_steps() -> list[tuple[int, int]]:
    steps = []

    async def walk(number: int) -> None:
        for step in range(3):
            steps.append((number, step))
            await asyncio.sleep(0)

    await asyncio.gather(*(walk(number) for number in range(4)))
    return steps


def test_hours_pass_at_once_and_to_the_second() -> None:
    async def wait() -> tuple[float, float]:
        clock = LoopClock(start=1000.0)
        await clock.sleep(7200.0)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(30.0):
                await asyncio.Event().wait()
        return clock.now(), asyncio.get_running_loop().time()

    assert run(wait()) == (8230.0, 7230.0)


def test_timers_go_off_in_their_order() -> None:
    async def wait() -> list[str]:
        heard: list[str] = []
        loop = asyncio.get_running_loop()
        for delay in (3, 1, 2):
            loop.call_later(delay, heard.append, str(delay))
        await asyncio.sleep(5)
        return heard

    assert run(wait()) == ["1", "2", "3"]


def test_tasks_that_are_ready_together_go_on_as_the_seed_says() -> None:
    orders = {tuple(run(order_of_steps(), seed)) for seed in range(20)}
    assert len(orders) > 10
    assert run(order_of_steps(), 7) == run(order_of_steps(), 7)
    for order in orders:
        for number in range(4):
            assert [step for who, step in order if who == number] == [0, 1, 2]


def test_other_callbacks_keep_their_order() -> None:
    async def call() -> list[int]:
        heard: list[int] = []
        for number in range(20):
            asyncio.get_running_loop().call_soon(heard.append, number)
        await asyncio.sleep(1)
        return heard

    assert run(call()) == list(range(20))


def test_a_loop_where_nothing_will_ever_happen_says_so() -> None:
    with pytest.raises(StandstillError, match="nothing will ever happen"):
        run(asyncio.Event().wait())


def test_a_loop_where_something_spins_says_so() -> None:
    async def spin() -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(StandstillError, match=r"something spins at 0\.000 s"):
        run(spin())


def test_a_killed_process_dies_with_everything_it_started() -> None:
    async def live() -> list[str]:
        done: list[str] = []

        async def work(name: str) -> None:
            await asyncio.sleep(10)
            done.append(name)

        async def start() -> None:
            asyncio.get_running_loop().create_task(work("child"))
            await work("parent")

        process = Process("victim")
        process.start(start())
        bystander = asyncio.get_running_loop().create_task(work("bystander"))
        await asyncio.sleep(5)
        process.kill()
        await bystander
        await asyncio.sleep(100)
        return done

    assert run(live()) == ["bystander"]


def test_a_dead_process_starts_nothing_more() -> None:
    async def live() -> bool:
        process = Process("dead")
        process.kill()
        task = process.start(asyncio.sleep(1))
        await asyncio.sleep(2)
        return task.cancelled()

    assert run(live())


def test_exceptions_that_nobody_caught_are_kept() -> None:
    async def fail() -> list[dict[str, Any]]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loop.call_soon(lambda: 1 / 0)
        await asyncio.sleep(1)
        return loop.failures

    (failure,) = run(fail())
    assert isinstance(failure["exception"], ZeroDivisionError)


async def note_times(heard: list[float]) -> None:
    while True:
        heard.append(asyncio.get_running_loop().time())
        await asyncio.sleep(1.0)


def test_the_tasks_of_a_suspended_process_go_on_where_they_were_when_it_is_resumed() -> None:
    async def suspend() -> tuple[list[float], list[float]]:
        within: list[float] = []
        beside: list[float] = []
        process, other = Process("one"), Process("other")
        process.start(note_times(within))
        other.start(note_times(beside))
        await asyncio.sleep(1.5)
        process.suspend()
        await asyncio.sleep(3.0)
        process.resume()
        await asyncio.sleep(1.2)
        return within, beside

    assert run(suspend()) == ([0.0, 1.0, 4.5, 5.5], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])


def test_what_a_process_has_sent_is_on_its_way_while_it_is_suspended() -> None:
    async def suspend() -> list[str]:
        heard: list[str] = []

        async def travel() -> None:
            await asyncio.sleep(2.0)
            heard.append("arrived")

        async def send() -> None:
            await start_outside(travel())
            heard.append("answered")

        process = Process("one")
        process.start(send())
        await asyncio.sleep(1.0)
        process.suspend()
        await asyncio.sleep(2.0)
        assert heard == ["arrived"]
        process.resume()
        await asyncio.sleep(1.0)
        return heard

    assert run(suspend()) == ["arrived", "answered"]


def test_a_suspended_process_can_be_killed() -> None:
    async def kill() -> tuple[bool, bool]:
        process = Process("one")
        task = process.start(note_times([]))
        await asyncio.sleep(1.5)
        process.suspend()
        process.kill()
        await asyncio.sleep(0.1)
        process.suspend()
        return task.cancelled(), process.suspended

    assert run(kill()) == (True, False)
