"""What plugins that preempt under a policy of their own have in common."""

from __future__ import annotations

from typing import Any

from mooring.api import PodDisruptionBudget, decode_as
from mooring.contrib.preempting import PreemptingPlugin
from mooring.framework.decision import Decision
from mooring.testing import check_plugin, make_node, make_pod, run_cycle
from tests.contrib.profiles import configuration


class ByPriority(PreemptingPlugin):
    """A plugin that preempts under the policy of the base class."""


def decide(*objects: Any) -> Decision:
    low = make_pod("low", node="n", cpu="3", priority=1, labels={"app": "web"})
    return run_cycle(
        pod=make_pod("high", cpu="3", priority=10),
        nodes=[make_node("n", cpu=4)],
        pods=[low],
        objects=objects,
        plugins=[ByPriority],
        config=configuration("ByPriority", disabled=["DefaultPreemption"]),
    )


def test_pods_of_lower_priority_are_removed() -> None:
    decision = decide()
    assert decision.post_filter is not None
    assert decision.post_filter.nominated_node == "n"
    assert [victim.name for victim in decision.post_filter.victims] == ["low"]


def test_disruption_budgets_are_counted() -> None:
    budget = {
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": 0},
    }
    decision = decide(decode_as(budget, PodDisruptionBudget))
    assert decision.post_filter is not None
    assert [one.pdb_violations for one in decision.post_filter.candidates] == [1]


def test_the_contract() -> None:
    check_plugin(ByPriority)
