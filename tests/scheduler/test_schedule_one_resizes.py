"""Pods on a node that preempt for a resize that the kubelet has deferred."""

from __future__ import annotations

from typing import Any

from mooring.api import Pod
from mooring.queue.queued_pod_info import Place
from mooring.testing import make_pod, make_pod_group
from tests.app.world import World, make_node

GATE = {"InPlacePodVerticalScalingSchedulerPreemption": True}
CONDITION = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}


def grown(cpu: int, deferred: bool = True, **options: Any) -> Pod:
    """Return a pod on node a that is to have so much cpu."""
    status = {"conditions": [CONDITION]} if deferred else {}
    meta = {"uid": "grown", "resourceVersion": str(cpu)}
    return make_pod("grown", node="a", cpu=cpu, priority=9, metadata=meta, status=status, **options)


def world(*, gates: dict[str, bool] = GATE) -> World:
    made = World(gates=gates)
    for name in ("a", "b"):
        made.nodes.add(make_node(name, cpu=4))
    for name, node in (("low", "a"), ("far", "b")):
        pod = make_pod(name, node=node, cpu=2, priority=1, metadata={"uid": name})
        made.pods.add(pod)
    return made


def names(made: World) -> set[str]:
    return {pod.name for pod in made.pods}


async def test_a_pod_that_is_to_grow_preempts_on_its_own_node() -> None:
    made = world()
    made.pods.add(grown(2, deferred=False))
    await made.settle()
    assert names(made) == {"low", "far", "grown"}
    made.pods.update(grown(4))
    await made.settle()
    assert names(made) == {"far", "grown"}
    told = [entry for entry in made.client.writes if entry[0] == "grown"]
    assert told == []


async def test_a_pod_that_fits_waits_for_the_kubelet_and_then_leaves_the_queue() -> None:
    made = world()
    made.pods.add(grown(2))
    await made.settle()
    queue = made.scheduler.queue
    assert [pod.name for pod in queue.pods_in(Place.UNSCHEDULABLE)] == ["grown"]
    assert names(made) == {"low", "far", "grown"}
    made.scheduler.cache.validate()
    made.pods.update(grown(3))
    made.clock.advance(60)
    await made.settle()
    assert names(made) == {"far", "grown"}
    made.pods.update(grown(3, deferred=False))
    await made.settle()
    assert queue.pods_in(Place.UNSCHEDULABLE) == [] and queue.count_queued() == 0


async def test_without_the_gate_nothing_happens() -> None:
    made = world(gates={})
    made.pods.add(grown(4))
    await made.settle()
    assert names(made) == {"low", "far", "grown"}
    assert made.scheduler.cycles == 0


async def test_a_pod_that_is_deleted_leaves_the_queue() -> None:
    made = world()
    made.pods.add(grown(2))
    await made.settle()
    made.pods.delete("grown", "default")
    await made.settle()
    assert made.scheduler.queue.pods_in(Place.UNSCHEDULABLE) == []


async def test_a_pod_of_a_group_is_resized_alone() -> None:
    made = world(gates={**GATE, "GenericWorkload": True})
    made.groups.add(make_pod_group("g", priority=9))
    made.pods.add(grown(4, group="g"))
    await made.settle()
    assert names(made) == {"far", "grown"}
