"""Why a pod gets another node than the one expected."""

from __future__ import annotations

from typing import Any

from mooring.config import default_config
from mooring.framework.decision import Outcome
from mooring.registry import default_registry
from mooring.testing.builders import make_node, make_pod
from mooring.virtual.comparing_scheduler import (
    ComparingScheduler,
    Why,
    is_best,
    weighted_gains,
    why_changed,
    why_elsewhere,
)
from mooring.virtual.driving import drive
from mooring.virtual.simulation import schedule_all


def make_scheduler(*objects: Any) -> ComparingScheduler:
    registry = default_registry()
    return ComparingScheduler(objects, config=default_config(registry=registry), registry=registry)


def test_the_reason_is_kept_and_the_details_are_dropped() -> None:
    pods = [make_pod("refused", cpu="3"), make_pod("worse", cpu="1"), make_pod("same", cpu="1")]
    scheduler = make_scheduler(make_node("big", cpu="64"), make_node("small", cpu="2"), *pods)
    refused, worse, same = (pod.uid for pod in pods)
    scheduler.moves.origins = {refused: "small", worse: "small", same: "big"}
    outcomes = drive(schedule_all(scheduler))
    assert scheduler.moves.reasons.keys() == {refused, worse}
    assert scheduler.moves.reasons[refused] == Why("NodeResourcesFit", 0, "Insufficient cpu")
    assert scheduler.moves.reasons[worse].plugin == "NodeResourcesFit"
    assert scheduler.moves.reasons[worse].change > 0
    for decision in outcomes.decisions.values():
        assert (decision.statuses, decision.feasible, decision.totals) == (None, None, None)


def test_a_pod_is_decided_on_the_state_without_it() -> None:
    pod = make_pod("p", cpu="4", node="only")
    scheduler = make_scheduler(make_node("only", cpu="4"), pod)
    cache = scheduler.cache
    info = cache.pod(pod.uid)
    assert info is not None
    decision = scheduler.decide_without(info)
    assert (decision.outcome, decision.node_name) == (Outcome.SCHEDULED, "only")
    assert decision.pod.spec.node_name == ""
    assert cache.nodes.requested("cpu").tolist() == [4000]
    cache.validate()


def test_what_is_best_and_what_a_node_gains() -> None:
    pod = make_pod("p", cpu="1", node="c")
    nodes = [make_node("a", cpu="8"), make_node("b", cpu="8"), make_node("c"), make_node("d")]
    full = make_pod("full", cpu="4", node="d")
    scheduler = make_scheduler(*nodes, pod, full)
    info = scheduler.cache.pod(pod.uid)
    assert info is not None
    decision = scheduler.decide_without(info)
    assert [is_best(decision, name) for name in ("a", "b", "c", "d", "x")] == [
        True,
        True,
        False,
        False,
        False,
    ]
    gains = weighted_gains(decision, "c", "a")
    assert gains["NodeResourcesFit"] > 0 == gains["TaintToleration"]
    assert weighted_gains(decision, "d", "a") == weighted_gains(decision, "x", "a") == {}
    assert why_elsewhere(decision, "c", "a") == Why("NodeResourcesFit", gains["NodeResourcesFit"])
    assert why_elsewhere(decision, "d", "a").reason == "Insufficient cpu"
    assert why_elsewhere(decision, "x", "a") == Why()
    assert why_changed(decision, decision, "c", "a").change == 0
    assert why_changed(decision, decision, "a", "d").reason == "Insufficient cpu"
