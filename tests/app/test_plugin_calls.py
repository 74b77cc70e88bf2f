"""The plugin call that a thread is in, or that a task awaits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mooring import Plugin, Status
from mooring.api import Pod
from mooring.app.plugin_calls import PluginCall, awaited_call, running_call
from mooring.cycle.extender_calls import filter_by_extenders, prioritize_by_extenders
from mooring.cycle.scoring import Ranking
from mooring.framework.decision import NodeStatuses
from mooring.observe.series import Gauge
from tests.app.world import World, make_node, make_pod
from tests.support.waiting import PATIENCE

NO = Status.unschedulable("no")


def seen_in(**methods: Any) -> PluginCall:
    """Schedule a pod with a plugin that blocks once; return the call that another thread sees."""
    blocks, seen = threading.Event(), threading.Event()
    found: list[PluginCall | None] = []

    def block(self: Any, *args: Any) -> None:
        if not found:
            blocks.set()
            assert seen.wait(PATIENCE)

    thread_id = threading.get_ident()

    def look() -> None:
        assert blocks.wait(PATIENCE)
        found.append(running_call(thread_id))
        seen.set()

    body = {name: method(block) for name, method in methods.items()}
    plugin = type("Slow", (Plugin,), body)

    async def schedule() -> None:
        world = World(plugin)
        world.nodes.add(make_node("n1"))
        world.nodes.add(make_node("n2"))
        world.pods.add(make_pod("p"))
        await world.settle()
        await world.scheduler.stop()

    looking = threading.Thread(target=look)
    looking.start()
    asyncio.run(schedule())
    looking.join()
    (call,) = found
    assert call is not None
    return call


def plain(block: Any) -> Any:
    def filter(self: Any, state: Any, pod: Any, node: Any) -> Any:
        block(self)

    return filter


def nested(block: Any) -> Any:
    def pre_filter(self: Any, state: Any, pod: Any, nodes: Any) -> Any:
        return self.helper(pod)

    return pre_filter


def by_generator(block: Any) -> Any:
    def filter_nodes(self: Any, state: Any, pod: Any, nodes: Any) -> Any:
        block(self)
        yield from ()

    return filter_nodes


def asynchronous(block: Any) -> Any:
    async def pre_bind(self: Any, state: Any, pod: Any, node_name: str) -> None:
        block(self)

    return pre_bind


def any_arguments(block: Any) -> Any:
    def reserve(*args: Any) -> None:
        block(None)

    return reserve


def gate(block: Any) -> Any:
    def pre_enqueue(self: Any, pod: Any) -> None:
        block(self)

    return pre_enqueue


@pytest.mark.parametrize(
    ("methods", "point", "pod"),
    [
        pytest.param({"filter": plain}, "Filter", "default/p", id="a method"),
        pytest.param(
            {"pre_filter": nested, "helper": lambda block: block},
            "PreFilter",
            "default/p",
            id="a method that calls another",
        ),
        pytest.param({"filter_nodes": by_generator}, "Filter", "default/p", id="a generator"),
        pytest.param({"pre_bind": asynchronous}, "PreBind", "default/p", id="a coroutine"),
        pytest.param({"reserve": any_arguments}, "Reserve", "default/p", id="any arguments"),
        pytest.param(
            {"permit": lambda block: lambda self, state, pod, node_name: block(self)},
            "Permit",
            "default/p",
            id="a function without a name",
        ),
        pytest.param({"pre_enqueue": gate}, "PreEnqueue", "default/p", id="outside of the cycle"),
        pytest.param(
            {"start": lambda block: block, "post_bind": lambda block: lambda self, *_: None},
            "block",
            "",
            id="a method of no point",
        ),
    ],
)
def test_a_call_that_blocks_is_found(
    methods: dict[str, Callable[..., Any]], point: str, pod: str
) -> None:
    call = seen_in(**methods)
    assert (call.plugin, call.point, call.pod) == ("Slow", point, pod)
    assert call.place.startswith("threading.py:")


def by_function(block: Any) -> Any:
    def pre_filter(self: Any, state: Any, pod: Any, nodes: Any) -> None:
        self.handle.spawn(fetch(block), pod)

    return pre_filter


async def fetch(block: Any) -> None:
    block(None)


class InThisModule(Plugin):
    """A plugin whose module has the function `fetch`."""

    name = "in-this-module"


def test_a_function_beside_a_plugin_that_blocks_is_found() -> None:
    call = seen_in(pre_filter=by_function)
    assert (call.plugin, call.point) == ("in-this-module", "block")


def test_a_thread_that_calls_no_plugin_is_in_no_call() -> None:
    assert running_call(threading.get_ident()) is None
    assert running_call(0) is None


async def test_a_call_that_is_awaited_is_found() -> None:
    asked = asyncio.Event()

    class Patient(Plugin):
        def filter(self, state: Any, pod: Any, node: Any) -> Status:
            return NO

        async def post_filter(self, state: Any, pod: Any, statuses: Any) -> Status:
            asked.set()
            await asyncio.wait_for(asyncio.Event().wait(), 3600)
            return NO

    world = World(Patient)
    world.nodes.add(make_node("n"))
    world.pods.add(make_pod("p"))
    running = asyncio.create_task(world.scheduler.run())
    await asked.wait()
    call = awaited_call(world.scheduler.turning)
    assert call is not None
    assert (call.plugin, call.point, call.pod) == ("Patient", "PostFilter", "default/p")
    running.cancel()
    await asyncio.wait((running,))
    assert awaited_call(world.scheduler.turning) is None
    await world.scheduler.stop()


class SilentExtender:
    """An extender that never responds."""

    name = "silent"
    is_filter = is_prioritizer = True
    ignorable = False

    def is_interested(self, pod: Pod) -> bool:
        return True

    async def filter(self, pod: Pod, nodes: Any) -> Any:
        await asyncio.Event().wait()

    async def prioritize(self, pod: Pod, nodes: Any) -> Any:
        await asyncio.Event().wait()


@pytest.mark.parametrize("verb", ["filter", "prioritize"])
async def test_an_extender_that_is_awaited_is_found(verb: str) -> None:
    world = World()
    world.nodes.add(make_node("n"))
    world.scheduler.inbox.drain()
    nodes, pod = world.scheduler.cache.nodes, make_pod("p")
    extenders: Any = [SilentExtender()]
    work: Any = (
        filter_by_extenders(extenders, pod, nodes, NodeStatuses(nodes))
        if verb == "filter"
        else prioritize_by_extenders(
            extenders, pod, nodes, Ranking({}, np.zeros(1, np.int64)), Gauge()
        )
    )
    task = asyncio.create_task(work)
    await asyncio.sleep(0)
    call = awaited_call(task)
    assert call is not None
    assert (call.plugin, call.point, call.pod) == ("silent", "Extender", "default/p")
    task.cancel()
    await asyncio.wait((task,))
