"""PreBind in parallel, and the results of the points from PreEnqueue to PostBind.

What their failures do to a pod is tested in virtual/test_memory_scheduler.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from mooring.binding.binding_points import (
    run_bind,
    run_permit,
    run_post_bind,
    run_pre_bind,
    run_pre_bind_pre_flights,
    run_reserve,
    run_unreserve,
)
from mooring.framework.plugin import Plugin, PreFlight
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.virtual.driving import drive
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


def answering(answer: Any) -> Any:
    """Return a method that returns the answer, or raises it if it is an exception."""

    def method(*_: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return method


#: What a plugin may answer at any point, and the resulting status.
REFUSALS = [
    pytest.param(Status.unschedulable("no"), Status.unschedulable("no").by("B"), id="refuses"),
    pytest.param(Status.unresolvable("no"), Status.unresolvable("no").by("B"), id="for good"),
]
FAILURES = [
    pytest.param(Status.error("bad"), "bad", id="fails"),
    pytest.param(ValueError("boom"), "plugin B, point {}, node n1: ValueError: boom", id="raises"),
    pytest.param(True, "plugin B, point {}, node n1: {} must return a Status or None", id="type"),
]


def three(point: str, answer: Any, ran: list[str]) -> Any:
    """Return a profile of three plugins at a point; the second one gives the answer."""

    def note(name: str, then: Any) -> Any:
        return lambda *_: ran.append(name) or then()

    return profile(
        plugin("A", **{point: note("A", answering(None))}),
        plugin("B", **{point: note("B", answering(answer))}),
        plugin("C", **{point: note("C", answering(None))}),
        binder=point != "bind",
    )


def run_point(point: str, made: Any) -> Any:
    state = CycleState()
    if point == "reserve":
        return run_reserve(made, state, POD, "n1")
    if point == "permit":
        waits, status = run_permit(made, state, POD, "n1")
        assert waits == {}
        return status
    return drive({"pre_bind": run_pre_bind, "bind": run_bind}[point](made, state, POD, "n1"))


LABELS = {"reserve": "Reserve", "permit": "Permit", "pre_bind": "PreBind", "bind": "Bind"}


@pytest.mark.parametrize("point", LABELS)
@pytest.mark.parametrize(("answer", "expected"), REFUSALS)
def test_a_refusal_ends_a_point_and_is_signed(point: str, answer: Any, expected: Status) -> None:
    ran: list[str] = []
    made = three(point, answer, ran)
    if point == "bind":
        made.bind = made.bind[1:]
    assert run_point(point, made) == expected
    assert "C" not in ran


@pytest.mark.parametrize("point", LABELS)
@pytest.mark.parametrize(("answer", "text"), FAILURES)
def test_a_failure_ends_a_point_and_names_it(point: str, answer: Any, text: str) -> None:
    ran: list[str] = []
    made = three(point, answer, ran)
    if point == "bind":
        made.bind = made.bind[1:]
    found = run_point(point, made)
    label = LABELS[point]
    assert found.is_error and found.plugin == "B"
    said = text.format(label, point)
    assert found.message.startswith(f'running {label} plugin "B": {said}')
    assert bool(found.traceback) == isinstance(answer, Exception)
    assert "C" not in ran


@pytest.mark.parametrize("point", ["reserve", "permit", "pre_bind"])
@pytest.mark.parametrize("answer", [None, Status.success()], ids=["nothing", "success"])
def test_every_plugin_is_asked_while_all_agree(point: str, answer: Any) -> None:
    ran: list[str] = []
    assert run_point(point, three(point, answer, ran)) is None
    assert ran == ["A", "B", "C"]


def test_unreserve_runs_them_all_backwards_and_returns_the_faults() -> None:
    ran: list[str] = []
    faults = run_unreserve(three("unreserve", ValueError("boom"), ran), CycleState(), POD, "n1")
    assert ran == ["C", "B", "A"]
    assert [fault.message for fault in faults] == [
        "plugin B, point Reserve, node n1: ValueError: boom"
    ]


def test_post_bind_runs_them_all_and_returns_the_faults() -> None:
    ran: list[str] = []
    made = three("post_bind", ValueError("boom"), ran)
    faults = drive(run_post_bind(made, CycleState(), POD, "n1"))
    assert ran == ["A", "B", "C"]
    assert [fault.message for fault in faults] == [
        "plugin B, point PostBind, node n1: ValueError: boom"
    ]


def test_the_first_plugin_that_does_not_step_aside_binds() -> None:
    ran: list[str] = []
    aside = profile(
        plugin("A", bind=lambda *_: ran.append("A") or Status.skip()),
        plugin("B", bind=lambda *_: ran.append("B")),
        plugin("C", bind=lambda *_: ran.append("C")),
        binder=False,
    )
    assert drive(run_bind(aside, CycleState(), POD, "n1")) is None
    assert ran == ["A", "B"]


def flight(called: str, answer: Any, ran: list[str] | None = None) -> type[Plugin]:
    """Return a PreBind plugin with this answer at PreBindPreFlight."""
    noting = [] if ran is None else ran
    return plugin(
        called,
        pre_bind=lambda *_: noting.append(called),
        pre_bind_pre_flight=answering(answer),
    )


@pytest.mark.parametrize(
    ("answers", "result", "work"),
    [
        pytest.param([Status.skip()] * 3, Status.skip(), "", id="nobody"),
        pytest.param([Status.skip(), None, Status.skip()], None, "B", id="one"),
        pytest.param([PreFlight(), Status.skip(), Status.success()], None, "AC", id="two"),
        pytest.param(
            [PreFlight(allow_parallel=True), Status.skip(), PreFlight(allow_parallel=True)],
            None,
            "AC",
            id="two side by side",
        ),
        pytest.param([None, None, Status.skip()], None, "AB", id="all but the last"),
    ],
)
def test_only_those_with_work_are_asked_to_pre_bind(
    answers: list[Any], result: Status | None, work: str
) -> None:
    ran: list[str] = []
    made = profile(*(flight(name, one, ran) for name, one in zip("ABC", answers, strict=True)))
    state = CycleState()
    assert run_pre_bind_pre_flights(made, state, POD, "n1") == result
    assert drive(run_pre_bind(made, state, POD, "n1")) is None
    assert ran == list(work)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Status.error("bad"), 'running PreBindPreFlight "B": bad'),
        (
            ValueError("boom"),
            'running PreBindPreFlight "B": plugin B, point PreBind, node n1: ValueError: boom',
        ),
        (
            Status.unschedulable("no"),
            'PreBindPreFlight B returned "Unschedulable", which is unsupported. '
            "It is supposed to return Success, Skip, or Error status",
        ),
    ],
    ids=["an error", "an exception", "a refusal"],
)
def test_pre_flights_that_fail_end_the_attempt(answer: Any, message: str) -> None:
    made = profile(flight("A", None), flight("B", answer), flight("C", None))
    found = run_pre_bind_pre_flights(made, CycleState(), POD, "n1")
    assert found is not None and found.is_error
    assert found.message == message


def test_without_an_event_loop_the_first_failure_ends_a_group() -> None:
    ran: list[str] = []

    async def fails(*_: Any) -> Status:
        ran.append("B")
        return Status.error("bad")

    async def passes(*_: Any) -> None:
        ran.append("other")

    made = profile(parallel("A", passes), parallel("B", fails), parallel("C", passes))
    state = CycleState()
    run_pre_bind_pre_flights(made, state, POD, "n1")
    found = drive(run_pre_bind(made, state, POD, "n1"))
    assert found is not None and found.message == 'running PreBind plugin "B": bad'
    assert ran == ["other", "B"]


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


async def test_a_plugin_that_hides_why_it_was_cancelled_does_not_hide_it_for_others() -> None:
    started = asyncio.Event()

    async def hides(*_: Any) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise asyncio.CancelledError from None

    async def waits(*_: Any) -> None:
        started.set()
        await asyncio.Event().wait()

    made = profile(parallel("A", hides), parallel("B", waits))
    state = CycleState()
    run_pre_bind_pre_flights(made, state, POD, "n1")
    running = asyncio.create_task(run_pre_bind(made, state, POD, "n1"))
    await started.wait()
    running.cancel("preempted")
    found = await running
    assert found is not None
    assert found.message == 'running PreBind plugin "B": preempted'


REFUSED = Status.unschedulable("no")
TIMED = {
    "Reserve": ("reserve", lambda *asked: run_reserve(*asked)),
    "Unreserve": ("unreserve", lambda *asked: run_unreserve(*asked)),
    "Permit": ("permit", lambda *asked: run_permit(*asked)),
    "PreBindPreFlight": (
        "pre_bind_pre_flight",
        lambda *asked: run_pre_bind_pre_flights(*asked),
    ),
    "PreBind": ("pre_bind", lambda *asked: drive(run_pre_bind(*asked))),
    "Bind": ("bind", lambda *asked: drive(run_bind(*asked))),
    "PostBind": ("post_bind", lambda *asked: drive(run_post_bind(*asked))),
}


@pytest.mark.parametrize(
    ("label", "answer", "code"),
    [
        *(pytest.param(label, None, "Success", id=f"{label} that agrees") for label in TIMED),
        *(
            pytest.param(label, REFUSED, "Unschedulable", id=f"{label} that refuses")
            for label in ("Reserve", "Permit", "PreBind", "Bind")
        ),
        pytest.param("PreBindPreFlight", REFUSED, "Error", id="PreBindPreFlight that refuses"),
    ],
)
def test_the_time_of_a_point_is_taken(label: str, answer: Any, code: str) -> None:
    """The clock goes on by one at each look."""
    method, run = TIMED[label]
    methods = {"pre_bind": answering(None)} if method == "pre_bind_pre_flight" else {}
    made = profile(plugin("A", **methods, **{method: answering(answer)}), binder=method != "bind")
    made.recorder.now = itertools.count(1_000_000.0).__next__
    run(made, CycleState(), POD, "n1")
    ((key, taken),) = made.handle.metrics.extension_point_duration.items()
    assert (key, taken.sum) == ((label, code, "default-scheduler"), 1)
