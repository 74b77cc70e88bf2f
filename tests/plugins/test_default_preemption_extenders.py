"""Extenders in preemption: which nodes, which victims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mooring.errors import ExtenderError
from mooring.framework.decision import Decision
from mooring.framework.extender import Victims
from mooring.framework.status import Status
from mooring.plugins.default_preemption import DefaultPreemption
from mooring.virtual.driving import drive
from tests.cycle.scheduling import make_nodes, make_pod, make_scheduler, plugin

LOW = {name: make_pod(f"low-{name}", node=name) for name in ("n1", "n2")}
OTHER = make_pod("other", priority=1, node="n2")
#: A plugin that allows one pod per node.
ONE_EACH = plugin(
    "OneEach",
    filter=lambda state, pod, node: Status.unschedulable("taken") if node.pods else None,
)


class FakeExtender:
    """An extender that answers with a function of the proposed victims."""

    name = "fake"
    is_filter = is_prioritizer = is_binder = False
    supports_preemption = True

    def __init__(
        self,
        answer: Callable[[Mapping[str, Victims]], Mapping[str, Victims]],
        ignorable: bool = False,
        interested: bool = True,
    ) -> None:
        self.answer = answer
        self.ignorable = ignorable
        self.interested = interested
        self.proposed: list[Mapping[str, Victims]] = []

    def is_interested(self, pod: Any) -> bool:
        return self.interested

    async def process_preemption(
        self, pod: Any, victims: Mapping[str, Victims], nodes: Any
    ) -> Mapping[str, Victims]:
        assert set(nodes.names) == {"n1", "n2"}
        self.proposed.append(victims)
        return self.answer(victims)


def preempt(*extenders: Any) -> Decision:
    """Schedule a pod that fits only if others are removed."""
    objects = [*make_nodes("n1", "n2"), *LOW.values(), OTHER]
    scheduler = make_scheduler([ONE_EACH, DefaultPreemption], objects)
    (profile,) = scheduler.profiles.values()
    profile.handle.extenders = extenders
    return drive(scheduler.schedule_one(make_pod("high", priority=10)))


def nominated(decision: Decision) -> str | None:
    assert decision.post_filter is not None
    return decision.post_filter.nominated_node


def fails(victims: Any) -> Any:
    raise ExtenderError("no answer")


def keep_n2(victims: Mapping[str, Victims]) -> Mapping[str, Victims]:
    return {"n2": victims["n2"]}


def test_without_a_word_from_extenders_the_cheaper_node_is_cleared() -> None:
    assert nominated(preempt()) == "n1"
    uninterested = FakeExtender(fails, interested=False)
    assert nominated(preempt(uninterested)) == "n1"


def test_an_extender_leaves_the_nodes_it_accepts_to_the_next() -> None:
    first, second = FakeExtender(keep_n2), FakeExtender(keep_n2)
    decision = preempt(first, second)
    assert nominated(decision) == "n2"
    assert first.proposed == [{"n1": Victims((LOW["n1"],)), "n2": Victims((OTHER, LOW["n2"]))}]
    assert [set(victims) for victims in second.proposed] == [{"n2"}]


def test_an_extender_chooses_the_victims() -> None:
    decision = preempt(FakeExtender(lambda victims: {"n2": Victims((OTHER,), 1)}))
    assert decision.post_filter is not None
    assert decision.post_filter.victims == (OTHER,)


def test_an_extender_that_accepts_nothing_ends_it() -> None:
    never = FakeExtender(fails)
    decision = preempt(FakeExtender(lambda victims: {}), never)
    assert not nominated(decision)
    assert decision.message.endswith("preemption: no candidate node for preemption")
    assert never.proposed == []


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (fails, "preemption: no answer"),
        (
            lambda victims: {"n1": Victims(()), **keep_n2(victims)},
            'preemption: expected at least one victim pod on node "n1"',
        ),
    ],
    ids=["a failure", "a node without victims"],
)
def test_a_broken_answer_counts_unless_the_extender_is_ignorable(answer: Any, problem: str) -> None:
    decision = preempt(FakeExtender(answer))
    assert not nominated(decision)
    assert [error.message for error in decision.errors] == [problem]
    ignored = preempt(FakeExtender(answer, ignorable=True), FakeExtender(keep_n2))
    assert nominated(ignored) == "n2"
