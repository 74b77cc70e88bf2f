"""Runs of the whole scheduler on a few pods and nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mooring import Plugin, Status
from mooring.errors import ConfigErrors
from mooring.framework.decision import Outcome
from mooring.testing import make_node, make_pod, make_pod_group, run_cycle


class OnSsd(Plugin):
    """Keep pods on nodes labelled disk=ssd."""

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        """Refuse the others."""
        return None if node.labels.get("disk") == "ssd" else Status.unschedulable("no ssd")


NODES = [make_node("a", disk="ssd"), make_node("b"), make_node("c")]


def test_a_cycle_runs_the_plugin_beside_the_built_in_ones() -> None:
    decision = run_cycle(pod=make_pod(cpu="1"), nodes=NODES, plugins=[OnSsd])
    assert (decision.outcome, decision.node_name) == (Outcome.SCHEDULED, "a")
    decision = run_cycle(pod=make_pod(cpu="100"), nodes=NODES, plugins=[OnSsd])
    assert decision.message.startswith("0/3 nodes are available: 3 Insufficient cpu.")


def test_a_cycle_waits_at_permit_on_a_virtual_clock() -> None:
    class Waiting(Plugin):
        def permit(self, state: Any, pod: Any, node_name: str) -> Status:
            return Status.wait(600, "not yet")

    decision = run_cycle(pod=make_pod(), nodes=NODES, plugins=[Waiting])
    assert decision.outcome is not Outcome.SCHEDULED


def test_many_pods_are_scheduled_and_answered_in_the_order_given() -> None:
    pods = [make_pod("low", cpu="3"), make_pod("high", cpu="3", priority=9)]
    decisions = run_cycle(pods=pods, nodes=[make_node("a")])
    assert [decision.pod.name for decision in decisions] == ["low", "high"]
    assert [decision.node_name for decision in decisions] == ["", "a"]


def test_a_cycle_takes_a_configuration(tmp_path: Path) -> None:
    text = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: mine
  plugins: {filter: {enabled: [{name: OnSsd}]}}
"""
    path = tmp_path / "config.yaml"
    path.write_text(text)
    pod = make_pod(scheduler_name="mine")
    assert run_cycle(pod=pod, nodes=NODES, plugins=[OnSsd], config=path).node_name == "a"
    with pytest.raises(ConfigErrors, match="not registered"):
        run_cycle(pod=pod, nodes=NODES, config=path)
    with pytest.raises(ValueError, match="names the scheduler default-scheduler"):
        run_cycle(pod=make_pod(), nodes=NODES, plugins=[OnSsd], config=path)


# Pod groups.


def members(count: int, **fields: Any) -> list[Any]:
    return [make_pod(f"g-{index}", group="g", **fields) for index in range(count)]


def test_a_pod_of_a_group_is_tried_with_the_others() -> None:
    first, *others = members(3, cpu="2")
    group = make_pod_group("g", min_count=3)
    nodes = [make_node("a", cpu=4), make_node("b", cpu=2)]
    decision = run_cycle(pod=first, pods=others, nodes=nodes, objects=[group])
    assert decision.pod.name == "g-0"
    assert decision.outcome is Outcome.SCHEDULED
    decision = run_cycle(pod=first, pods=others, nodes=nodes[:1], objects=[group])
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining" in decision.message


def test_a_group_that_is_not_complete_waits() -> None:
    (pod,) = members(1)
    decision = run_cycle(pod=pod, nodes=NODES, objects=[make_pod_group("g", min_count=2)])
    assert decision.outcome is Outcome.GATED
    assert decision.pre_enqueue is not None
    assert "minCount" in decision.pre_enqueue.message


def test_a_gate_of_one_member_holds_the_group_back() -> None:
    first, _ = members(2)
    held = make_pod("g-1", group="g", gates=["example.com/wait"])
    group = make_pod_group("g", min_count=2)
    decision = run_cycle(pod=first, pods=[held], nodes=NODES, objects=[group])
    assert decision.outcome is Outcome.GATED
    assert decision.pre_enqueue is not None
    assert "example.com/wait" in decision.pre_enqueue.message


def test_all_pods_of_a_group_share_a_rack() -> None:
    nodes = [make_node(name, cpu=2, rack=name[0]) for name in ("a1", "b1", "b2")]
    group = make_pod_group("g", min_count=4, topology="rack")
    decisions = run_cycle(pods=members(4, cpu="1"), nodes=nodes, objects=[group])
    assert {decision.node_name for decision in decisions} == {"b1", "b2"}


def test_pods_of_a_group_are_single_if_the_gate_is_off() -> None:
    first, second = members(2, cpu="3")
    group = make_pod_group("g", min_count=2)
    decisions = run_cycle(
        pods=[first, second],
        nodes=[make_node("a", cpu=4)],
        objects=[group],
        features={"GenericWorkload": False},
    )
    assert [decision.node_name for decision in decisions] == ["a", ""]
