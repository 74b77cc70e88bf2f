"""Searching placements together leads to the same nodes and texts as trying one after another."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from mooring.api import KubeObject
from mooring.config.load import load_config_data
from mooring.cycle.placement_search import Course
from mooring.cycle.scheduling_cycle import by_name
from mooring.framework.features import FeatureGates
from mooring.framework.placements import Placement
from mooring.framework.plugin import Plugin
from mooring.framework.status import Status
from mooring.registry import default_registry
from mooring.testing import make_node, make_pod, make_pod_group
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from mooring.virtual.outcomes import Outcomes
from mooring.virtual.simulation import schedule_all

RACK = "example.com/rack"
GATES = FeatureGates({"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True})


class FirstOfEquals(random.Random):
    """A random source that takes the first of several, so that two runs choose alike."""

    def choice(self, seq: Sequence[Any]) -> Any:
        return seq[0]


def run(
    objects: Sequence[KubeObject],
    *plugins: type[Plugin],
    together: bool = True,
    disabled: Sequence[str] = (),
) -> tuple[MemoryScheduler, Outcomes]:
    """Schedule everything, with placements searched together or not."""
    registry = default_registry()
    for plugin in plugins:
        registry.register(plugin)
    enabled = [{"name": plugin.name} for plugin in plugins]
    points = {"enabled": enabled, "disabled": [{"name": name} for name in disabled]}
    config = load_config_data(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"plugins": {"multiPoint": points}}],
        },
        registry=registry,
        feature_gates=GATES,
    )
    scheduler = MemoryScheduler(
        objects,
        config=config,
        registry=registry,
        features=GATES,
        random=FirstOfEquals(7),
        choose=by_name,
        reuse=together,
    )
    outcomes = drive(schedule_all(scheduler))
    scheduler.cache.validate()
    return scheduler, outcomes


def told(outcomes: Outcomes) -> dict[str, tuple[str, str]]:
    """Return the node and the message of each pod."""
    return {one.pod.name: (one.node_name, one.message) for one in outcomes.decisions.values()}


def gang(name: str, pods: Sequence[dict[str, Any]], min_count: int = 0) -> list[KubeObject]:
    group = make_pod_group(name, min_count=min_count or len(pods), topology=RACK)
    members = [make_pod(f"{name}-{i}", group=name, **pod) for i, pod in enumerate(pods)]
    return [group, *members]


def asked(scheduler: MemoryScheduler, plugin: str, point: str) -> int:
    """Return how many nodes a plugin was asked about."""
    return int(scheduler.metrics.plugin_evaluations[plugin, point, "default-scheduler"].value)


def random_cluster(seed: int) -> list[KubeObject]:
    """Return racks of unlike nodes, some in use, and gangs whose pods are of a few kinds."""
    rng = random.Random(seed)
    objects: list[KubeObject] = []
    racks = rng.randint(2, 5)
    for number in range(rng.randint(racks, 14)):
        taints = ["soft=1:PreferNoSchedule"] if rng.random() < 0.3 else []
        labels = {RACK: f"r{number % racks}", "disk": rng.choice(["ssd", "hdd"])}
        name = f"n{number}"
        cpu, memory = rng.choice([2, 4, 8]), rng.choice([4, 8])
        objects.append(make_node(name, cpu=cpu, memory=f"{memory}Gi", labels=labels, taints=taints))
        if rng.random() < 0.5:
            objects.append(make_pod(f"old-{number}", node=name, cpu=rng.randint(1, 2)))
    kinds: list[dict[str, Any]] = [
        {"cpu": 1, "memory": "1Gi"},
        {"cpu": 2},
        {"cpu": 1, "node_selector": {"disk": "ssd"}},
        {"cpu": 1, "host_ports": [8080]},
    ]
    for number in range(rng.randint(1, 3)):
        drawn = [rng.choice(kinds[: rng.randint(1, 4)]) for _ in range(rng.randint(1, 6))]
        objects += gang(f"g{number}", drawn, rng.randint(1, len(drawn)))
    return objects


@pytest.mark.parametrize("seed", range(60))
def test_the_outcome_is_that_of_one_placement_after_another(seed: int) -> None:
    objects = random_cluster(seed)
    _, together = run(objects)
    _, apart = run(objects, together=False)
    assert told(together) == told(apart)


def test_nodes_are_asked_about_once_for_all_placements() -> None:
    nodes = [make_node(f"n{i}", cpu=8, labels={RACK: f"r{i % 10}"}) for i in range(100)]
    objects = [*nodes, *gang("g", [{"cpu": 1}] * 8)]
    scheduler, outcomes = run(objects)
    assert all(node for node, _ in told(outcomes).values())
    # All nodes once; for each pod but the last one node of each of ten racks; and at the end, the
    # node that each pod goes to.
    assert asked(scheduler, "NodeResourcesFit", "Filter") == 100 + 7 * 10 + 8
    assert asked(scheduler, "NodeResourcesFit", "Score") == 100 + 7 * 10
    scheduler, _ = run(objects, together=False)
    assert asked(scheduler, "NodeResourcesFit", "Filter") == 8 * 100


class Marked(Plugin):
    """A plugin that prefers nodes with fewer pods, and normalizes."""

    name = "Marked"

    def pre_score(self, state: Any, pod: Any, nodes: Any) -> None:
        state.write("Marked", int(nodes.pod_count.max()))

    def score_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        return nodes.pod_count.astype(np.int64)

    def normalize_score(self, state: Any, pod: Any, scores: Any) -> Any:
        return (state.read("Marked") - scores) * 100 // (state.read("Marked") or 1)

    def sign_pod(self, pod: Any) -> Any:
        return ()


class Selecting(Plugin):
    """A plugin that refuses a node with another pod of the same label."""

    name = "Selecting"

    def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Iterator[Any]:
        from mooring.api.labels import EVERYTHING

        yield Status.unschedulable("taken"), nodes.pods_matching(None, EVERYTHING) > 1

    def sign_pod(self, pod: Any) -> Any:
        return ()


class Overlapping(Plugin):
    """A plugin whose placements share a node."""

    name = "Overlapping"

    def generate_placements(self, state: Any, group: Any, nodes: Any) -> Any:
        names = np.array(nodes.names)
        return [Placement(one, (names == "n0") | (names == one)) for one in ("n1", "n2", "n3")]


@pytest.mark.parametrize("plugin", [Marked, Selecting], ids=["a score", "a filter"])
@pytest.mark.parametrize("seed", range(8))
def test_plugins_see_the_pods_that_were_placed_before(plugin: type[Plugin], seed: int) -> None:
    objects = random_cluster(seed)
    _, together = run(objects, plugin)
    _, apart = run(objects, plugin, together=False)
    assert told(together) == told(apart)


def test_placements_may_share_nodes() -> None:
    objects: list[KubeObject] = [make_node(f"n{i}", cpu=2 + i) for i in range(4)]
    objects += gang("g", [{"cpu": 1}] * 6)
    generator = "TopologyPlacementGenerator"
    scheduler, together = run(objects, Overlapping, disabled=[generator])
    _, apart = run(objects, Overlapping, together=False, disabled=[generator])
    assert told(together) == told(apart)
    assert {node for node, _ in told(together).values()} == {"n0", "n2"}
    assert asked(scheduler, "NodeResourcesFit", "Filter") < 6 * 6


def refusing(**methods: Any) -> type[Plugin]:
    """Return a plugin that takes part in the cycle in some way that forbids a common search."""

    class Odd(Plugin):
        name = "Odd"

    for name, method in methods.items():
        setattr(Odd, name, method)
    return Odd


def nothing(*_: Any) -> None:
    return None


@pytest.mark.parametrize(
    "plugin",
    [
        refusing(reserve=nothing, unreserve=nothing),
        refusing(pre_filter=nothing),
        refusing(filter_nodes=lambda *_: ()),
        refusing(score_nodes=lambda self, state, pod, nodes: 100 - nodes.pod_count),
    ],
    ids=[
        "it reserves",
        "its PreFilter is not signed",
        "its Filter is not signed",
        "its Score is not signed",
    ],
)
def test_a_plugin_that_does_not_sign_is_asked_placement_by_placement(plugin: type[Plugin]) -> None:
    nodes = [make_node(f"n{i}", cpu=8, labels={RACK: f"r{i % 2}"}) for i in range(10)]
    objects = [*nodes, *gang("g", [{"cpu": 1}] * 3)]
    scheduler, outcomes = run(objects, plugin)
    assert all(node for node, _ in told(outcomes).values())
    assert asked(scheduler, "NodeResourcesFit", "Filter") >= 3 * 10


# How far a group has come.


def course(minimum: int, scheduled: int, remaining: int) -> Course:
    def feasible(scheduled: int, remaining: int) -> Status | None:
        if scheduled + remaining < minimum:
            return Status.unschedulable("too few")
        return Status.wait(0.0, "not yet") if scheduled < minimum else None

    return Course(feasible, scheduled, remaining)


def test_a_course_is_over_at_once_if_there_are_too_few_pods() -> None:
    one = course(3, 0, 2)
    assert one.is_over
    assert one.end() == Status.unschedulable("pod group is unschedulable", "too few")


def test_a_course_is_over_when_too_few_are_left() -> None:
    one = course(3, 0, 3)
    assert not one.is_over
    one.tried(fits=False)
    assert one.is_over
    assert one.end() == Status.unschedulable("too few")


def test_pods_beyond_the_minimum_are_tried_too() -> None:
    one = course(1, 0, 2)
    one.tried(fits=True)
    assert not one.is_over
    one.tried(fits=False)
    assert (one.end(), one.placed) == (None, 1)


def test_a_course_without_a_placed_pod_is_a_refusal() -> None:
    one = course(2, 2, 1)
    one.tried(fits=False)
    assert one.end() == Status.unschedulable("pod group is unschedulable")


def test_a_plugin_that_still_waits_at_the_end_has_refused() -> None:
    one = Course(lambda scheduled, remaining: Status.wait(0.0, "later"), 0, 1)
    one.tried(fits=True)
    assert one.end() == Status.unschedulable("pod group is unschedulable", "later")
