from __future__ import annotations

import asyncio
import gc
import logging
from typing import Any

import pytest
from msgspec.structs import replace

from mooring import ActionType, ClusterEvent, EventResource, Plugin, PreFlight, Status
from mooring.api import Pod
from mooring.errors import ApiError
from mooring.framework.decision import Decision
from mooring.queue.queued_pod_info import Place
from tests.app.world import World, make_node, make_pod
from tests.plugins.contested import CONTESTED, Contested

NO_ROOM = "0/1 nodes are available: 1 {}."


def answering(point: str, *answers: Any, **more: Any) -> type[Plugin]:
    """Return a plugin that answers so at a point, once each, and agrees afterwards."""
    left = list(answers)

    def answer(self: Plugin, *_: object) -> Any:
        return left.pop(0) if left else None

    return type("Answering", (Plugin,), {point: answer, "taken_back": [], **more})


def on_nodes_only(self: Plugin) -> list[ClusterEvent]:
    return [ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL)]


async def test_a_pod_goes_from_the_queue_to_its_node() -> None:
    world = World()
    world.nodes.add(make_node("n"))
    pod = make_pod("p")
    world.pods.add(pod)
    await world.settle()
    assert world.client.writes == [("p", "bound", "n")]
    assert world.events.lines == ["p: Scheduled: Successfully assigned default/p to n"]
    assert [info.pod.spec.node_name for info in world.scheduler.cache.pods] == ["n"]
    assert not world.scheduler.cache.is_assumed(pod.metadata.uid)
    assert world.queued(pod) is None


@pytest.mark.parametrize("wanted", CONTESTED, ids=lambda wanted: wanted.what)
async def test_two_profiles_do_not_give_one_thing_to_two_pods(wanted: Contested) -> None:
    world = World(profiles=[{"schedulerName": "red"}, {"schedulerName": "blue"}])
    for one in wanted.objects:
        world.informers.lister(type(one)).add(one)
    # Both are tried before the binding cycle of either begins.
    assert await world.scheduler.turn()
    assert await world.scheduler.turn()
    assert list(world.scheduler.cache.assumed) == ["default/red"]
    (line,) = world.events.lines
    assert line.startswith("blue: FailedScheduling: ")
    assert wanted.refusal in line
    await world.scheduler.stop()


async def test_what_is_of_use_in_the_scheduling_cycle_alone_is_forgotten_then() -> None:
    class Large:
        cycle_only = True

    seen: list[tuple[bool, bool]] = []

    class Writing(Plugin):
        def _note(self, state: Any) -> None:
            seen.append((state.get("large") is not None, state.get("small") is not None))

        def pre_filter(self, state: Any, pod: Any, nodes: Any) -> None:
            state.write("large", Large())
            state.write("small", 1)

        def reserve(self, state: Any, pod: Any, node_name: str) -> None:
            self._note(state)

        async def pre_bind(self, state: Any, pod: Any, node_name: str) -> None:
            self._note(state)

    world = World(Writing)
    world.nodes.add(make_node("n"))
    world.pods.add(make_pod("p"))
    await world.settle()
    assert seen == [(True, True), (False, True)]


async def test_a_pod_without_a_node_says_why_and_waits_for_one() -> None:
    world = World()
    pod = make_pod("p")
    world.pods.add(pod)
    await world.settle()
    message = "no nodes available to schedule pods"
    assert world.client.writes == [("p", "Unschedulable", message)]
    assert world.events.lines == [f"p: FailedScheduling: {message}"]
    world.nodes.add(make_node("n"))
    await world.after(2)
    assert world.client.writes[-1] == ("p", "bound", "n")


@pytest.mark.parametrize("point", ["reserve", "permit"])
async def test_a_refusal_before_binding_waits_for_the_plugins_events(point: str) -> None:
    plugin = answering(point, Status.unschedulable("no"), events_to_register=on_nodes_only)
    world = World(plugin)
    world.nodes.add(make_node("n"))
    pod = make_pod("p")
    world.pods.add(pod)
    await world.settle()
    assert world.client.writes == [("p", "Unschedulable", NO_ROOM.format("no"))]
    assert not world.scheduler.cache.is_assumed(pod.metadata.uid)
    assert world.queued(pod).unschedulable_plugins == {"Answering"}
    await world.after(60)
    assert len(world.client.writes) == 1
    world.nodes.add(make_node("n", turn="2"))
    await world.after(1)
    assert world.client.writes[-1] == ("p", "bound", "n")


