"""One attempt, driven by the live scheduler and by one in memory, ends in the same way.

What a live attempt does besides is in test_scheduler, what one in memory does in
virtual/test_memory_scheduler.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mooring import Plugin, PreFlight, Status
from mooring.config.load import default_config
from mooring.framework.decision import Decision
from mooring.registry import default_registry
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.app.world import World, make_node, make_pod


class Answers(Plugin):
    """A plugin that answers at one point as the test says, and notes the points it was asked at."""

    point = ""
    answer: Any = None
    called: list[str]

    def _say(self, point: str, otherwise: Any = None) -> Any:
        self.called.append(point)
        if point != self.point:
            return otherwise
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def filter(self, state: Any, pod: Any, node: Any) -> Any:
        return self._say("filter")

    def reserve(self, state: Any, pod: Any, node_name: str) -> Any:
        return self._say("reserve")

    def unreserve(self, state: Any, pod: Any, node_name: str) -> None:
        self._say("unreserve")

    def permit(self, state: Any, pod: Any, node_name: str) -> Any:
        return self._say("permit")

    def pre_bind_pre_flight(self, state: Any, pod: Any, node_name: str) -> Any:
        return self._say("pre_bind_pre_flight", PreFlight())

    async def pre_bind(self, state: Any, pod: Any, node_name: str) -> Any:
        return self._say("pre_bind")

    async def bind(self, state: Any, pod: Any, node_name: str) -> Any:
        return self._say("bind", Status.skip())

    def post_bind(self, state: Any, pod: Any, node_name: str) -> None:
        self._say("post_bind")


def answering(point: str, answer: Any) -> type[Answers]:
    return type("Answers", (Answers,), {"point": point, "answer": answer, "called": []})


async def live(plugin: type[Answers]) -> World:
    """Try one pod once, live, until nothing is left to do at this moment."""
    world = World(plugin)
    world.nodes.add(make_node("n"))
    world.pods.add(make_pod("p"))
    assert await world.scheduler.turn()
    for _ in range(5):
        for _ in range(20):
            await asyncio.sleep(0)
        world.scheduler.inbox.drain()
    return world


def in_memory(plugin: type[Answers]) -> tuple[MemoryScheduler, Decision]:
    """Try one pod once, in memory."""
    registry = default_registry([plugin])
    pod = make_pod("p")
    scheduler = MemoryScheduler(
        [make_node("n"), pod],
        config=default_config(registry=registry, enabled=[plugin.name]),
        registry=registry,
    )
    return scheduler, drive(scheduler.schedule_one(pod))


NO = Status.unschedulable("no")
BOOM = ValueError("boom")


@pytest.mark.parametrize("answer", [NO, Status.error("broken"), BOOM], ids=["no", "error", "boom"])
@pytest.mark.parametrize(
    "point", ["filter", "reserve", "permit", "pre_bind_pre_flight", "pre_bind", "bind", "post_bind"]
)
async def test_an_attempt_is_the_same_live_and_in_memory(point: str, answer: Any) -> None:
    lived, remembered = answering(point, answer), answering(point, answer)
    world = await live(lived)
    scheduler, decision = in_memory(remembered)
    assert lived.called == remembered.called
    recorded = scheduler.events.recorded
    assert world.events.lines == [f"p: {event.reason}: {event.note}" for event in recorded]
    pod = scheduler.cluster.pods.get("p", "default")
    assert pod is not None
    conditions = [("p", one.reason, one.message) for one in pod.status.conditions]
    assert [write for write in world.client.writes if write[1] not in KEPT] == conditions
    assert [one.message for one in pod.status.conditions] == [
        message for message in [decision.message] if message
    ]
    assert world.scheduler.nominator.node_of("p") == scheduler.nominator.node_of("p")
    for cache in (world.scheduler.cache, scheduler.cache):
        cache.validate()
        assert not cache.assumed
    world.scheduler.queue.validate()


#: What the client of a live attempt notes besides conditions.
KEPT = ("nominated", "bound")


@pytest.mark.parametrize("gate", [True, False], ids=["nominated early", "not nominated early"])
async def test_a_pod_that_fails_before_its_wait_no_longer_waits(gate: bool) -> None:
    class Waits(Plugin):
        def permit(self, state: Any, pod: Any, node_name: str) -> Status:
            return Status.wait(60)

        def pre_bind_pre_flight(self, state: Any, pod: Any, node_name: str) -> Status:
            return Status.error("broken")

        def pre_bind(self, state: Any, pod: Any, node_name: str) -> None: ...

    world = World(Waits, gates={"NominatedNodeNameForExpectation": gate})
    world.nodes.add(make_node("n"))
    world.pods.add(make_pod("p"))
    assert await world.scheduler.turn()
    for _ in range(20):
        await asyncio.sleep(0)
    world.scheduler.inbox.drain()
    # Without the gate the plugins are not asked whether they have work, and the pod waits.
    waiting = [one.pod.name for one in world.scheduler.on_the_way.waiting()]
    assert waiting == ([] if gate else ["p"])
    await world.scheduler.stop()


def test_a_pod_that_waits_in_memory_is_nominated_and_keeps_no_room_twice() -> None:
    class Waits(Plugin):
        def permit(self, state: Any, pod: Any, node_name: str) -> Status:
            return Status.wait(60)

    scheduler, decision = in_memory(Waits)  # type: ignore[arg-type]
    assert decision.node_name == "n"
    pod = scheduler.cluster.pods.get("p", "default")
    assert pod is not None and pod.status.nominated_node_name == "n"
    # It is assumed on the node already.
    assert scheduler.nominator.node_of("p") == ""
    assert drive(scheduler.expire_waits())
    pod = scheduler.cluster.pods.get("p", "default")
    assert pod is not None and pod.status.nominated_node_name == ""
