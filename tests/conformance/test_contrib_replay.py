"""The replay of the scheduler-plugins family can fail: a changed recording is found to differ."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.conformance.contrib import queue_sort, reading, sequences, single_cycle
from tests.conformance.contrib.comparing import differences


def named(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    for group, index, found in reading.scenarios():
        if found == name:
            return reading.record(group, index)
    pytest.fail(f"no scenario {name}")


@pytest.mark.parametrize(
    "field", ["pod", "outcome", "preFilter", "filter", "feasible", "scores", "total", "best"]
)
def test_a_changed_field_of_a_cycle_differs(field: str) -> None:
    scenario, expected = named("podstate-empty-nodes")
    assert single_cycle.check(scenario, expected) == []
    assert single_cycle.check(scenario, {**expected, field: "changed"})


@pytest.mark.parametrize("field", ["victims", "nominatedNode", "candidates", "result", "status"])
def test_a_changed_field_of_a_preemption_differs(field: str) -> None:
    scenario, expected = named("capacityscheduling-reclaim")
    changed = copy.deepcopy(expected)
    changed["preemption"][field] = "changed"
    assert single_cycle.check(scenario, changed)


def test_a_changed_usage_differs() -> None:
    scenario, expected = named("capacityscheduling-at-max")
    changed = copy.deepcopy(expected)
    changed["usedAfterReserve"]["a"]["cpuMilli"] += 1
    (difference,) = single_cycle.check(scenario, changed)
    assert difference == "usedAfterReserve/a/cpuMilli: ours 4000, recorded 4001"


def test_a_panic_that_we_share_is_a_fault() -> None:
    scenario, expected = named("podstate-empty-nodes")
    assert single_cycle.check(scenario, {**expected, "outcome": "panic"}) == []
    broken = copy.deepcopy(scenario)
    broken["pod"]["spec"]["schedulerName"] = "nobody"
    with pytest.raises(KeyError):
        single_cycle.check(broken, {**expected, "outcome": "panic"})


@pytest.mark.parametrize("field", ["assigned", "waiting", "permit", "podsToActivate", "node"])
def test_a_changed_field_of_a_step_differs(field: str) -> None:
    scenario, expected = named("coscheduling-gang-of-three")
    assert sequences.check(scenario, expected) == []
    changed = copy.deepcopy(expected)
    changed["sequence"][0][field] = "changed"
    assert len(sequences.check(scenario, changed)) == 1


def test_a_step_that_does_not_apply_is_skipped_on_both_sides() -> None:
    scenario, expected = named("coscheduling-gang-of-three")
    changed = copy.deepcopy(expected)
    changed["sequence"][1] = {"op": "schedule", "skipped": True}
    assert sequences.check(scenario, changed)


def test_a_changed_order_differs() -> None:
    scenario, expected = named("qossort-equal")
    assert queue_sort.check(scenario, expected) == []
    changed = copy.deepcopy(expected)
    changed["less"][0][1] = True
    assert queue_sort.check(scenario, changed)
    assert queue_sort.check(scenario, {**expected, "order": [["default/a"], ["default/b"]]})


@pytest.mark.parametrize(
    ("less", "found"),
    [
        ([[True]], 1),
        ([[False, True], [True, False]], 1),
        ([[False, True, False], [False, False, False], [False, False, False]], 1),
        ([[False, True], [False, False]], 0),
    ],
    ids=["reflexive", "symmetric", "equality that is not transitive", "an order"],
)
def test_what_is_no_strict_weak_order(less: list[list[bool]], found: int) -> None:
    names = ["a", "b", "c"][: len(less)]
    assert bool(queue_sort.not_a_strict_weak_order(names, less)) is bool(found)


def test_go_structures_are_not_compared_and_the_rest_is() -> None:
    ours = {"text": "resource gap: map[cpu:1] and more"}
    assert differences(ours, {"text": "resource gap: map[cpu:{{1}}] and more"}, ["text"]) == []
    assert differences(ours, {"text": "resource gap: map[] and less"}, ["text"])


def test_exponentials_are_compared_with_a_tolerance() -> None:
    def scores(plugin: str, raw: int, normalized: int) -> dict[str, Any]:
        return {"scores": {plugin: {"n": {"raw": raw, "normalized": normalized, "weight": 1}}}}

    near, far = (10**15 + 100, 51), (10**15 + 10**5, 50)
    exact = (10**15, 50)
    assert differences(scores("Peaks", *near), scores("Peaks", *exact), ["scores"]) == []
    assert differences(scores("Peaks", *far), scores("Peaks", *exact), ["scores"])
    assert differences(scores("Other", *near), scores("Other", *exact), ["scores"])
