"""A replay repeats the comparisons of a shadow's journal."""

from __future__ import annotations

import pytest

from mooring.framework.decision import Decision, Outcome
from mooring.journal.entries import EVERY_NODE, Compared
from mooring.replay.shadow_comparison import ShadowComparisons, compare_again
from mooring.shadow.comparison import PodComparison, Verdict
from mooring.testing.builders import make_pod


def recorded(theirs: str = "", *unsettled: str) -> Compared:
    return Compared(1.0, "u", "pending there", theirs, unsettled=unsettled)


def decision(outcome: Outcome, node: str = "") -> Decision:
    return Decision(make_pod("p"), "default-scheduler", outcome, node_name=node, message="no")


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        pytest.param(decision(Outcome.SCHEDULED, "a"), Verdict.PENDING_THERE, id="we place it"),
        pytest.param(decision(Outcome.UNSCHEDULABLE), Verdict.AGREED, id="pending in both"),
        pytest.param(decision(Outcome.GATED), Verdict.AGREED, id="gated here"),
        pytest.param(decision(Outcome.ERROR), Verdict.ERROR, id="a plugin fails"),
    ],
)
def test_a_pod_that_is_pending_there(found: Decision, verdict: Verdict) -> None:
    assert compare_again(recorded(), found).verdict is verdict


@pytest.mark.parametrize(
    ("unsettled", "verdict"),
    [
        ((), Verdict.PENDING_THERE),
        (("b",), Verdict.PENDING_THERE),
        (("a",), Verdict.UNDECIDABLE),
        ((EVERY_NODE,), Verdict.UNDECIDABLE),
    ],
    ids=str,
)
def test_nodes_that_have_just_changed(unsettled: tuple[str, ...], verdict: Verdict) -> None:
    found = compare_again(recorded("", *unsettled), decision(Outcome.SCHEDULED, "a"))
    assert found.verdict is verdict
    agreed = compare_again(recorded("", *unsettled), decision(Outcome.UNSCHEDULABLE))
    assert agreed.verdict is Verdict.AGREED


def test_a_pod_that_has_a_node_there() -> None:
    found = compare_again(recorded("a"), decision(Outcome.UNSCHEDULABLE))
    assert (found.verdict, found.theirs) == (Verdict.PENDING_HERE, "a")


def test_verdicts_that_change_are_counted() -> None:
    comparisons = ShadowComparisons()
    for verdict in (Verdict.AGREED, Verdict.PENDING_THERE):
        comparisons.add_other(recorded(), PodComparison("default/p", verdict))
    assert dict(comparisons.changes) == {(Verdict.PENDING_THERE, Verdict.AGREED): 1}
    assert comparisons.other.counts.total() == 2
