"""Extenders: they refuse in turn after Filter, and add to the scores."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mooring.cycle.extender_calls import SKIPPING
from mooring.cycle.scheduling_cycle import PRIORITIZING_EXTENDER, Cycle
from mooring.framework.decision import Outcome
from mooring.framework.extender import ExtenderFilterResult
from mooring.framework.status import Status
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.cycle.scheduling import make_nodes, make_pod, make_scheduler, plugin, refuse

NODES = make_nodes("n1", "n2", "n3")


class FakeExtender:
    """An extender that refuses and scores by node name."""

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


def make_cycle(scheduler: MemoryScheduler, *extenders: Any) -> Cycle:
    cache = scheduler.cache
    return Cycle(
        scheduler.profiles,
        snapshot=lambda: cache.nodes,
        node_order=cache.node_order,
        nominator=scheduler.nominator,
        extenders=extenders,
        random=scheduler.random,
    )


def extended(scheduler: MemoryScheduler, *extenders: Any) -> Any:
    """Run a cycle with these extenders."""
    return drive(make_cycle(scheduler, *extenders).run(make_pod()))


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
    refusing = dict.fromkeys(("n1", "n2", "n3"), "no")
    decision = extended(scheduler, FakeExtender(refusing, interested=False))
    assert decision.outcome is Outcome.SCHEDULED
    only_scores = FakeExtender(refusing, scores={"n2": 5})
    assert extended(scheduler, only_scores, FakeExtender()).node_name == "n2"
    uninterested = FakeExtender(scores={"n3": 10}, interested=False)
    assert extended(scheduler, only_scores, uninterested).node_name == "n2"


def test_extenders_behind_one_that_is_not_asked_or_ignored_are_asked() -> None:
    refusing = dict.fromkeys(("n1", "n3"), "no")
    broken = FakeExtender(error="code 500")
    broken.ignorable = True
    for first in (FakeExtender(interested=False), FakeExtender(scores={}), broken):
        decision = extended(make_scheduler([refuse()], NODES), first, FakeExtender(refusing))
        assert list(decision.feasible.names) == ["n2"]


def test_a_score_behind_one_that_fails_counts() -> None:
    scheduler = make_scheduler([plugin("A", score=lambda state, pod, node: 50)], NODES)
    failing = FakeExtender(scores={"n1": 10}, error="down")
    failing.name = "failing"
    decision = extended(scheduler, failing, FakeExtender(scores={"n3": 1}))
    assert decision.totals.tolist() == [50, 50, 60]


def test_an_extender_is_not_asked_after_an_error() -> None:
    asked: list[Any] = []

    class Noting(FakeExtender):
        async def filter(self, pod: Any, nodes: Sequence[Any]) -> ExtenderFilterResult:
            asked.append(nodes)
            return await super().filter(pod, nodes)

    broken = plugin("A", filter=lambda *_: Status.error("lost"))
    decision = extended(make_scheduler([broken], NODES), Noting())
    assert decision.message == 'running "A" filter plugin: lost'
    assert asked == []


def test_an_extender_is_not_asked_when_no_node_is_left() -> None:
    asked: list[Any] = []

    class Noting(FakeExtender):
        async def filter(self, pod: Any, nodes: Sequence[Any]) -> ExtenderFilterResult:
            asked.append([node.name for node in nodes])
            return await super().filter(pod, nodes)

    scheduler = make_scheduler([refuse("n1")], NODES)
    decision = extended(scheduler, Noting({"n2": "no", "n3": "no"}), Noting())
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert asked == [["n2", "n3"]]


def test_an_extender_that_names_an_unknown_node_changes_nothing() -> None:
    scheduler = make_scheduler([refuse("n1")], NODES)
    decision = extended(scheduler, FakeExtender({"n9": "no"}, {"n8": "no"}))
    assert decision.outcome is Outcome.SCHEDULED
    assert dict(decision.statuses.items()) == {
        "n1": Status.unschedulable("Refuse said no").by("Refuse"),
        "n2": None,
        "n3": None,
    }


async def test_how_many_extenders_are_being_asked_is_shown() -> None:
    scheduler = make_scheduler([plugin("A", score=lambda state, pod, node: 50)], NODES)
    metrics = scheduler.profiles["default-scheduler"].handle.metrics
    shown: list[float] = []

    class Looking(FakeExtender):
        async def prioritize(self, pod: Any, nodes: Sequence[Any]) -> Mapping[str, int]:
            shown.append(metrics.goroutines[PRIORITIZING_EXTENDER].value)
            return {}

    extenders = Looking(scores={}), Looking(scores={}), Looking(scores={}, interested=False)
    await make_cycle(scheduler, *extenders).run(make_pod())
    assert shown == [2, 2]
    assert metrics.goroutines[PRIORITIZING_EXTENDER].value == 0


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


def test_a_node_in_both_lists_is_unresolvable() -> None:
    scheduler = make_scheduler([refuse()], NODES)
    both = FakeExtender({"n1": "full", "n2": "full", "n3": "full"}, {"n1": "broken"})
    decision = extended(scheduler, both)
    assert decision.statuses.get("n1") == Status.unresolvable("broken")
    assert decision.message == "0/3 nodes are available: 1 broken, 2 full."


def test_an_ignorable_extender_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    broken = FakeExtender(error="code 500")
    broken.ignorable = True
    extended(make_scheduler([refuse()], NODES), broken)
    assert [record.message for record in caplog.records] == [SKIPPING]


async def test_scores_are_asked_for_all_at_once() -> None:
    scheduler = make_scheduler([plugin("A", score=lambda state, pod, node: 50)], NODES)
    started: list[str] = []
    all_started = asyncio.Event()

    class Patient(FakeExtender):
        async def prioritize(self, pod: Any, nodes: Sequence[Any]) -> Mapping[str, int]:
            started.append(self.name)
            if len(started) == 2:
                all_started.set()
            await all_started.wait()
            return await super().prioritize(pod, nodes)

    first, second = Patient(scores={"n1": 1}), Patient(scores={"n1": 2, "n3": 9})
    first.name, second.name = "first", "second"
    decision = await make_cycle(scheduler, first, second).run(make_pod())
    assert decision.totals.tolist() == [50 + 30, 50, 50 + 90]
    assert list(decision.scores) == ["A", "first", "second"]


@pytest.mark.parametrize(
    ("score", "weight", "total"),
    [(2**62, 1, 2**62 * 10), (1, 2**63 - 1, (2**63 - 1) * 10)],
    ids=["a huge score", "a huge weight"],
)
def test_scores_beyond_all_measure_wrap_around(score: int, weight: int, total: int) -> None:
    scheduler = make_scheduler([plugin("A", score=lambda state, pod, node: 0)], NODES)
    decision = extended(scheduler, FakeExtender(scores={"n1": score}, weight=weight))
    assert decision.totals.tolist() == [(total + 2**63) % 2**64 - 2**63, 0, 0]


def test_a_score_that_is_no_int64_counts_as_a_failure() -> None:
    scheduler = make_scheduler([plugin("A", score=lambda state, pod, node: 50)], NODES)
    decision = extended(scheduler, FakeExtender(scores={"n1": 2**64}))
    assert decision.totals.tolist() == [50, 50, 50]


@pytest.mark.parametrize(
    ("refused", "kept", "left_out"),
    [
        pytest.param([], {"n2"}, ["n1", "n3"], id="all nodes passed the plugins"),
        pytest.param(["n1"], {"n3"}, ["n2"], id="a plugin refused one"),
    ],
)
def test_a_node_that_an_extender_leaves_out_without_a_reason_counts_as_not_asked(
    refused: list[str], kept: set[str], left_out: list[str]
) -> None:
    class Terse(FakeExtender):
        async def filter(self, pod: Any, nodes: Sequence[Any]) -> ExtenderFilterResult:
            return ExtenderFilterResult(tuple(kept), {}, {})

    decision = extended(make_scheduler([refuse(*refused)], NODES), Terse())
    names = [node.name for node in NODES]
    assert {names[row] for row in decision.statuses.passing} == kept
    assert [decision.statuses.get(name) for name in left_out] == (
        [decision.statuses.absent] * len(left_out)
    )


def test_an_extender_is_not_asked_about_no_nodes() -> None:
    first = FakeExtender(dict.fromkeys(("n1", "n2", "n3"), "full"))
    decision = extended(make_scheduler([refuse()], NODES), first, FakeExtender(error="was asked"))
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert decision.message == "0/3 nodes are available: 3 full."
