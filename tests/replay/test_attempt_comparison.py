"""A recorded attempt beside the decision of a replay."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mooring import Plugin, Status
from mooring.explain.attempt_record import AttemptRecord
from mooring.explain.recording import weighted_points
from mooring.framework.decision import Decision, Outcome
from mooring.journal.entries import AttemptEnds
from mooring.journal.open_attempt import totals_digest
from mooring.replay.attempt_comparison import (
    AttemptVerdict,
    compare_attempt,
    deviating_plugin,
    find_deviation,
    verdict_of,
)
from tests.shadow.test_comparison import decided


def ends(node: str = "", **fields: Any) -> AttemptEnds:
    outcome = "scheduled" if node else "unschedulable"
    record = AttemptRecord(
        sequence=0,
        time=5.0,
        namespace="default",
        name="pod",
        uid="u",
        profile="p",
        attempt=2,
        outcome=outcome,
        node=node,
    )
    for name, value in fields.items():
        setattr(record, name, value)
    return AttemptEnds(6.0, record)


class Refuses(Plugin):
    """A plugin that refuses one node."""

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return Status.unschedulable("big is too big") if node.name == "big" else None


class Prefers(Plugin):
    """A plugin that prefers one node."""

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return 100 if node.name == "small" else 0


@pytest.mark.parametrize(
    ("recorded", "cpu", "verdict"),
    [
        ("big", "1", AttemptVerdict.SAME),
        ("", "900", AttemptVerdict.SAME),
        ("small", "1", AttemptVerdict.ANOTHER_NODE),
        ("", "1", AttemptVerdict.SCHEDULED_INSTEAD),
        ("big", "900", AttemptVerdict.PENDING_INSTEAD),
    ],
)
def test_verdicts(recorded: str, cpu: str, verdict: AttemptVerdict) -> None:
    assert verdict_of(ends(recorded), decided(cpu=cpu)) is verdict


def test_a_tie() -> None:
    decision = decided(cpu="1")
    assert decision.totals is not None
    level = replace(decision, totals=decision.totals * 0)
    assert verdict_of(ends("small"), level) is AttemptVerdict.TIED


def test_the_plugin_that_prefers_another_node() -> None:
    now = decided(Prefers, cpu="1")
    found = compare_attempt(ends("big"), now, now, decided(cpu="1"))
    assert (found.verdict, found.recorded, found.node) == (
        AttemptVerdict.ANOTHER_NODE,
        "big",
        "small",
    )
    assert (found.plugin, found.points) == ("Prefers", 100)


def test_the_plugin_that_preferred_the_recorded_node() -> None:
    now = decided(cpu="1")
    found = compare_attempt(ends("small"), now, now, decided(Prefers, cpu="1"))
    assert (found.node, found.plugin, found.points) == ("big", "Prefers", 100)


def test_the_plugin_that_refuses_the_recorded_node() -> None:
    now = decided(Refuses, cpu="1")
    found = compare_attempt(ends("big"), now, now, decided(cpu="1"))
    assert (found.node, found.plugin, found.reason) == ("small", "Refuses", "big is too big")


def test_the_plugin_that_refused_the_new_node() -> None:
    now, before = decided(cpu="1"), decided(Refuses, cpu="1")
    found = compare_attempt(ends("small"), now, now, before)
    assert (found.node, found.plugin, found.reason) == ("big", "Refuses", "big is too big")
    placed = compare_attempt(ends(), now, now, before)
    assert (placed.verdict, placed.plugin) == (AttemptVerdict.SCHEDULED_INSTEAD, "Refuses")


def test_without_the_recorded_rules() -> None:
    now = decided(Prefers, cpu="1")
    found = compare_attempt(ends("big"), now, now, None)
    assert found.plugin == "Prefers"
    placed = compare_attempt(ends(refusing_plugins=("Fit",), message="no room"), now, now, None)
    assert (placed.plugin, placed.reason) == ("Fit", "no room")


def test_a_pod_that_stays_pending() -> None:
    now = decided(cpu="900")
    found = compare_attempt(ends("big"), now, now, None)
    assert (found.verdict, found.plugin, found.reason) == (
        AttemptVerdict.PENDING_INSTEAD,
        "NodeResourcesFit",
        "Insufficient cpu",
    )


def test_a_plugin_that_fails() -> None:
    now = decided(cpu="1")
    fault = Status.error("boom").by("Broken")
    failed = Decision(now.pod, "p", Outcome.ERROR, message="boom", errors=(fault,))
    found = compare_attempt(ends("big"), failed, failed, None)
    assert (found.plugin, found.reason) == ("Broken", "boom")


# Deviations from the recorded rules.


def faithful(decision: Decision) -> AttemptEnds:
    assert decision.totals is not None and decision.feasible is not None
    recorded = ends(
        decision.node_name, evaluated=decision.evaluated_nodes, feasible=len(decision.feasible)
    )
    points = weighted_points(decision, decision.node_name)
    return replace(recorded, totals=totals_digest(decision.totals), points=points)


def test_a_decision_that_is_the_recorded_one() -> None:
    decision = decided(cpu="1")
    assert decision.totals is not None
    assert find_deviation(faithful(decision), decision, totals_digest(decision.totals)) is None


@pytest.mark.parametrize(
    ("field", "value", "what"),
    [
        ("node", "small", "node"),
        ("outcome", "error", "outcome"),
        ("message", "other", "message"),
        ("refusing_plugins", ("Fit",), "refusing plugins"),
        ("nominated_node", "big", "nominated node"),
        ("victims", ("default/a",), "victims"),
        ("evaluated", 99, "evaluated nodes"),
        ("feasible", 99, "feasible nodes"),
    ],
)
def test_what_deviates(field: str, value: Any, what: str) -> None:
    decision = decided(cpu="1")
    recorded = faithful(decision)
    setattr(recorded.record, field, value)
    found = find_deviation(recorded, decision, recorded.totals)
    assert found is not None
    assert found[0] == what


def test_the_plugin_behind_other_totals() -> None:
    recorded, now = faithful(decided(cpu="1")), decided(Prefers, cpu="1")
    assert now.totals is not None
    now = replace(now, node_name="big")
    assert find_deviation(recorded, now, totals_digest(now.totals)) is not None
    slower = replace(recorded, points={**recorded.points, "NodeResourcesFit": 1})
    assert deviating_plugin(slower, now, now) == "NodeResourcesFit"


def test_the_plugin_behind_another_node() -> None:
    recorded, now = faithful(decided(cpu="1")), decided(Prefers, cpu="1")
    assert deviating_plugin(recorded, now, now) == "Prefers"


def test_the_plugin_behind_another_refusal() -> None:
    recorded, now = ends("big"), decided(cpu="900")
    assert deviating_plugin(recorded, now, now) == "NodeResourcesFit"
