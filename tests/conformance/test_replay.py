"""The replay can fail: a recorded decision that is changed anywhere is found to differ."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.conformance import replay
from tests.conformance.recordings import SCENARIOS, record
from tests.conformance.test_vectors import differences


@pytest.fixture(scope="module")
def recorded() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return our decision and the recorded one of a scenario that was scored."""
    for release, group, index, _ in SCENARIOS:
        if group != "default-profile":
            continue
        scenario, expected = record(release, group, index)
        if expected["outcome"] == "scheduled" and len(expected["feasible"]) > 1:
            return replay.Replay(scenario, release).one(), expected
    raise AssertionError("no such scenario")


def test_the_decision_is_the_recorded_one(recorded: Any) -> None:
    assert differences(*recorded) == []


FIELDS = (
    *("pod", "outcome", "preEnqueue", "preFilter", "filter", "skippedFilter", "skippedScore"),
    *("feasible", "scores", "total", "best", "chosen", "message", "preemption"),
)


@pytest.mark.parametrize("field", FIELDS)
def test_a_changed_field_differs(recorded: Any, field: str) -> None:
    ours, expected = recorded
    changed = copy.deepcopy(expected)
    changed[field] = "changed"
    assert len(differences(ours, changed)) == 1


def test_a_changed_score_differs(recorded: Any) -> None:
    ours, expected = recorded
    changed = copy.deepcopy(expected)
    scores = next(iter(changed["scores"].values()))
    next(iter(scores.values()))["raw"] += 1
    assert len(differences(ours, changed)) == 1


def test_a_node_too_many_differs(recorded: Any) -> None:
    ours, expected = recorded
    changed = copy.deepcopy(expected)
    changed["filter"]["another"] = None
    assert differences(ours, changed) == ["filter/another: ours 'absent', recorded None"]
