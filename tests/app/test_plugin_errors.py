"""Every point with every kind of exception: each is an error of the plugin and nothing more."""

from __future__ import annotations

import asyncio
import io
import logging
import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from mooring import ActionType, ClusterEvent, EventResource, Plugin, Status
from mooring.framework.plugin_errors import ignore_signal
from mooring.observe.logs import KlogFormatter
from mooring.queue.queued_pod_info import Place
from tests.app.world import World, make_node, make_pod

NO = Status.unschedulable("no")


class Own(BaseException):
    """An exception class that a plugin defines."""


class Unreadable(Exception):
    """An exception that cannot be printed."""

    def __str__(self) -> str:
        raise SystemExit(3)


KINDS: dict[str, Callable[[], BaseException]] = {
    "ValueError": lambda: ValueError("boom"),
    "CancelledError": asyncio.CancelledError,
    "SystemExit": lambda: SystemExit(3),
    "KeyboardInterrupt": KeyboardInterrupt,
    "GeneratorExit": GeneratorExit,
    "StopIteration": StopIteration,
    "StopAsyncIteration": StopAsyncIteration,
    "Own": lambda: Own("boom"),
    "BaseExceptionGroup": lambda: BaseExceptionGroup("boom", [SystemExit(3)]),
    "Unreadable": Unreadable,
}

each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(autouse=True)
def signals_are_handled_elsewhere() -> Iterator[None]:
    """Make SIGINT raise nothing, as in a process that handles signals on another thread."""
    before = signal.signal(signal.SIGINT, ignore_signal)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def lines_are_formatted() -> None:
    """Write each log line, as a process does: formatting it must not fail either."""
    handler = logging.StreamHandler(io.StringIO())
    handler.setFormatter(KlogFormatter())
    logging.getLogger().addHandler(handler)


