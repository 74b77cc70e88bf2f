"""TappedExtender: extenders whose answers the taps hear of."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mooring.api import Pod
from mooring.errors import ExtenderError
from mooring.framework.extender import ExtenderFilterResult, Victims
from mooring.framework.node_info import NodeInfo
from mooring.observe.attempt_random import AttemptRandom
from mooring.scheduler.tapped_extender import TappedExtender
from mooring.scheduler.taps import SilentTap, Taps
from mooring.testing import make_node, make_pod
from tests.app.world import World

VICTIM = make_pod("victim")


class Listener(SilentTap):
    """A tap that keeps what extenders answer."""

    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []

    def extender_answered(
        self, extender: str, verb: str, pod: Pod, answer: Any, error: str
    ) -> None:
        self.heard.append((extender, verb, pod.name, answer, error))


class Answers:
    """An extender that accepts node a."""

    name = "http://example.com"
    weight = 3
    ignorable = True
    is_filter = is_prioritizer = is_binder = supports_preemption = True

    def __init__(self) -> None:
        self.bound: list[tuple[str, str]] = []
        self.fails = False

    def is_interested(self, pod: Pod) -> bool:
        return pod.name == "one"

    def _may_fail(self) -> None:
        if self.fails:
            raise ExtenderError("out of order")

    async def filter(self, pod: Pod, nodes: Sequence[NodeInfo]) -> ExtenderFilterResult:
        self._may_fail()
        return ExtenderFilterResult(("a",), {"b": "full"}, {"c": "gone"})

    async def prioritize(self, pod: Pod, nodes: Sequence[NodeInfo]) -> Mapping[str, int]:
        self._may_fail()
        return {"a": 7}

    async def process_preemption(
        self, pod: Pod, victims: Mapping[str, Victims], nodes: Any
    ) -> Mapping[str, Victims]:
        self._may_fail()
        return {"a": victims["a"]}

    async def bind(self, pod: Pod, node_name: str) -> None:
        self.bound.append((pod.name, node_name))


async def _ask_all(extender: TappedExtender) -> list[Any]:
    pod, victims = make_pod("one"), {"a": Victims((VICTIM,), 2)}
    results: list[Any] = []
    for call in (
        extender.filter(pod, ()),
        extender.prioritize(pod, ()),
        extender.process_preemption(pod, victims, None),
    ):
        try:
            results.append(await call)
        except ExtenderError as error:
            results.append(str(error))
    await extender.bind(pod, "a")
    return results


@pytest.mark.parametrize("fails", [False, True], ids=["it answers", "it fails"])
def test_taps_hear_what_the_cycle_gets(fails: bool) -> None:
    listener, answers = Listener(), Answers()
    answers.fails = fails
    extender = TappedExtender(answers, Taps([listener], AttemptRandom(1)))
    assert (extender.name, extender.weight, extender.ignorable) == ("http://example.com", 3, True)
    assert extender.is_interested(make_pod("one"))
    assert not extender.is_interested(make_pod("two"))
    filtered, scores, accepted = asyncio.run(_ask_all(extender))
    verbs = ["filter", "prioritize", "preempt"]
    assert [heard[:3] for heard in listener.heard] == [
        ("http://example.com", verb, "one") for verb in verbs
    ]
    said = [heard[3:] for heard in listener.heard]
    if fails:
        assert [filtered, scores, accepted] == ["out of order"] * 3
        assert said == [(None, "out of order")] * 3
    else:
        assert filtered.feasible == ("a",)
        assert accepted["a"].pdb_violations == 2
        assert said == [
            ([("a",), {"b": "full"}, {"c": "gone"}], ""),
            ({"a": 7}, ""),
            ({"a": [[VICTIM.metadata.uid], 2]}, ""),
        ]
    assert answers.bound == [("one", "a")]


async def test_a_scheduler_with_taps_tells_what_extenders_answer_in_a_cycle() -> None:
    listener, answers = Listener(), Answers()
    world = World(taps=[listener], extenders=[answers])
    for name in ("a", "b"):
        world.nodes.add(make_node(name))
    world.pods.add(make_pod("one"))
    await world.settle()
    # Only one node is left to score, so the extender is not asked for priorities.
    assert [heard[1:4] for heard in listener.heard] == [
        ("filter", "one", [("a",), {"b": "full"}, {"c": "gone"}])
    ]
    assert answers.bound == [("one", "a")]
