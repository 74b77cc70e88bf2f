"""The cycle as a whole: its ends, its messages, extenders, and that it never waits without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mooring.cycle.cycle import Cycle
from mooring.framework.decision import Outcome
from mooring.framework.extender import ExtenderFilterResult
from mooring.framework.plugin import Nominate
from mooring.framework.status import Status
from mooring.simulate.memory import MemoryScheduler, drive
from tests.cycle.scheduling import decide, make_nodes, make_pod, make_scheduler, plugin, refuse

NODES = make_nodes("n1", "n2", "n3")


def test_a_cluster_without_nodes() -> None:
    decision = decide([refuse()], [])
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert decision.message == "no nodes available to schedule pods"
    assert decision.post_filter is None


def test_a_profile_without_filter_and_score_takes_the_next_node() -> None:
    scheduler = make_scheduler([], NODES)
    names = [scheduler.cycle.run_sync(make_pod()).node_name for _ in range(4)]
    assert names == ["n1", "n2", "n3", "n1"]


def test_reasons_are_counted_and_sorted_as_texts() -> None:
    nodes = make_nodes(*(f"n{i}" for i in range(12)))
    most = [f"n{i}" for i in range(10)]
    decision = decide([refuse(*most, called="Z"), refuse("n10", "n11", called="A")], nodes)
    assert decision.message == "0/12 nodes are available: 10 Z said no, 2 A said no."
    assert decision.unschedulable_plugins == {"A", "Z"}
    assert decision.pending_plugins == frozenset()


def test_a_pending_refusal_is_noted_as_such() -> None:
    decision = decide([refuse("n1", "n2", "n3", status=Status.pending("soon"))], NODES)
    assert decision.pending_plugins == {"Refuse"}


def test_examining_changes_nothing_but_the_detail() -> None:
    plugins = [refuse("n1"), plugin("A", score=lambda state, pod, node: int(node.name[1:]))]
    plain, examined = decide(plugins, NODES), decide(plugins, NODES, examine=True)
    assert plain.node_name == examined.node_name == "n3"


def test_a_cycle_that_waits_cannot_run_in_sync() -> None:
    class Later:
        def __await__(self) -> Any:
            yield

    async def post_filter(state: Any, pod: Any, statuses: Any) -> None:
        await Later()

    with pytest.raises(RuntimeError, match="pod default/web waits for an extender"):
        decide([refuse("n1", "n2", "n3"), plugin("A", post_filter=post_filter)], NODES)


class FakeExtender:
    """Refuses and scores by node name."""

    name = "fake"
    ignorable = False
    is_binder = False
    supports_preemption = False

    def __init__(
        self,
        failed: Mapping[str, str] | None = None,
        unresolvable: Mapping[str, str] | None = None,
        scores: Mapping[str, int] | None = None,
        interested: bool = True,
        weight: int = 1,
        error: str = "",
    ) -> None:
        self.failed, self.unresolvable = failed or {}, unresolvable or {}
        self.scores = scores
        self.interested = interested
        self.weight = weight
        self.error = error
        self.is_filter = scores is None
        self.is_prioritizer = scores is not None

    def is_interested(self, pod: Any) -> bool:
        return self.interested

    async def filter(self, pod: Any, nodes: Sequence[Any]) -> ExtenderFilterResult:
        if self.error:
            raise RuntimeError(self.error)
        kept = [
            node.name
            for node in nodes
            if node.name not in self.failed and node.name not in self.unresolvable
        ]
        return ExtenderFilterResult(tuple(kept), self.failed, self.unresolvable)

    async def prioritize(self, pod: Any, nodes: Sequence[Any]) -> Mapping[str, int]:
        if self.error:
            raise RuntimeError(self.error)
        return self.scores or {}


def extended(scheduler: MemoryScheduler, *extenders: Any) -> Any:
    """Run a cycle with these extenders."""
    cluster = scheduler.cluster
    cycle = Cycle(
        scheduler.profiles,
        snapshot=lambda: cluster.cache.nodes,
        node_order=cluster.cache.node_order,
        nominator=cluster.nominator,
        extenders=extenders,
        random=scheduler.random,
    )
    return drive(cycle.run(make_pod()))


def test_extenders_refuse_in_turn() -> None:
    scheduler = make_scheduler([refuse("n1")], NODES)
    first, second = FakeExtender({"n2": "full"}), FakeExtender(unresolvable={"n3": "broken"})
    decision = extended(scheduler, first, second)
    assert decision.message == ("0/3 nodes are available: 1 Refuse said no, 1 broken, 1 full.")
    assert decision.unschedulable_plugins == {"Refuse", "Extender"}
    assert decision.statuses.get("n2") == Status.unschedulable("full")
    assert decision.statuses.get("n3") == Status.unresolvable("broken")


def test_an_extender_that_is_not_interested_is_not_asked() -> None:
    scheduler = make_scheduler([refuse()], NODES)
    decision = extended(scheduler, FakeExtender({"n1": "no"}, interested=False))
    assert decision.outcome is Outcome.SCHEDULED


def test_an_extender_that_fails_ends_the_cycle_unless_it_is_ignorable() -> None:
    scheduler = make_scheduler([refuse()], NODES)
    broken = FakeExtender(error="code 500")
    assert extended(scheduler, broken).message == "code 500"
    broken.ignorable = True
    assert extended(scheduler, broken).outcome is Outcome.SCHEDULED


def test_extenders_add_ten_times_their_weighted_score() -> None:
    flat = plugin("A", score=lambda state, pod, node: 50)
    scheduler = make_scheduler([flat], NODES)
    liked = FakeExtender(scores={"n2": 7, "n3": 1}, weight=3)
    failing = FakeExtender(scores={"n1": 10}, weight=100, error="down")
    failing.name = "failing"
    decision = extended(scheduler, liked, failing)
    assert decision.totals.tolist() == [50, 50 + 210, 50 + 30]
    assert decision.node_name == "n2"
    assert decision.scores["fake"].normalized.tolist() == [0, 70, 10]


@pytest.mark.parametrize(
    ("answers", "tail", "status", "nominated"),
    [
        pytest.param(
            [Status.unschedulable("a"), Status.unschedulable("b")],
            " a, b",
            Status.unschedulable("a", "b").by("P0"),
            None,
            id="refusals append, the first plugin signs",
        ),
        pytest.param(
            [Status.unschedulable("a"), Nominate("n2"), Status.error("never asked")],
            "",
            Status.success(),
            "n2",
            id="the first success ends it",
        ),
        pytest.param(
            [Status.unresolvable("a"), Nominate("n2")],
            " a",
            Status.unresolvable("a").by("P0"),
            None,
            id="an unresolvable answer ends it",
        ),
        pytest.param(
            [Status.error("lost"), Nominate("n2")],
            " lost",
            Status.error("lost").by("P0"),
            None,
            id="an error ends it",
        ),
        pytest.param(
            [Nominate("", Status.unschedulable("a")), Status.unschedulable("b")],
            " a, b",
            Status.unschedulable("a", "b").by("P0"),
            "",
            id="a nomination that is cleared is remembered",
        ),
        pytest.param(
            [7],
            " plugin P0, point PostFilter: post_filter must return a Nominate, a Status or None, "
            "got int 7",
            None,
            None,
            id="the wrong type is an error",
        ),
    ],
)
def test_post_filter(
    answers: list[Any], tail: str, status: Status | None, nominated: str | None
) -> None:
    plugins = [
        plugin(f"P{i}", post_filter=lambda state, pod, statuses, answer=answer: answer)
        for i, answer in enumerate(answers)
    ]
    decision = decide([refuse("n1", "n2", "n3"), *plugins], NODES)
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert decision.message == f"0/3 nodes are available: 3 Refuse said no.{tail}"
    assert decision.post_filter is not None
    assert decision.post_filter.nominated_node == nominated
    if status is not None:
        assert decision.post_filter.status == status