class Failing:
    """A function that raises an exception at each call, until it is mended."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.raised = 0
        self.mended = False

    def __call__(self, *_: object) -> Any:
        if not self.mended:
            self.raised += 1
            raise KINDS[self.kind]()
        return None


def on_labels(self: Plugin) -> list[ClusterEvent]:
    return [ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL)]


def make_plugin(**methods: Any) -> type[Plugin]:
    return type("Failing", (Plugin,), {"events_to_register": on_labels, **methods})


def sync(fails: Failing, then: Any = None) -> Any:
    def call(self: Plugin, *args: Any) -> Any:
        fails()
        return then(*args) if callable(then) else then

    return call


def asynchronous(fails: Failing, then: Any = None) -> Any:
    async def call(self: Plugin, *args: Any) -> Any:
        await asyncio.sleep(0)
        fails()
        return then

    return call


def generator(fails: Failing) -> Any:
    def call(self: Plugin, state: Any, pod: Any, nodes: Any) -> Any:
        fails()
        yield NO, np.zeros(len(nodes), dtype=np.bool_)

    return call


def under_a_future(fails: Failing, then: Any = None) -> Any:
    """Return a method that awaits a future which fails or is cancelled."""

    async def call(self: Plugin, *args: Any) -> Any:
        waited: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if not fails.mended:
            fails.raised += 1
            if fails.kind == "CancelledError":
                waited.cancel()
            else:
                waited.set_exception(KINDS[fails.kind]())
            await waited
        return then

    return call


SKIP = Status.skip()
POINTS: dict[str, Callable[[Failing], dict[str, Any]]] = {
    "pre_filter": lambda fails: {"pre_filter": sync(fails)},
    "filter": lambda fails: {"filter": sync(fails)},
    "filter_nodes": lambda fails: {"filter_nodes": generator(fails)},
    "pre_score": lambda fails: {"pre_score": sync(fails)},
    "score": lambda fails: {"score": sync(fails, 1)},
    "score_nodes": lambda fails: {"score_nodes": sync(fails, 1)},
    "normalize_score": lambda fails: {
        "score": lambda self, *_: 1,
        "normalize_score": sync(fails, lambda state, pod, scores, nodes: scores),
    },
    "reserve": lambda fails: {"reserve": sync(fails), "unreserve": lambda self, *_: None},
    "permit": lambda fails: {"permit": sync(fails)},
    "pre_bind_pre_flight": lambda fails: {
        "pre_bind_pre_flight": sync(fails),
        "pre_bind": lambda self, *_: None,
    },
    "pre_bind": lambda fails: {"pre_bind": sync(fails)},
    "async pre_bind": lambda fails: {"pre_bind": asynchronous(fails)},
    "a future under pre_bind": lambda fails: {"pre_bind": under_a_future(fails)},
    "a pre_bind with nothing to do": lambda fails: {
        "pre_bind_pre_flight": lambda self, *_: None,
        "pre_bind": asynchronous(fails),
    },
    "bind": lambda fails: {"bind": sync(fails, SKIP)},
    "async bind": lambda fails: {"bind": asynchronous(fails, SKIP)},
    "a future under bind": lambda fails: {"bind": under_a_future(fails, SKIP)},
}

#: Python itself turns these into other exceptions when they leave a coroutine or a generator.
TURNED = {"StopIteration": "RuntimeError", "StopAsyncIteration": "StopAsyncIteration"}
GENERATED = ("filter_nodes", "async pre_bind", "async bind")
FUTURES = ("a future under pre_bind", "a future under bind", "a pre_bind with nothing to do")
#: The plugin runs before the one that binds.
BINDS_FIRST = {
    "multiPoint": {"enabled": [{"name": "Failing"}]},
    "bind": {
        "enabled": [{"name": "Failing"}, {"name": "DefaultBinder"}],
        "disabled": [{"name": "*"}],
    },
}


def make_world(plugin: type[Plugin]) -> World:
    world = World(plugin, profiles=[{"plugins": BINDS_FIRST}] if hasattr(plugin, "bind") else ())
    world.nodes.add(make_node("n1"))
    world.nodes.add(make_node("n2"))
    return world


def assert_nothing_is_held(world: World) -> None:
    scheduler = world.scheduler
    assert not scheduler.cache.assumed
    assert list(scheduler.on_the_way.waiting()) == []
    assert scheduler.on_the_way.pre_binding("p") is None
    assert scheduler.metrics.goroutines["binding"].value == 0
    others = asyncio.all_tasks() - {asyncio.current_task()}
    names = {task.get_coro().__qualname__ for task in others}
    assert names <= {"Scheduler.run", "Scheduler._run"}, "no binding cycle goes on"


@each_kind
@pytest.mark.parametrize("point", POINTS)
async def test_a_point_that_raises_is_an_error_of_its_pod(
    point: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    if point in FUTURES and kind == "StopIteration":
        kind = "StopAsyncIteration"  # A future does not accept StopIteration.
    fails = Failing(kind)
    world = make_world(make_plugin(**POINTS[point](fails)))
    pod = make_pod("p")
    world.pods.add(pod)
    await world.settle()
    assert fails.raised
    (condition,) = (write for write in world.client.writes if write[1] == "SchedulerError")
    named = TURNED.get(kind, kind) if point in GENERATED else kind
    assert "Failing" in condition[2] and named in condition[2]
    assert [line for line in world.events.lines if "FailedScheduling" in line] == [
        f"p: FailedScheduling: {condition[2]}"
    ]
    errors = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert "Error scheduling pod; retrying" in errors
    raised = next(one for one in caplog.records if one.message == "A plugin raised an exception")
    assert_printed_as_lines(raised)
    assert_nothing_is_held(world)
    assert world.queued(pod).place is Place.BACKOFF
    fails.mended = True
    await world.after(2)
    assert ("p", "bound") in [write[:2] for write in world.client.writes]
    assert_nothing_is_held(world)


@each_kind
async def test_a_pre_enqueue_that_raises_holds_the_pod_back(kind: str) -> None:
    fails = Failing(kind)
    world = make_world(make_plugin(pre_enqueue=sync(fails)))
    pod = make_pod("p")
    world.pods.add(pod)
    await world.settle()
    assert fails.raised
    assert world.client.writes == []
    fails.mended = True
    world.nodes.add(make_node("n1", labels={"new": "label"}))
    await world.after(2)
    assert ("p", "bound") in [write[:2] for write in world.client.writes]


@each_kind
@pytest.mark.parametrize("form", [sync, asynchronous, under_a_future])
async def test_a_post_filter_that_raises_is_part_of_the_refusal(
    form: Any, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    if form is under_a_future and kind == "StopIteration":
        kind = "StopAsyncIteration"
    fails, refused = Failing(kind), []

    def refuse(self: Plugin, *_: Any) -> Status | None:
        refused.append(1)
        return NO if len(refused) <= 2 else None

    world = make_world(make_plugin(filter=refuse, post_filter=form(fails, NO)))
    # DefaultPreemption runs first and does not keep this plugin from running.
    pod = make_pod("p")
    world.pods.add(pod)
    await world.settle()
    assert fails.raised
    (condition,) = world.client.writes
    named = TURNED.get(kind, kind) if form is asynchronous else kind
    assert condition[1] == "Unschedulable"
    assert "Failing" in condition[2] and named in condition[2]
    fails.mended = True
    world.nodes.add(make_node("n1", labels={"new": "label"}))
    await world.after(2)
    assert ("p", "bound") in [write[:2] for write in world.client.writes]
    assert_nothing_is_held(world)


@each_kind
@pytest.mark.parametrize("form", [sync, asynchronous, under_a_future])
async def test_a_post_bind_that_raises_is_logged(
    form: Any, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    if form is under_a_future and kind == "StopIteration":
        kind = "StopAsyncIteration"
    fails = Failing(kind)
    world = make_world(make_plugin(post_bind=form(fails)))
    world.pods.add(make_pod("p"))
    await world.settle()
    assert fails.raised
    assert [write[:2] for write in world.client.writes] == [("p", "bound")]
    assert "PostBind failed" in caplog.messages
    assert_nothing_is_held(world)


@each_kind
async def test_an_unreserve_that_raises_does_not_keep_the_others_from_it(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    fails, refuses = Failing(kind), Failing("ValueError")
    world = make_world(make_plugin(unreserve=sync(fails), permit=sync(refuses)))
    world.pods.add(make_pod("p"))
    await world.settle()
    assert fails.raised
    assert "Unreserve failed" in caplog.messages
    assert_nothing_is_held(world)
    fails.mended = refuses.mended = True
    await world.after(2)
    assert ("p", "bound") in [write[:2] for write in world.client.writes]


@each_kind
async def test_a_signature_that_cannot_be_made_is_done_without(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    fails = Failing(kind)
    plugin = make_plugin(filter_nodes=lambda self, *_: (), sign_pod=sync(fails))
    world = make_world(plugin)
    world.pods.add(make_pod("p"))
    await world.settle()
    assert fails.raised
    assert [write[:2] for write in world.client.writes] == [("p", "bound")]


@each_kind
async def test_a_hint_that_raises_counts_as_yes(kind: str) -> None:
    fails = Failing(kind)

    def register(self: Plugin) -> list[ClusterEvent]:
        return [ClusterEvent(EventResource.NODE, ActionType.ADD, lambda *_: fails())]

    refusals = [NO, NO]
    world = make_world(
        make_plugin(
            events_to_register=register,
            filter=lambda self, *_: refusals.pop() if refusals else None,
        )
    )
    world.pods.add(make_pod("p"))
    await world.settle()
    world.nodes.add(make_node("n3"))
    await world.after(2)
    assert fails.raised
    assert ("p", "bound") in [write[:2] for write in world.client.writes]


@each_kind
@pytest.mark.parametrize("form", ["less", "sort_key"])
async def test_a_queue_sort_that_raises_is_replaced(form: str, kind: str) -> None:
    fails = Failing(kind)
    plugin = make_plugin(**{form: sync(fails, lambda *infos: infos[0].timestamp)})
    sort = {"enabled": [{"name": "Failing"}], "disabled": [{"name": "*"}]}
    world = World(plugin, profiles=[{"plugins": {"queueSort": sort}}])
    world.nodes.add(make_node("n1"))
    for name in ("p", "q", "r"):
        world.pods.add(make_pod(name))
    await world.settle()
    assert fails.raised
    assert {write[:2] for write in world.client.writes} == {
        ("p", "bound"),
        ("q", "bound"),
        ("r", "bound"),
    }


def assert_printed_as_lines(record: logging.LogRecord) -> None:
    """Check that a traceback is printed as it is in a terminal, indented."""
    first, *rest = KlogFormatter().format(record).splitlines()
    assert first.endswith(" traceback=<")
    assert rest[0].startswith("\t") and rest[0].endswith("Traceback (most recent call last):")
    assert any(" File " in line for line in rest)
    assert rest[-1] == " >"


@each_kind
async def test_spawned_work_that_raises_is_logged(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    fails = Failing(kind)

    async def work() -> None:
        await asyncio.sleep(0)
        fails()

    def pre_filter(self: Plugin, state: Any, pod: Any, nodes: Any) -> None:
        self.handle.spawn(work(), pod)

    world = make_world(make_plugin(pre_filter=pre_filter))
    world.pods.add(make_pod("p"))
    await world.settle()
    assert fails.raised
    assert ("p", "bound") in [write[:2] for write in world.client.writes]
    [record] = [
        one for one in caplog.records if one.message == "Work beside the scheduling loop failed"
    ]
    assert_printed_as_lines(record)
    assert_nothing_is_held(world)


@each_kind
async def test_a_plugin_that_cannot_close_does_not_keep_the_others_from_it(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    fails, closed = Failing(kind), []

    async def close(self: Plugin) -> None:
        closed.append(self.name)

    first = make_plugin(close=asynchronous(fails), post_bind=lambda self, *_: None)
    second = type("Second", (Plugin,), {"close": close, "post_bind": lambda self, *_: None})
    world = World(first, second)
    await world.scheduler.stop()
    assert fails.raised
    assert closed == ["Second"]
    [record] = [one for one in caplog.records if one.message == "Closing a plugin failed"]
    assert_printed_as_lines(record)


# However a task ends, it releases what it held.


@pytest.mark.parametrize("has_work", [True, False], ids=["with PreBind", "without PreBind"])
async def test_a_plugin_that_cancels_its_own_task_fails_its_pod(has_work: bool) -> None:
    first = []

    async def cancel(self: Plugin, *_: Any) -> Status:
        if not first:
            first.append(1)
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(0)
        return SKIP

    point = {"pre_bind": cancel} if has_work else {"bind": cancel}
    world = make_world(make_plugin(**point))
    world.pods.add(make_pod("p"))
    await world.settle()
    assert [write[1] for write in world.client.writes].count("SchedulerError") == 1
    assert_nothing_is_held(world)


@pytest.mark.parametrize("waits", [False, True], ids=["between two cycles", "within a cycle"])
async def test_a_plugin_that_cancels_the_scheduling_loop_does_not_end_it(
    waits: bool, caplog: pytest.LogCaptureFixture
) -> None:
    first = []

    def cancel() -> None:
        first.append(1)
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    def pre_filter(self: Plugin, *_: Any) -> Status | None:
        if waits:
            return None if first else NO
        if not first:
            cancel()
        return None

    async def post_filter(self: Plugin, *_: Any) -> Status:
        cancel()
        await asyncio.sleep(0)
        return NO

    world = make_world(make_plugin(pre_filter=pre_filter, post_filter=post_filter))
    running = asyncio.create_task(world.scheduler.run())

    async def turn() -> None:
        for _ in range(80):
            await asyncio.sleep(0)

    for name in ("p", "q"):
        world.pods.add(make_pod(name))
        await turn()
    world.clock.advance(2)
    world.scheduler.inbox.wake()
    await turn()
    assert not running.done()
    writes = {write[:2] for write in world.client.writes}
    assert {("p", "bound"), ("q", "bound")} <= writes
    assert (("p", "SchedulerError") in writes) == waits
    assert "A plugin cancelled the scheduling loop, which goes on" in caplog.messages
    assert_nothing_is_held(world)
    await world.scheduler.stop()
    await running


async def test_a_post_filter_whose_task_is_cancelled_by_the_owner_ends() -> None:
    asked = asyncio.Event()

    async def wait(self: Plugin, *_: Any) -> None:
        asked.set()
        await asyncio.Event().wait()

    world = make_world(make_plugin(filter=lambda self, *_: NO, post_filter=wait))
    world.pods.add(make_pod("p"))
    running = asyncio.create_task(world.scheduler.run())
    await asked.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert world.client.writes == []
    await world.scheduler.stop()


async def test_binding_cycles_that_outlast_the_grace_return_what_they_held() -> None:
    unreserved: list[str] = []

    async def wait(self: Plugin, *_: Any) -> None:
        await asyncio.Event().wait()

    def unreserve(self: Plugin, state: Any, pod: Any, node_name: str) -> None:
        unreserved.append(pod.metadata.name)

    world = make_world(make_plugin(pre_bind=wait, reserve=lambda *_: None, unreserve=unreserve))
    world.pods.add(make_pod("p"))
    await world.settle()
    assert world.scheduler.cache.assumed
    await world.scheduler.stop(grace=0)
    assert unreserved == ["p"]
    assert_nothing_is_held(world)


async def test_an_answer_that_cannot_be_used_gives_the_place_back() -> None:
    refusals = [Status.wait("soon")]  # type: ignore[arg-type]
    world = make_world(make_plugin(permit=lambda self, *_: refusals.pop() if refusals else None))
    world.pods.add(make_pod("p"))
    await world.settle()
    assert [write[1] for write in world.client.writes] == ["SchedulerError"]
    assert_nothing_is_held(world)
    await world.after(2)
    assert ("p", "bound") in [write[:2] for write in world.client.writes]