async def test_a_pending_pod_is_remembered_as_such() -> None:
    plugin = answering("reserve", Status.pending("later"), events_to_register=on_nodes_only)
    world = World(plugin)
    world.nodes.add(make_node("n"))
    pod = make_pod("p")
    world.pods.add(pod)
    await world.settle()
    assert world.queued(pod).pending_plugins == {"Answering"}


@pytest.mark.parametrize(
    ("answer", "reason", "message"),
    [
        (Status.unschedulable("no"), "Unschedulable", "no"),
        (Status.error("broken"), "SchedulerError", 'running PreBind plugin "Answering": broken'),
    ],
    ids=["a refusal", "an error"],
)
async def test_a_failure_after_permit_is_retried_after_backoff(
    answer: Status, reason: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(answering("pre_bind", answer, events_to_register=on_nodes_only))
    world.nodes.add(make_node("n"))
    world.pods.add(make_pod("p"))
    with caplog.at_level(logging.ERROR):
        await world.settle()
    assert "Error scheduling pod; retrying" in caplog.text
    assert world.client.writes == [
        ("p", "nominated", "n"),
        ("p", reason, message),
        ("p", "nominated", None),
    ]
    await world.after(2)
    assert world.client.writes[-2:] == [("p", "nominated", "n"), ("p", "bound", "n")]


async def test_a_nomination_is_cleared_that_has_not_come_back_yet() -> None:
    world = World(answering("pre_bind", Status.error("broken")))
    world.nodes.add(make_node("n"))
    world.pods.add(make_pod("p"))
    world.client.lags = True
    await world.settle()
    assert ("p", "nominated", None) in world.client.writes


async def test_without_the_gate_nothing_is_said_before_the_bind() -> None:
    calls: list[str] = []
    plugin = answering(
        "pre_bind", None, pre_bind_pre_flight=lambda *_: calls.append("flight") or PreFlight()
    )
    world = World(plugin, gates={"NominatedNodeNameForExpectation": False})
    world.nodes.add(make_node("n"))
    world.pods.add(make_pod("p"))
    await world.settle()
    assert world.client.writes == [("p", "bound", "n")]
    assert calls == []


async def test_a_bind_that_the_server_refuses_is_tried_again() -> None:
    world = World()
    world.nodes.add(make_node("n"))
    pod = make_pod("p")
    world.pods.add(pod)
    left = [ApiError(403, "forbidden", reason="Forbidden")]

    def refuse(verb: str) -> None:
        if verb == "bind" and left:
            raise left.pop()

    world.client.trouble = refuse
    await world.settle()
    ((_, reason, message),) = world.client.writes
    assert reason == "SchedulerError"
    assert message.startswith('running Bind plugin "DefaultBinder": ')
    assert world.queued(pod).place is Place.BACKOFF
    await world.after(2)
    assert world.client.writes[-1] == ("p", "bound", "n")


class Waits(Plugin):
    """Wait at Permit, and note what is taken back."""

    taken_back: list[str]

    def start(self) -> None:
        type(self).taken_back = []

    def permit(self, state: Any, pod: Pod, node_name: str) -> Status:
        return Status.wait(30)

    def unreserve(self, state: Any, pod: Pod, node_name: str) -> None:
        self.taken_back.append(pod.metadata.name)


async def test_a_wait_at_permit_ends_with_its_time() -> None:
    world = World(Waits)
    world.nodes.add(make_node("n"))
    pod = make_pod("p")
    world.pods.add(pod)
    await world.settle()
    assert world.client.writes == [("p", "nominated", "n")]
    assert world.scheduler.cache.is_assumed(pod.metadata.uid)
    await world.after(30)
    text = NO_ROOM.format("rejected due to timeout after waiting 30s at plugin Waits")
    assert ("p", "Unschedulable", text) in world.client.writes
    assert Waits.taken_back == ["p"]


async def test_a_pod_that_is_deleted_at_permit_gives_its_place_back() -> None:
    world = World(Waits)
    world.nodes.add(make_node("n"))
    pod = make_pod("p")
    world.pods.add(pod)
    await world.settle()
    world.pods.delete("p", "default")
    await world.settle()
    assert Waits.taken_back == ["p"]
    assert list(world.scheduler.cache.pods) == []
    assert list(world.scheduler.on_the_way.waiting()) == []


async def test_the_end_gives_places_back_and_says_nothing() -> None:
    world = World(Waits)
    world.nodes.add(make_node("n"))
    world.pods.add(make_pod("p"))
    await world.settle()
    before = list(world.client.writes)
    await world.scheduler.stop()
    assert Waits.taken_back == ["p"]
    assert world.client.writes == before
    assert world.events.lines == []


class Slow(Plugin):
    """Take a few turns of the loop in PreBind."""

    async def pre_bind(self, state: Any, pod: Pod, node_name: str) -> None:
        for _ in range(50):
            await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("grace", "bound"), [(5.0, True), (0.0, False)], ids=["with grace", "without"]
)
async def test_bindings_under_way_end_within_the_grace(grace: float, bound: bool) -> None:
    world = World(Slow)
    world.nodes.add(make_node("n"))
    world.pods.add(make_pod("p"))
    assert await world.scheduler.turn()
    await asyncio.sleep(0)
    await world.scheduler.stop(grace)
    assert (("p", "bound", "n") in world.client.writes) is bound


