"""The texts for how an attempt ended and why a node was chosen."""

from __future__ import annotations

import numpy as np

from mooring.explain.examination import Examination
from mooring.explain.outcome_texts import (
    how_ended,
    message_of,
    why_chosen,
    why_not_asked,
    why_not_feasible,
)
from mooring.testing.builders import make_node, make_pod
from tests.explain.runs import explain


def test_the_highest_total_is_the_reason() -> None:
    (found,) = explain([make_node("small", cpu="2"), make_node("big", cpu="64"), make_pod(cpu="1")])
    assert found.decision.totals is not None
    top, second = found.decision.totals.max(), found.decision.totals.min()
    lead = f"{top - second} more than small (NodeResourcesFit +"
    assert why_chosen(found).startswith(f"the highest total, {top}, {lead}")
    assert how_ended(found.decision) == "scheduled to big"
    assert message_of(found.decision) == ""


def test_nodes_with_the_same_total_are_named() -> None:
    (found,) = explain([*(make_node(f"n{i}") for i in range(7)), make_pod()])
    assert why_chosen(found).startswith("one of 7 nodes with the highest total, ")
    assert why_chosen(found).endswith("(n0, n1, n2, n3, n4, …), picked at random")


def test_a_node_without_rivals() -> None:
    (found,) = explain([make_node("n1"), make_node("n2", unschedulable=True), make_pod()])
    assert why_chosen(found) == "the only node that passes, so nothing was scored"


def in_placement(found: Examination) -> Examination:
    """Return the examination of a group's pod that was asked about its node only."""
    found.decision.pod = make_pod(group="gang")
    found.decision.totals, found.recorded = None, True
    found.verdicts.asked = np.array([name == found.chosen for name in found.verdicts.names])
    return found


def test_a_pod_of_a_group_is_not_said_to_have_been_asked_about_all_nodes() -> None:
    (found,) = explain([make_node("n1"), make_node("n2"), make_pod()])
    assert why_not_feasible(found) == "enough nodes were found"
    assert why_not_asked(found) == "left out by PreFilter"
    found = in_placement(found)
    in_search = "the only node of the group's placement that passes, or found in a search of all"
    assert why_chosen(found) == in_search
    assert why_not_asked(found) == "not asked, outside the group's placement or not needed"
    found.decision.pod = make_pod()
    assert why_chosen(found) == "the only node that passes, so nothing was scored"
    assert why_not_asked(found) == "not asked, enough nodes were found"


def test_a_pod_of_a_group_that_is_asked_about_all_nodes() -> None:
    (found,) = explain([make_node("n1"), make_node("n2", unschedulable=True), make_pod()])
    found.decision.pod = make_pod(group="gang")
    assert why_chosen(found) == "the only node that passes, so nothing was scored"


def test_a_nominated_node() -> None:
    (found,) = explain([make_node("n1"), make_node("n2"), make_pod(nominated_node="n2")])
    assert why_chosen(found) == "the pod was nominated to it, and it passes"


def test_a_pod_that_goes_nowhere() -> None:
    (found,) = explain([make_node("n1", cpu="1"), make_pod(cpu="2")])
    assert why_chosen(found) == ""
    assert how_ended(found.decision) == "unschedulable"
    assert how_ended(found.decision, "n1") == "unschedulable, n1 was chosen and given up"
    assert message_of(found.decision).startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_a_gated_pod() -> None:
    (found,) = explain([make_node("n1"), make_pod(gates=["a/b"])])
    assert how_ended(found.decision) == "gated"
    assert message_of(found.decision) == "waiting for scheduling gates: [a/b]"
