"""Pod groups among the pods that are scheduled in memory."""

from __future__ import annotations

from typing import Any

from mooring.api import KubeObject, WorkloadPodGroup
from mooring.framework.decision import Outcome
from mooring.framework.features import FeatureGates
from mooring.testing import make_node, make_pod, make_pod_group
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from mooring.virtual.outcomes import Outcomes
from mooring.virtual.simulation import schedule_all

GATES = FeatureGates({"GenericWorkload": True})
NODES = (make_node("a", cpu=2), make_node("b", cpu=2))


def gang(name: str, count: int, min_count: int | None = None, **options: Any) -> list[KubeObject]:
    group = make_pod_group(name, min_count=min_count or count, priority=options.get("priority"))
    options.setdefault("cpu", 1)
    return [group, *(make_pod(f"{name}-{index}", group=name, **options) for index in range(count))]


def run(*objects: KubeObject) -> tuple[MemoryScheduler, Outcomes]:
    scheduler = MemoryScheduler([*NODES, *objects], features=GATES)
    outcomes = drive(schedule_all(scheduler))
    scheduler.cache.validate()
    return scheduler, outcomes


def results(outcomes: Outcomes) -> dict[str, Outcome]:
    return {decision.pod.name: decision.outcome for decision in outcomes.decisions.values()}


def test_a_gang_that_fits_is_placed_as_a_whole() -> None:
    scheduler, outcomes = run(*gang("g", 4))
    assert set(results(outcomes).values()) == {Outcome.SCHEDULED}
    group = scheduler.cluster.lister(WorkloadPodGroup).get("g", "default")
    assert group is not None
    assert [one.reason for one in group.status.conditions] == ["Scheduled"]


def test_of_two_gangs_one_is_placed_and_the_other_says_why_not() -> None:
    _, outcomes = run(*gang("x", 3), *gang("y", 3))
    found = results(outcomes)
    assert [found[f"x-{index}"] for index in range(3)] == [Outcome.SCHEDULED] * 3
    assert {found[f"y-{index}"] for index in range(3)} == {Outcome.UNSCHEDULABLE}
    messages = [one.message for one in outcomes.decisions.values() if one.pod.name == "y-0"]
    assert "minCount (3) cannot be satisfied: 1 scheduled" in messages[0]


def test_gated_and_groupless_pods_say_what_they_wait_for() -> None:
    held = make_pod("h-1", group="h", gates=["example.com/wait"])
    _, outcomes = run(
        *gang("g", 2, min_count=3),
        make_pod_group("h"),
        make_pod("h-0", group="h"),
        held,
        make_pod("x", group="none"),
    )
    assert set(results(outcomes).values()) == {Outcome.GATED}
    reasons = {
        decision.pod.name: decision.pre_enqueue.message
        for decision in outcomes.decisions.values()
        if decision.pre_enqueue is not None
    }
    assert reasons["h-0"] == reasons["h-1"] == "waiting for scheduling gates: [example.com/wait]"
    assert '"none"' in reasons["x"]
    assert "minCount" in reasons["g-0"]


def test_preemption_by_a_gang_is_carried_out() -> None:
    low = [make_pod(f"low-{name}", node=name, cpu=2, priority=1) for name in "ab"]
    _, outcomes = run(*low, *gang("g", 2, cpu=2, priority=9))
    assert sorted(pod.name for pod in outcomes.evicted) == ["low-a", "low-b"]
    assert set(results(outcomes).values()) == {Outcome.SCHEDULED}


def test_a_group_whose_pods_do_not_agree_is_given_up() -> None:
    _, outcomes = run(make_pod_group("g", priority=5), make_pod("p", group="g", priority=1))
    (decision,) = outcomes.decisions.values()
    assert decision.outcome is Outcome.ERROR
    assert "should have the same priority" in decision.message
