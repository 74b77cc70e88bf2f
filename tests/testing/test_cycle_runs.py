"""Runs of the whole scheduler on a few pods and nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mooring import Plugin, Status
from mooring.errors import ConfigErrors
from mooring.framework.decision import Outcome
from mooring.testing import make_node, make_pod, run_cycle


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
