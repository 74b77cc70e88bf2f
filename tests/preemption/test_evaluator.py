"""The machinery of preemption under policies of other plugins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from mooring import CycleState, NodeInfo, Plugin, PodInfo, Status
from mooring.api import Pod, PodDisruptionBudget
from mooring.errors import ApiError
from mooring.framework.decision import Candidate, Decision, NodeStatuses
from mooring.framework.preemption import PreemptionPolicy
from mooring.testing import make_pod as make_labelled
from mooring.virtual.driving import drive
from mooring.virtual.memory_client import MemoryClient
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.cycle.scheduling import make_nodes, make_pod, make_scheduler, plugin
from tests.plugins.clusters import make

ONE_EACH = plugin(
    "OneEach",
    filter=lambda state, pod, node: Status.unschedulable("taken") if node.pods else None,
)


def preempting(policy: type[PreemptionPolicy]) -> type[Plugin]:
    """Return a plugin that preempts under a policy."""

    class Preempting(Plugin):
        def start(self) -> None:
            self.preemptor = self.handle.preemptor(self.name, policy(self.handle))

        async def post_filter(self, state: Any, pod: Pod, statuses: Any) -> Any:
            return await self.preemptor.preempt(state, pod, statuses)

    return Preempting


def scheduler_of(policy: type[PreemptionPolicy], *pods: Pod) -> MemoryScheduler:
    objects = [*make_nodes("n1", "n2"), *pods]
    return make_scheduler([ONE_EACH, preempting(policy)], objects)


def decide(policy: type[PreemptionPolicy], *pods: Pod) -> Decision:
    scheduler = scheduler_of(policy, *pods)
    new = make_pod("new", priority=10)
    scheduler.cluster.add(new)
    return drive(scheduler.decide(new)).decision


LOW = [make_pod("low1", node="n1", priority=1), make_pod("low2", node="n2", priority=2)]


class Spare(PreemptionPolicy):
    """A policy that spares low1."""

    def potential_victims(
        self, state: CycleState, pod: Pod, node: NodeInfo
    ) -> Iterator[PodInfo | Status]:
        for other in super().potential_victims(state, pod, node):
            if isinstance(other, PodInfo) and other.pod.name != "low1":
                yield other


class Broken(PreemptionPolicy):
    """A policy whose victims cannot be determined."""

    def potential_victims(
        self, state: CycleState, pod: Pod, node: NodeInfo
    ) -> Iterator[PodInfo | Status]:
        yield Status.error(f"{node.name} is broken")


class Strict(PreemptionPolicy):
    """A policy that accepts no node."""

    def refusal(self, state: CycleState, pod: Pod) -> Status | None:
        return Status.unschedulable("too strict")


class Twice(PreemptionPolicy):
    """A policy that removes every pod that was put back, also one that is gone already."""

    def must_go(self, state: CycleState, pod: Pod) -> bool:
        return True


class Chosen(PreemptionPolicy):
    """A policy with a search of its own."""

    def search(self, state: CycleState, pod: Pod, statuses: NodeStatuses) -> Sequence[Candidate]:
        costly, cheap = (LOW[1],), (LOW[0],)
        return [Candidate("n1", costly), Candidate("n1", cheap), Candidate("n2", costly)]


def test_victims_are_removed_and_the_cheapest_node_is_nominated() -> None:
    scheduler = scheduler_of(PreemptionPolicy, *LOW)
    new = make_pod("new", priority=10)
    scheduler.cluster.add(new)
    decision = drive(scheduler.decide(new)).decision
    assert decision.post_filter is not None
    assert decision.post_filter.nominated_node == "n1"
    # Not beside the loop: they are gone when PostFilter ends.
    assert [pod.name for pod in scheduler.cluster.pods.list()] == ["low2", "new"]


def test_a_policy_decides_who_may_be_removed() -> None:
    decision = decide(Spare, *LOW)
    assert decision.post_filter is not None
    assert decision.post_filter.nominated_node == "n2"


def test_errors_of_all_nodes_are_one_error() -> None:
    decision = decide(Broken, *LOW)
    assert decision.post_filter is not None
    assert decision.post_filter.status.is_error
    assert decision.post_filter.status.reasons == ("[n1 is broken, n2 is broken]",)


def test_a_policy_may_refuse_a_node_that_the_filters_accept() -> None:
    assert decide(Strict, *LOW).message.endswith("0/2 nodes are available: 2 too strict.")


def test_a_pod_that_was_put_back_and_removed_twice_is_an_error_of_its_node() -> None:
    decision = decide(Twice, *LOW)
    assert decision.post_filter is not None
    assert decision.post_filter.status.reasons == (
        "[no corresponding pod low1 in pods of node n1, "
        "no corresponding pod low2 in pods of node n2]",
    )


def test_a_search_of_its_own_is_judged_by_the_same_cost() -> None:
    decision = decide(Chosen, *LOW)
    assert decision.post_filter is not None
    assert decision.post_filter.nominated_node == "n1"
    assert [pod.name for pod in decision.post_filter.victims] == ["low1"]
    assert [one.node_name for one in decision.post_filter.candidates] == ["n1", "n2"]


class Refusing(MemoryClient):
    """A server that deletes nothing."""

    async def delete(self, *args: Any, **more: Any) -> None:
        raise ApiError(500, "not today")


def test_a_failed_removal_is_an_error() -> None:
    scheduler = scheduler_of(PreemptionPolicy, *LOW)
    (profile,) = scheduler.profiles.values()
    profile.handle.client.delete = Refusing(scheduler.cluster).delete  # type: ignore[method-assign]
    new = make_pod("new", priority=10)
    scheduler.cluster.add(new)
    decision = drive(scheduler.decide(new)).decision
    assert decision.post_filter is not None
    assert decision.post_filter.status.is_error
    assert "not today" in decision.post_filter.status.message


def evaluations(scheduler: MemoryScheduler) -> dict[tuple[str, ...], int]:
    """Return how often the search for victims ended with each result."""
    series = scheduler.metrics.preemption_evaluation_duration
    return {key: sum(one.counts) for key, one in series.items()}


@pytest.mark.parametrize(
    ("policy", "result"),
    [
        pytest.param(PreemptionPolicy, "Success", id="a node can be cleared"),
        pytest.param(Strict, "Unschedulable", id="no node can be cleared"),
        pytest.param(Broken, "Error", id="the search failed"),
    ],
)
def test_the_search_for_victims_is_timed_with_its_result(
    policy: type[PreemptionPolicy], result: str
) -> None:
    scheduler = scheduler_of(policy, *LOW)
    new = make_pod("new", priority=10)
    scheduler.cluster.add(new)
    drive(scheduler.decide(new))
    assert evaluations(scheduler) == {("pod", result): 1}


def test_violations_of_budgets_are_counted() -> None:
    budget = make(
        PodDisruptionBudget,
        "b",
        "default",
        spec={"selector": {"matchLabels": {"app": "db"}}},
        status={"disruptionsAllowed": 0},
    )
    pods = [
        make_labelled(f"low{number}", node=f"n{number}", labels={"app": "db"}, priority=1)
        for number in (1, 2)
    ]
    objects = [*make_nodes("n1", "n2"), *pods, budget]
    scheduler = make_scheduler([ONE_EACH, preempting(PreemptionPolicy)], objects)
    new = make_pod("new", priority=10)
    scheduler.cluster.add(new)
    drive(scheduler.decide(new))
    series = scheduler.metrics.preemption_pdb_violations
    assert {key: one.value for key, one in series.items()} == {"pod": 1}
