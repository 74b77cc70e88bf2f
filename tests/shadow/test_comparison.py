"""A decision beside the node that another scheduler chose."""

from __future__ import annotations

from typing import Any

import pytest

from mooring import Plugin, Status
from mooring.framework.decision import Decision
from mooring.shadow.comparison import Agreement, PodComparison, Verdict, compare
from mooring.testing.builders import make_node, make_pod
from mooring.virtual.driving import drive
from tests.explain.runs import make_scheduler

NODES = [make_node("big", cpu="64"), make_node("small", cpu="2"), make_node("tiny", cpu="1")]


def decided(*plugins: type[Plugin], **pod: Any) -> Decision:
    """Decide for a pod on the three nodes, examining all of them."""
    scheduler = make_scheduler([*NODES, make_pod(**pod)], plugins=plugins)
    (pending,) = scheduler.cluster.pods.list()
    return drive(scheduler.decide(pending, examine=True)).decision


def test_one_of_our_best_nodes() -> None:
    assert compare(decided(cpu="1"), "big") == PodComparison(
        "default/pod", Verdict.AGREED, "big", "big"
    )


def test_a_node_with_a_lower_total() -> None:
    found = compare(decided(cpu="1"), "small")
    assert (found.verdict, found.ours, found.plugin) == (
        Verdict.OTHER_NODE,
        "big",
        "NodeResourcesFit",
    )
    assert found.lost > 0


def test_a_node_that_a_plugin_refuses() -> None:
    found = compare(decided(cpu="2"), "tiny")
    assert (found.verdict, found.plugin, found.reason) == (
        Verdict.REFUSED,
        "NodeResourcesFit",
        "Insufficient cpu",
    )


def test_a_pod_that_would_be_pending() -> None:
    found = compare(decided(cpu="99"), "small")
    assert (found.verdict, found.plugin, found.ours) == (
        Verdict.PENDING_HERE,
        "NodeResourcesFit",
        "",
    )
    found = compare(decided(claims=["absent"]), "small")
    assert (found.verdict, found.plugin) == (Verdict.PENDING_HERE, "VolumeRestrictions")


def test_a_node_that_is_not_known() -> None:
    found = compare(decided(cpu="1"), "gone")
    assert found.verdict is Verdict.REFUSED


def test_a_plugin_that_fails() -> None:
    class Fails(Plugin):
        def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
            raise KeyError("x")

    found = compare(decided(Fails), "big")
    assert found.verdict is Verdict.ERROR
    assert "KeyError" in found.reason


@pytest.mark.parametrize("verdict", Verdict)
def test_a_verdict_has_words(verdict: Verdict) -> None:
    assert verdict.value


def test_agreement_is_a_share_of_what_could_be_decided() -> None:
    agreement = Agreement()
    assert agreement.agreement == 1.0
    agreement.count(Verdict.AGREED, 0)
    agreement.count(Verdict.OTHER_NODE, 7)
    agreement.count(Verdict.UNDECIDABLE, 9)
    assert (agreement.agreed, agreement.decided, agreement.lost) == (1, 2, 7)
    assert agreement.agreement == 0.5