async def test_a_pod_that_is_being_deleted_is_skipped() -> None:
    world = World()
    world.nodes.add(make_node("n"))
    pod = make_pod("p")
    gone = replace(pod.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    world.pods.add(replace(pod, metadata=gone))
    await world.settle()
    assert world.client.writes == []
    assert world.events.lines == ["p: FailedScheduling: skip schedule deleting pod: default/p"]


async def test_nothing_is_said_of_a_pod_that_was_made_again() -> None:
    world = World(answering("pre_bind", Status.error("broken")))
    world.nodes.add(make_node("n"))
    pod = make_pod("p")
    world.pods.add(pod)
    assert await world.scheduler.turn()
    world.pods.add(replace(pod, metadata=replace(pod.metadata, uid="another")))
    await world.settle()
    assert [line for line in world.events.lines if "Failed" in line] == []
    assert world.client.writes[-1] == ("p", "bound", "n")


async def test_the_room_of_a_pod_that_failed_is_another_pods_chance() -> None:
    # Without the gate: a nomination that ends would be a chance too.
    world = World(
        answering("pre_bind", Status.error("broken")),
        gates={"NominatedNodeNameForExpectation": False},
    )
    world.nodes.add(make_node("n", pods=1))
    world.pods.add(make_pod("first"))
    world.pods.add(make_pod("second"))
    assert await world.scheduler.turn()
    assert await world.scheduler.turn()
    second = world.queued(make_pod("second"))
    assert second.place is Place.UNSCHEDULABLE
    await world.settle()
    await world.after(2)
    assert [write[1] for write in world.client.writes].count("bound") == 1
    assert second.attempts > 1


async def test_activated_pods_are_tried_at_once() -> None:
    world = World()
    world.nodes.add(make_node("n"))
    pod = make_pod("p", node_selector={"no": "where"})
    world.pods.add(pod)
    await world.settle()
    assert world.queued(pod).place is Place.UNSCHEDULABLE
    attempts = world.queued(pod).attempts
    next(iter(world.scheduler.profiles.values())).handle.activate([pod])
    await world.settle()
    assert world.queued(pod).attempts == attempts + 1


async def test_pods_on_their_way_keep_no_decision() -> None:
    world = World(answering("permit", Status.wait(60)))
    world.nodes.add(make_node("n"))
    world.pods.add(make_pod("travels"))
    await world.settle()
    assert [waiting.pod.name for waiting in world.scheduler.on_the_way.waiting()] == ["travels"]
    gc.collect()
    decisions = [obj for obj in gc.get_objects() if isinstance(obj, Decision)]
    assert not [decision for decision in decisions if decision.pod.name == "travels"]
    await world.after(61)


async def test_a_plugin_is_told_of_changes_between_two_cycles() -> None:
    told: list[tuple[str, bool]] = []

    class Follows(Plugin):
        def start(self) -> None:
            self.handle.watch(Pod, added=lambda pod: told.append((pod.name, self.handle.synced)))

        def permit(self, state: Any, pod: Any, node_name: str) -> None: ...

    world = World(Follows)
    world.pods.add(make_pod("first"))
    assert told == []
    await world.settle()
    world.pods.add(make_pod("second"))
    await world.settle()
    assert told == [("first", False), ("second", True)]


async def test_periodic_work_of_plugins_begins_with_the_loop_and_ends_with_it() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    class Measuring(Plugin):
        def start(self) -> None:
            self.handle.every(30, self.measure)

        async def measure(self) -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        def score(self, state: Any, pod: Any, node: Any) -> int:
            return 0

    world = World(Measuring)
    await world.settle()
    assert not begun.is_set()
    running = asyncio.create_task(world.scheduler.run())
    await begun.wait()
    await world.scheduler.stop()
    await running
    assert ended.is_set()
