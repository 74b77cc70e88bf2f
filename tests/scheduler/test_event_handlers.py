from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mooring import ActionType, ClusterEvent, EventResource, Plugin, Status
from mooring.api import CustomResource, PersistentVolume, Pod, decode_as
from mooring.queue.queued_pod_info import Place
from mooring.scheduler.event_handlers import POD_MOVED
from tests.app.world import World, make_node, make_pod


def on_node(pod: Pod, node_name: str) -> Pod:
    return replace(pod, spec=replace(pod.spec, node_name=node_name))


def newer(pod: Pod, **status: Any) -> Pod:
    version = str(int(pod.metadata.resource_version or 0) + 1)
    metadata = replace(pod.metadata, resource_version=version)
    return replace(pod, metadata=metadata, status=replace(pod.status, **status))


class Refuses(Plugin):
    """Refuse every pod, and wait for pods to leave, volumes to come, and widgets to change."""

    def filter(self, state: Any, pod: Pod, node: Any) -> Status:
        return Status.unschedulable("no")

    def events_to_register(self) -> list[ClusterEvent]:
        return [
            ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE),
            ClusterEvent(EventResource.PERSISTENT_VOLUME, ActionType.ADD),
            ClusterEvent("widgets.v1.example.com", ActionType.UPDATE),
        ]


@pytest.fixture
async def world() -> World:
    """Give a scheduler that has refused one pod."""
    world = World(Refuses)
    world.nodes.add(make_node("n"))
    world.pods.add(make_pod("p", priority=5))
    await world.settle()
    assert place(world) is Place.UNSCHEDULABLE
    return world


def place(world: World) -> Place:
    """Take in what happened, without trying the pod."""
    world.scheduler.inbox.drain()
    found: Place = world.queued(make_pod("p")).place
    return found


async def test_nodes_reach_the_cache() -> None:
    world = World()
    world.nodes.add(make_node("a"))
    world.nodes.add(make_node("b"))
    world.nodes.add(make_node("b", cpu="9"))
    world.nodes.delete("a")
    await world.settle()
    (node,) = world.scheduler.cache.nodes.infos()
    assert (node.name, node.allocatable["cpu"]) == ("b", 9000)


async def test_pods_of_other_schedulers_count_only_where_they_run() -> None:
    world = World()
    world.nodes.add(make_node("n"))
    pod = make_pod("p", scheduler_name="another")
    world.pods.add(pod)
    await world.settle()
    assert world.queued(pod) is None
    world.pods.add(on_node(pod, "n"))
    await world.settle()
    assert [info.key for info in world.scheduler.cache.pods] == ["default/p"]
    world.pods.delete("p", "default")
    await world.settle()
    assert list(world.scheduler.cache.pods) == []


async def test_a_pod_that_somebody_else_binds_leaves_the_queue(world: World) -> None:
    pod = make_pod("p", priority=5)
    world.pods.add(on_node(newer(pod), "n"))
    await world.settle()
    assert world.queued(pod) is None
    assert [info.key for info in world.scheduler.cache.pods] == ["default/p"]


async def test_a_pod_whose_node_changes_is_logged_and_believed(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """A server that was restored from a backup may say that a bound pod is pending."""
    pod = make_pod("p", priority=5)
    world.pods.add(on_node(newer(pod), "n"))
    world.pods.add(on_node(newer(pod), "m"))
    await world.settle()
    (info,) = world.scheduler.cache.pods
    assert info.pod.spec.node_name == "m"
    world.pods.add(newer(newer(pod)))
    await world.settle()
    assert list(world.scheduler.cache.pods) == []
    assert world.queued(pod) is not None
    lines = [record for record in caplog.records if record.getMessage() == POD_MOVED]
    assert [(one.kv["before"], one.kv["node"]) for one in lines] == [("n", "m"), ("m", "")]  # type: ignore[attr-defined]


async def test_a_pod_made_again_under_its_name_is_another_pod(world: World) -> None:
    again = make_pod("p")
    again = replace(again, metadata=replace(again.metadata, uid="another"))
    world.pods.add(again)
    await world.settle()
    assert world.queued(again).pod.metadata.uid == "another"


async def test_a_pod_that_leaves_its_node_is_a_chance(world: World) -> None:
    world.pods.add(on_node(make_pod("q"), "n"))
    assert place(world) is Place.UNSCHEDULABLE
    world.pods.delete("q", "default")
    assert place(world) is Place.BACKOFF


@pytest.mark.parametrize(
    ("priority", "expected"),
    [(5, Place.BACKOFF), (4, Place.UNSCHEDULABLE)],
    ids=["for pods of its priority", "not for pods above it"],
)
@pytest.mark.parametrize("ends", ["changed", "deleted"])
async def test_a_nomination_that_ends_is_a_chance(
    world: World, priority: int, expected: Place, ends: str
) -> None:
    nominated = newer(make_pod("q", priority=priority), nominated_node_name="n")
    world.pods.add(nominated)
    assert place(world) is Place.UNSCHEDULABLE
    if ends == "changed":
        world.pods.add(newer(nominated, nominated_node_name=""))
    else:
        world.pods.delete("q", "default")
    assert place(world) is expected


async def test_only_what_plugins_wait_for_is_a_chance(world: World) -> None:
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    widgets = world.informers.lister("widgets.v1.example.com")
    widgets.add(decode_as(widget, CustomResource))
    assert place(world) is Place.UNSCHEDULABLE
    widgets.add(decode_as({**widget, "spec": {"size": 2}}, CustomResource))
    assert place(world) is Place.BACKOFF


async def test_a_volume_is_a_chance(world: World) -> None:
    world.informers.lister(PersistentVolume).add(
        decode_as({"metadata": {"name": "v"}}, PersistentVolume)
    )
    assert place(world) is Place.BACKOFF
