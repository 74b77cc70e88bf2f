"""The over-reserve cache: no order of events makes it overcommit a cell."""

from __future__ import annotations

import random
from typing import Any

import pytest
from msgspec.structs import replace

from mooring import CycleState
from mooring.api import FinishedPod, Pod
from mooring.contrib.node_resource_topology import NodeResourceTopologyMatch
from mooring.contrib.node_resource_topology.args import TopologyCacheArgs, TopologyMatchArgs
from mooring.contrib.node_resource_topology.fingerprint import ATTRIBUTE, fingerprint
from mooring.contrib.node_resource_topology.over_reserve import is_exclusive
from mooring.testing import make_node, make_pod
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.contrib.node_resource_topology.generated import topology

NODE = "w1"
PERIOD = 5


def guaranteed(name: str, cpu: str, **more: Any) -> Pod:
    resources = {"requests": {"cpu": cpu, "memory": "1Mi"}, "limits": {"cpu": cpu, "memory": "1Mi"}}
    spec = {"containers": [{"name": "c", "image": "a", "resources": resources}]}
    return make_pod(name, spec=spec, **more)


class World:
    """A node whose kubelet gives each pod one cell, an agent that reports late, and a scheduler."""

    def __init__(self, seed: int, scope: str = "pod", **cache: Any) -> None:
        self.rng = random.Random(seed)
        self.scope = scope
        #: The cpus that each cell has left.
        self.cells = [self.rng.randint(1, 8) for _ in range(self.rng.randint(1, 4))]
        #: The cell and the cpus of each pod that the kubelet has admitted.
        self.admitted: dict[str, tuple[int, int]] = {}
        self.reserved: list[Pod] = []
        self.bound: list[Pod] = []
        self.finished: list[str] = []
        self.reports = [self._report()]
        self.scheduler = MemoryScheduler([make_node(NODE, cpu=64), self.reports.pop()])
        args = TopologyMatchArgs(
            cache_resync_period_seconds=PERIOD, cache=TopologyCacheArgs(**cache)
        )
        handle = next(iter(self.scheduler.profiles.values())).handle
        self.plugin = NodeResourceTopologyMatch(args, handle)
        self.plugin.start()
        self.placed = self.refused = 0

    def _report(self) -> Any:
        names = [("default", name) for name in self.admitted]
        cells = [{"cpu": str(left), "memory": "1Gi"} for left in self.cells]
        return topology(NODE, cells, scope=self.scope, attributes={ATTRIBUTE: fingerprint(names)})

    # What may happen, in any order.

    def arrive(self) -> None:
        pod = guaranteed(f"p{self.placed + self.refused}", str(self.rng.randint(1, 4)))
        self.scheduler.cluster.add(pod)
        node = self.scheduler.cache.nodes.info(0)
        if self.plugin.filter(CycleState(), pod, node) is not None:
            self.refused += 1
            return
        self.placed += 1
        self.plugin.reserve(CycleState(), pod, NODE)
        self.reserved.append(pod)

    def give_up(self) -> None:
        if self.reserved:
            pod = self.reserved.pop(self.rng.randrange(len(self.reserved)))
            self.plugin.unreserve(CycleState(), pod, NODE)

    def bind(self) -> None:
        if self.reserved:
            pod = self.reserved.pop(self.rng.randrange(len(self.reserved)))
            pod = replace(pod, spec=replace(pod.spec, node_name=NODE))
            self.scheduler.cluster.add(pod)
            self.bound.append(pod)

    def admit(self) -> None:
        if not self.bound:
            return
        pod = self.bound.pop(0)
        cpus = int(pod.spec.containers[0].resources.requests["cpu"])
        room = [index for index, left in enumerate(self.cells) if left >= cpus]
        assert room, f"no cell has {cpus} cpus left: {self.cells}"
        cell = self.rng.choice(room)
        self.cells[cell] -= cpus
        self.admitted[pod.name] = (cell, cpus)

    def run(self) -> None:
        waiting = [name for name in self.admitted if self._phase(name) == "Pending"]
        if waiting:
            pod = self._pod(self.rng.choice(waiting))
            assert pod is not None
            self.scheduler.cluster.add(replace(pod, status=replace(pod.status, phase="Running")))

    def finish(self) -> None:
        running = [name for name in self.admitted if self._phase(name) == "Running"]
        if running:
            name = self.rng.choice(running)
            cell, cpus = self.admitted.pop(name)
            self.cells[cell] += cpus
            self.finished.append(name)

    def succeed(self) -> None:
        """Report that a pod, whose cell is free already, has succeeded."""
        running = [name for name in self.finished if self._phase(name) == "Running"]
        if running:
            pod = self._pod(self.rng.choice(running))
            assert pod is not None
            self.scheduler.cluster.add(replace(pod, status=replace(pod.status, phase="Succeeded")))

    def forget(self) -> None:
        if self.finished:
            pod = self._pod(self.finished.pop(0))
            assert pod is not None
            self.scheduler.cluster.delete(pod)

    def report(self) -> None:
        self.reports.append(self._report())

    def deliver(self) -> None:
        if self.reports:
            self.scheduler.cluster.add(self.reports.pop(0))

    def resync(self) -> None:
        self.scheduler.clock.advance(PERIOD)
        drive(self.scheduler.settle())

    def _pod(self, name: str) -> Pod | None:
        cluster = self.scheduler.cluster
        found: Pod | None = cluster.pods.get(name, "default")
        return found or cluster.store(FinishedPod).get(name, "default")

    def _phase(self, name: str) -> str:
        pod = self._pod(name)
        return "" if pod is None else pod.status.phase or "Pending"


