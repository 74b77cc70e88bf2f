"""Copies of the built-in plugins with other names decide as the built-in ones.

So the scheduler treats no plugin specially because of its name.
"""

from __future__ import annotations

import pytest

from mooring.api import KubeObject
from mooring.config.load import default_config
from mooring.framework.features import FeatureGates
from mooring.registry import default_registry
from mooring.testing import make_node, make_pod, make_pod_group
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from mooring.virtual.simulation import schedule_all
from tests.app.world import World
from tests.conformance import replay
from tests.conformance.recordings import SCENARIOS, record
from tests.conformance.test_vectors import differences
from tests.support.strangers import as_built_ins, by_strangers, registry

NEWEST = max(scenario[0] for scenario in SCENARIOS)
#: One of so many scenarios of each group is replayed.
EVERY = 4


@pytest.mark.parametrize("group", sorted({one[1] for one in SCENARIOS if one[0] == NEWEST}))
def test_strangers_decide_as_recorded(group: str) -> None:
    numbers = [one[2] for one in SCENARIOS if one[:2] == (NEWEST, group)]
    for number in numbers[::EVERY]:
        scenario, expected = record(NEWEST, group, number)
        run = replay.Replay(scenario, NEWEST, by_strangers=True)
        if run.is_sequence:
            recorded = expected["sequence"]
            ours = as_built_ins(run.sequence(recorded))
        else:
            recorded, ours = [expected], [as_built_ins(run.one())]
        pairs = zip(ours, recorded, strict=True)
        found = [one for entry, wanted in pairs for one in differences(entry, wanted)]
        assert (number, found) == (number, [])


def gang(name: str, count: int, **options: int) -> list[KubeObject]:
    pods = (make_pod(f"{name}-{index}", group=name, **options) for index in range(count))
    return [make_pod_group(name, min_count=count, priority=options.get("priority")), *pods]


def decided(*, use_strangers: bool) -> dict[str, tuple[str, str, str]]:
    """Place gangs, one of which preempts; return the outcome, node and message of each pod."""
    gates = FeatureGates({"GenericWorkload": True})
    config = default_config(registry=default_registry(), feature_gates=gates)
    nodes = [make_node(name, cpu=2) for name in "ab"]
    low = [make_pod(f"low-{name}", node=name, cpu=2, priority=0) for name in "ab"]
    scheduler = MemoryScheduler(
        [*nodes, *low, *gang("high", 2, cpu=2, priority=9), *gang("large", 3, cpu=2, priority=5)],
        config=by_strangers(config) if use_strangers else config,
        registry=registry() if use_strangers else default_registry(),
        features=gates,
    )
    outcomes = drive(schedule_all(scheduler))
    found: dict[str, tuple[str, str, str]] = as_built_ins(
        {
            one.pod.name: (one.outcome.value, one.node_name, one.message)
            for one in outcomes.decisions.values()
        }
    )
    return found


def test_gangs_of_strangers_preempt_and_are_placed_alike() -> None:
    built_in = decided(use_strangers=False)
    assert {built_in[f"high-{index}"][0] for index in (0, 1)} == {"scheduled"}
    assert built_in["large-0"][0] == "unschedulable"
    assert decided(use_strangers=True) == built_in


async def test_pods_that_grow_preempt_by_strangers() -> None:
    made = World(gates={"InPlacePodVerticalScalingSchedulerPreemption": True}, by_strangers=True)
    made.nodes.add(make_node("a", cpu=4))
    made.pods.add(make_pod("low", node="a", cpu=2, priority=1, metadata={"uid": "low"}))
    waits = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}
    meta, status = {"uid": "grown"}, {"conditions": [waits]}
    made.pods.add(make_pod("grown", node="a", cpu=4, priority=9, metadata=meta, status=status))
    await made.settle()
    assert {pod.name for pod in made.pods} == {"grown"}
