"""PreBind side by side, and the points' answers.

Their failures are in offline/test_memory_scheduler.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mooring.binding.binding_points import (
    run_bind,
    run_permit,
    run_pre_bind,
    run_pre_bind_pre_flights,
)
from mooring.framework.plugin import Plugin, PreFlight
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.offline.memory_scheduler import drive
from tests.cycle.scheduling import make_nodes, make_pod, make_scheduler, plugin

POD = make_pod()


def profile(*plugins: type[Plugin], binder: bool = True) -> Any:
    scheduler = make_scheduler(plugins, make_nodes("n1"), binder=binder)
    return scheduler.profiles["default-scheduler"]


def parallel(called: str, pre_bind: Any) -> type[Plugin]:
    return plugin(
        called,
        pre_bind=pre_bind,
        pre_bind_pre_flight=lambda state, pod, node: PreFlight(allow_parallel=True),
    )


def test_all_permit_plugins_are_asked_and_waits_add_up() -> None:
    made = profile(
        plugin("A", permit=lambda *_: Status.wait(5, "a")),
        plugin("B", permit=lambda *_: None),
        plugin("NaN", permit=lambda *_: Status.wait(float("nan"))),
        plugin("C", permit=lambda *_: Status.wait(5000, "c")),
    )
    waits, status = run_permit(made, CycleState(), POD, "n1")
    assert waits == {"A": 5, "NaN": 900, "C": 900}
    assert status is not None and status.is_wait
    assert status.reasons == (
        "c",
        "one or more plugins asked to wait and no plugin rejected pod",
    )


def test_a_refusal_at_permit_ends_the_waits_of_others() -> None:
    made = profile(
        plugin("A", permit=lambda *_: Status.wait(5)),
        plugin("B", permit=lambda *_: Status.unschedulable("no")),
    )
    assert run_permit(made, CycleState(), POD, "n1") == ({}, Status.unschedulable("no").by("B"))


def test_pre_flights_skip_where_nobody_has_work() -> None:
    aside = plugin("A", pre_bind=lambda *_: None, pre_bind_pre_flight=lambda *_: Status.skip())
    assert run_pre_bind_pre_flights(profile(aside), CycleState(), POD, "n1") == Status.skip()
    silent = plugin("B", pre_bind=lambda *_: None)
    assert run_pre_bind_pre_flights(profile(aside, silent), CycleState(), POD, "n1") is None


async def test_plugins_that_allow_it_run_side_by_side() -> None:
    met = asyncio.Event()

    async def first(*_: Any) -> None:
        await met.wait()

    async def second(*_: Any) -> None:
        met.set()

    made = profile(parallel("A", first), parallel("B", second))
    state = CycleState()
    assert run_pre_bind_pre_flights(made, state, POD, "n1") is None
    async with asyncio.timeout(5):
        assert await run_pre_bind(made, state, POD, "n1") is None


@pytest.mark.parametrize("names", ["A", "AB"], ids=["alone", "side by side"])
async def test_a_pod_that_is_called_off_hears_which_plugin_was_at_work(names: str) -> None:
    started = asyncio.Event()

    async def waits(state: Any, pod: Any, node: Any) -> None:
        started.set()
        await asyncio.Event().wait()

    made = profile(*(parallel(name, waits) for name in names))
    state = CycleState()
    run_pre_bind_pre_flights(made, state, POD, "n1")
    running = asyncio.create_task(run_pre_bind(made, state, POD, "n1"))
    await started.wait()
    running.cancel("preempted")
    found = await running
    assert found is not None
    assert found.message == 'running PreBind plugin "A": preempted'


async def test_the_first_failure_calls_off_the_others() -> None:
    ended = []

    async def waits(*_: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("called off")

    async def fails(*_: Any) -> Status:
        await asyncio.sleep(0)
        return Status.error("bad")

    made = profile(parallel("A", waits), parallel("B", fails))
    state = CycleState()
    run_pre_bind_pre_flights(made, state, POD, "n1")
    async with asyncio.timeout(5):
        status = await run_pre_bind(made, state, POD, "n1")
    assert status is not None and status.message == 'running PreBind plugin "B": bad'
    assert ended == ["called off"]


def test_without_an_event_loop_they_run_one_after_the_other() -> None:
    ran: list[str] = []

    async def note(*_: Any) -> None:
        ran.append("ran")

    made = profile(parallel("A", note), parallel("B", note))
    state = CycleState()
    run_pre_bind_pre_flights(made, state, POD, "n1")
    assert drive(run_pre_bind(made, state, POD, "n1")) is None
    assert ran == ["ran", "ran"]


def test_a_plugin_between_two_groups_waits_for_the_first_and_holds_the_second() -> None:
    ran: list[str] = []

    def note(name: str) -> Any:
        return lambda *_: ran.append(name)

    made = profile(
        parallel("A", note("A")), plugin("B", pre_bind=note("B")), parallel("C", note("C"))
    )
    state = CycleState()
    run_pre_bind_pre_flights(made, state, POD, "n1")
    assert drive(run_pre_bind(made, state, POD, "n1")) is None
    assert ran == ["A", "B", "C"]


def test_a_pod_that_nobody_binds_is_skipped() -> None:
    made = profile(plugin("A", bind=lambda *_: Status.skip()), binder=False)
    assert drive(run_bind(made, CycleState(), POD, "n1")) == Status.skip()