HAPPENINGS = (
    *("arrive", "arrive", "bind", "bind", "admit", "admit", "run", "run", "give_up", "finish"),
    *("succeed", "forget", "report", "deliver", "resync"),
)


@pytest.mark.parametrize("mode", ["Dedicated", "Shared"])
@pytest.mark.parametrize("scope", ["pod", "container"])
def test_no_order_of_events_overcommits_a_cell(mode: str, scope: str) -> None:
    placed = 0
    for seed in range(60):
        world = World(seed, scope, informer_mode=mode)
        for _ in range(120):
            getattr(world, world.rng.choice(HAPPENINGS))()
        while world.bound:
            world.admit()
        placed += world.placed
    assert placed > 200, "the cache must not refuse everything either"


def test_what_pods_took_is_free_again_once_a_report_shows_that_they_are_gone() -> None:
    world = _with_cells([4])
    first = guaranteed("a", "3")
    world.scheduler.cluster.add(first)
    node = world.scheduler.cache.nodes.info(0)
    world.plugin.reserve(CycleState(), first, NODE)
    assert world.plugin.filter(CycleState(), guaranteed("b", "3"), node) is not None
    world.reserved.append(first)
    for step in ("bind", "admit", "run", "report", "deliver", "resync"):
        getattr(world, step)()
    assert world.plugin.filter(CycleState(), guaranteed("b", "1"), node) is None
    assert world.plugin.filter(CycleState(), guaranteed("b", "3"), node) is not None


@pytest.mark.parametrize(
    ("mode", "covered", "shown"),
    [
        ("Dedicated", ["a", "b"], True),
        ("Dedicated", ["b"], False),
        ("Shared", ["a", "b"], False),
        ("Shared", ["b"], True),
    ],
    ids=[
        "a finished pod counts as long as it exists",
        "a report without it does not show all pods",
        "those that do not run do not count",
        "a report of those that run shows all pods",
    ],
)
def test_finished_pods_that_still_exist(mode: str, covered: list[str], shown: bool) -> None:
    world = World(0, informer_mode=mode)
    cluster = world.scheduler.cluster
    node = world.scheduler.cache.nodes.info(0)
    for name, phase in (("a", "Succeeded"), ("b", "Running")):
        pod = guaranteed(name, "1", node=NODE)
        world.plugin.reserve(CycleState(), pod, NODE)
        cluster.add(replace(pod, status=replace(pod.status, phase=phase)))
    assert world.plugin.filter(CycleState(), guaranteed("c", "64"), node) is not None
    names = [("default", name) for name in covered]
    report = topology(
        NODE,
        [{"cpu": "64", "memory": "1Gi"}],
        scope="pod",
        attributes={ATTRIBUTE: fingerprint(names)},
    )
    cluster.add(report)
    world.resync()
    taken = world.plugin.filter(CycleState(), guaranteed("c", "64"), node) is None
    assert taken is shown


def test_a_finished_pod_of_another_scheduler_makes_its_node_outdated() -> None:
    world = World(0)
    pod = make_pod("x", cpu="100m", node=NODE, spec={"schedulerName": "other"})
    world.scheduler.cluster.add(replace(pod, status=replace(pod.status, phase="Succeeded")))
    node = world.scheduler.cache.nodes.info(0)
    assert world.plugin.filter(CycleState(), guaranteed("c", "1"), node) is not None


def _with_cells(cells: list[int]) -> World:
    for seed in range(1000):
        world = World(seed)
        if world.cells == cells:
            return world
    raise AssertionError("no such world")


@pytest.mark.parametrize(
    ("detect", "pod", "passes"),
    [
        pytest.param("All", make_pod("x", cpu="100m", node=NODE), False, id="any pod counts"),
        pytest.param(
            "OnlyExclusiveResources",
            make_pod("x", cpu="100m", node=NODE),
            True,
            id="a pod that shares its cpus does not count",
        ),
        pytest.param(
            "OnlyExclusiveResources",
            guaranteed("x", "1", node=NODE),
            False,
            id="a pod with a cpu of its own counts",
        ),
        pytest.param("None", guaranteed("x", "1", node=NODE), True, id="nothing is detected"),
    ],
)
def test_pods_of_other_schedulers_make_their_node_outdated(
    detect: str, pod: Pod, passes: bool
) -> None:
    world = World(3, foreign_pods_detect=detect)
    foreign = replace(pod, spec=replace(pod.spec, scheduler_name="other"))
    world.scheduler.cluster.add(foreign)
    node = world.scheduler.cache.nodes.info(0)
    status = world.plugin.filter(CycleState(), guaranteed("b", "1"), node)
    assert (status is None) == passes
    if not passes:
        assert status is not None
        assert status.reasons == ("invalid node topology data",)


@pytest.mark.parametrize(
    ("pod", "exclusive"),
    [
        pytest.param(guaranteed("p", "2"), True, id="whole cpus, Guaranteed"),
        pytest.param(make_pod("p", cpu="2"), False, id="whole cpus, Burstable"),
        pytest.param(make_pod("p"), False, id="BestEffort"),
        pytest.param(make_pod("p", requests={"example.com/gpu": 1}), True, id="a device"),
    ],
)
def test_pods_with_something_for_themselves_are_exclusive(pod: Pod, exclusive: bool) -> None:
    assert is_exclusive(pod) == exclusive
