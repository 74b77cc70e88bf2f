"""Which nodes a pod may preempt on whose resize is deferred, and what wakes it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mooring.api import Node, Pod
from mooring.framework.cluster_events import QueueingHint
from mooring.framework.features import FeatureGates
from mooring.framework.node_info import NodeInfo
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.deferred_pod_scheduling import (
    DISABLED,
    FITS,
    OTHER_NODE,
    DeferredPodScheduling,
)
from mooring.testing import make_node, make_pod

ON = FeatureGates({"InPlacePodVerticalScalingSchedulerPreemption": True})


def plugin(gates: FeatureGates = ON) -> DeferredPodScheduling:
    handle: Any = SimpleNamespace(features=gates)
    made = DeferredPodScheduling(handle=handle)
    made.start()
    return made


def resized(reason: str = "Deferred", node: str = "a") -> Pod:
    condition = {"type": "PodResizePending", "status": "True", "reason": reason}
    return make_pod("pod", node=node, status={"conditions": [condition]})


def node(name: str = "a", *disabled_by: str) -> Node:
    policy = {"podPreemptionPolicy": {"disableResizePreemption": list(disabled_by)}}
    return make_node(name, spec=policy if disabled_by else {})


@pytest.mark.parametrize(
    ("where", "answer"),
    [
        pytest.param(node(), None, id="its own node"),
        pytest.param(node("b"), OTHER_NODE, id="another node"),
        pytest.param(node("a", "admin"), DISABLED, id="a node that disables it"),
    ],
)
def test_a_pod_may_preempt_on_its_own_node(where: Node, answer: Status | None) -> None:
    made, state = plugin(), CycleState()
    assert made.filter(state, resized(), NodeInfo(where)) == answer
    assert made.filter(state, resized("Infeasible"), NodeInfo(where)) is None
    assert plugin(FeatureGates()).filter(state, resized(), NodeInfo(where)) is None


def test_the_kubelet_carries_a_resize_out() -> None:
    made, state = plugin(), CycleState()
    assert made.permit(state, resized(), "a") == FITS
    assert made.permit(state, make_pod("pod"), "a") is None


def test_other_pods_are_skipped() -> None:
    nodes: Any = None
    assert plugin().pre_filter(CycleState(), resized(), nodes) is None
    assert plugin().pre_filter(CycleState(), make_pod("pod"), nodes) == Status.skip()


@pytest.mark.parametrize(
    ("old", "new", "queue"),
    [
        pytest.param(None, node(), True, id="its node comes"),
        pytest.param(None, node("b"), False, id="another node comes"),
        pytest.param(None, node("a", "admin"), False, id="its node comes, and disables it"),
        pytest.param(node("a", "admin"), node(), True, id="its node allows it again"),
        pytest.param(node(), node("a", "admin"), False, id="its node disables it"),
    ],
)
def test_which_events_may_help(old: Node | None, new: Node, queue: bool) -> None:
    for event in plugin().events_to_register():
        assert event.hint is not None
        answer = QueueingHint.QUEUE if queue else QueueingHint.SKIP
        assert event.hint(resized(), old, new) is answer
        assert event.hint(make_pod("pod"), old, new) is QueueingHint.SKIP
