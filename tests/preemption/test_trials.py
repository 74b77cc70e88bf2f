"""Which trials of a preemption identical pods reuse, and which they do not."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from mooring.api import Node, Pod
from mooring.framework.features import FeatureGates
from mooring.framework.what_if import WhatIf
from mooring.preemption import dry_run
from mooring.testing import make_node, make_pod
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.cycle.decisions import told

_KINDS: tuple[dict[str, Any], ...] = (
    {"cpu": 3, "priority": 100},
    {"cpu": 3, "priority": 50},
    {"cpu": 2, "priority": 100, "host_ports": [80]},
    {"cpu": 3, "priority": 100, "labels": {"app": "a"}},
)


def make_scheduler(*, remembers: bool, nodes: int = 12) -> MemoryScheduler:
    """Return a scheduler of full nodes, with or without reuse of trials."""
    random = Random(nodes)
    objects: list[Node | Pod] = [make_node(f"n{i}", cpu=4) for i in range(nodes)]
    for i in range(nodes):
        for j in range(4):
            started = {"startTime": f"2026-01-0{1 + random.randrange(9)}T00:00:00Z"}
            status = started if random.random() < 0.5 else {}
            low = make_pod(f"low-{i}-{j}", cpu=1, node=f"n{i}", priority=j % 2, status=status)
            objects.append(low)
    gates = FeatureGates({"OpportunisticBatching": remembers})
    return MemoryScheduler(objects, features=gates, random=Random(7), reuse=False)


def add(scheduler: MemoryScheduler, name: str, **fields: Any) -> Pod:
    """Create a pending pod."""
    pod = make_pod(name, **fields)
    scheduler.cluster.add(pod)
    return pod


def story(scheduler: MemoryScheduler, seed: int) -> list[Any]:
    """Create, schedule and delete pods at random; return every decision."""
    random, said = Random(seed), []
    pending: list[str] = []
    pods = scheduler.cluster.pods
    for step in range(40):
        if random.random() < 0.7 or not pending:
            pending.append(add(scheduler, f"high-{step}", **random.choice(_KINDS)).metadata.name)
        name = random.choice(pending)
        pod = pods.get(name, "default")
        assert pod is not None
        said.append(told(drive(scheduler.schedule_one(pod))))
        current = pods.get(name, "default")
        if current is not None and current.spec.node_name:
            pending.remove(name)
        chance = random.random()
        if chance < 0.1:
            node = random.choice(list(scheduler.cache.nodes.infos())).node
            labels = {**node.metadata.labels, "step": str(step)}
            scheduler.cluster.add(replace(node, metadata=replace(node.metadata, labels=labels)))
        elif chance < 0.4:
            placed = [pod for pod in pods.list() if pod.spec.node_name]
            scheduler.cluster.delete(random.choice(placed))
        elif chance < 0.5 and len(pending) > 1:
            # The pod's nomination ends with it.
            gone = pods.get(pending.pop(random.randrange(len(pending))), "default")
            assert gone is not None
            scheduler.cluster.delete(gone)
    return said


@pytest.mark.parametrize("seed", range(12))
def test_decisions_are_those_that_are_made_without_a_memory(seed: int) -> None:
    remembering = story(make_scheduler(remembers=True), seed)
    assert remembering == story(make_scheduler(remembers=False), seed)
    assert any(decision["post_filter"] for decision in remembering)


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collect how many nodes each dry run had to try."""
    counts: list[int] = []

    class Counting(WhatIf):
        def __init__(self, nodes: Any, rows: Any) -> None:
            counts.append(len(rows))
            super().__init__(nodes, rows)

    monkeypatch.setattr(dry_run, "WhatIf", Counting)
    return counts


def preempt(scheduler: MemoryScheduler, name: str, **fields: Any) -> None:
    """Create a pod that fits nowhere, and schedule it once."""
    drive(scheduler.schedule_one(add(scheduler, name, **fields)))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, 1, id="the node that was cleared for the first is all that has changed"),
        pytest.param({"priority": 99}, 12, id="a pod of another priority is another kind"),
        pytest.param({"cpu": 2.5}, 12, id="a pod that asks for more or less is another kind"),
    ],
)
def test_a_second_pod_tries_only_what_has_changed(
    tried: list[int], fields: dict[str, Any], expected: int
) -> None:
    scheduler = make_scheduler(remembers=True)
    preempt(scheduler, "first", cpu=3, priority=100)
    preempt(scheduler, "second", **{"cpu": 3, "priority": 100, **fields})
    assert tried == [12, expected]


def test_a_node_that_changes_has_all_tried_again(tried: list[int]) -> None:
    scheduler = make_scheduler(remembers=True)
    preempt(scheduler, "first", cpu=3, priority=100)
    scheduler.cluster.add(make_node("n0", cpu=4, disk="ssd"))
    preempt(scheduler, "second", cpu=3, priority=100)
    assert tried == [12, 12]
