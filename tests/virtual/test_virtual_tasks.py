"""What runs beside the loop of a simulation, with and without an event loop."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mooring.api import Pod
from mooring.binding.binding_pods import PermitWait
from mooring.observe.clock import VirtualClock
from mooring.scheduler.periodic_work import PeriodicWork
from mooring.virtual.driving import drive
from mooring.virtual.virtual_tasks import VirtualTasks
from tests.cycle.scheduling import make_pod


def make_tasks() -> tuple[VirtualClock, VirtualTasks, PeriodicWork]:
    clock = VirtualClock()
    tasks = VirtualTasks(clock)
    periodic = PeriodicWork(clock, start=tasks.start_periodic)
    periodic.start()
    return clock, tasks, periodic


def test_periodic_work_runs_first_and_after_each_period() -> None:
    clock, tasks, periodic = make_tasks()
    runs: list[float] = []

    async def work() -> None:
        runs.append(clock.now())

    begin = clock.now()
    periodic.add(30, work)
    for seconds in (0, 29, 1, 60):
        clock.advance(seconds)
        drive(tasks.run())
    assert [when - begin for when in runs] == [0, 30, 90]
    assert not tasks.sleeping


def test_periodic_work_that_fails_is_logged_and_repeated(caplog: pytest.LogCaptureFixture) -> None:
    clock, tasks, periodic = make_tasks()

    async def fail() -> None:
        raise ValueError("no server")

    periodic.add(1, fail)
    drive(tasks.run())
    clock.advance(1)
    drive(tasks.run())
    assert caplog.text.count("Periodic work of a plugin failed") == 2
    last: Any = caplog.records[-1]
    assert "no server" in last.kv["err"]


def test_tasks_go_on_in_the_order_of_their_waits() -> None:
    clock, tasks, _ = make_tasks()
    done: list[tuple[str, float]] = []

    async def sleep(name: str, *waits: float) -> None:
        for seconds in waits:
            await clock.sleep(seconds)
            done.append((name, clock.now()))

    tasks.start(sleep("a", 3, 4))
    tasks.start(sleep("b", 2))
    drive(tasks.run())
    assert (done, tasks.sleeping, clock.next_wakeup) == ([], 2, 2.0)
    while (moment := clock.next_wakeup) is not None:
        clock.move_to(moment)
        drive(tasks.run())
    assert done == [("b", 2.0), ("a", 3.0), ("a", 7.0)]
    assert not tasks.sleeping


def test_task_that_waits_at_permit_goes_on_when_the_wait_ends() -> None:
    _, tasks, _ = make_tasks()
    done: list[str] = []
    wait = PermitWait(make_pod(), {"A": 10.0}, 0.0)

    async def bind() -> None:
        await tasks.wait_for(wait)
        done.append("bound")

    tasks.start(bind())
    drive(tasks.run())
    assert not done
    assert not tasks.sleeping, "only the deadline of the wait is awaited"
    wait.allow("A")
    assert tasks.are_ready
    drive(tasks.run())
    assert done == ["bound"]


def test_task_that_fails_is_logged_with_its_pod(caplog: pytest.LogCaptureFixture) -> None:
    _, tasks, _ = make_tasks()

    async def fail() -> None:
        raise ValueError("boom")

    tasks.spawn(fail(), make_pod("web"))
    tasks.start(fail())
    drive(tasks.run())
    assert caplog.text.count("Work beside the scheduling loop failed") == 2
    first: Any = caplog.records[0]
    assert first.kv["pod"].metadata.name == "web"
    assert "ValueError: boom" in first.kv["traceback"]


def test_task_is_waited_for_if_it_waits_for_the_outside() -> None:
    clock, tasks, _ = make_tasks()
    done: list[str] = []

    async def respond(answer: asyncio.Future[str]) -> None:
        await asyncio.sleep(0)
        answer.set_result("ready")

    async def work() -> None:
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        responding = asyncio.create_task(respond(answer))
        async with asyncio.timeout(60):
            done.append(await answer)
        await responding
        await clock.sleep(5)
        done.append("slept")

    async def main() -> None:
        tasks.start(work())
        await tasks.run()
        assert done == ["ready"]
        clock.advance(5)
        await tasks.run()

    asyncio.run(main())
    assert done == ["ready", "slept"]


def test_task_that_waits_for_the_outside_needs_an_event_loop() -> None:
    _, tasks, _ = make_tasks()

    class Outside:
        def __await__(self) -> object:
            yield "a response"

    async def work() -> None:
        await Outside()

    tasks.start(work())
    with pytest.raises(RuntimeError, match="waits for the outside"):
        drive(tasks.run())


def test_stopped_tasks_end_without_going_on() -> None:
    clock, tasks, _ = make_tasks()
    done: list[str] = []

    async def sleep() -> None:
        try:
            await clock.sleep(1)
            done.append("slept")
        finally:
            done.append("ended")

    async def never(pod: Pod) -> None:
        done.append(pod.name)

    tasks.start(sleep())
    drive(tasks.run())
    tasks.spawn(never(make_pod("web")), make_pod("web"))
    drive(tasks.stop(0.0))
    clock.advance(1)
    drive(tasks.run())
    assert done == ["ended"]
