"""Taints that follow from a node's state, against a real kube-apiserver and Mooring's."""

from __future__ import annotations

import pytest

from mooring.api import Node
from mooring.api.kinds import decode_as
from mooring.controllers.node_lifecycle import wanted_taints
from tests.support.controllers import Workbench

READY = "node.kubernetes.io/not-ready"
LOST = "node.kubernetes.io/unreachable"


@pytest.mark.parametrize(
    ("conditions", "unschedulable", "taints"),
    [
        ({"Ready": "True", "MemoryPressure": "False"}, False, set()),
        ({"Ready": "False"}, False, {(READY, "NoSchedule"), (READY, "NoExecute")}),
        ({"Ready": "Unknown"}, False, {(LOST, "NoSchedule"), (LOST, "NoExecute")}),
        (
            {"Ready": "True", "DiskPressure": "True", "PIDPressure": "Unknown"},
            False,
            {("node.kubernetes.io/disk-pressure", "NoSchedule")},
        ),
        ({}, True, {("node.kubernetes.io/unschedulable", "NoSchedule")}),
    ],
    ids=[
        "a healthy node has none",
        "a node that is not ready repels and evicts",
        "a node that is lost repels and evicts",
        "pressure repels",
        "a cordoned node repels",
    ],
)
def test_taints_follow_from_the_state(
    conditions: dict[str, str], unschedulable: bool, taints: set[tuple[str, str]]
) -> None:
    node = decode_as(
        {
            "spec": {"unschedulable": unschedulable},
            "status": {
                "conditions": [{"type": key, "status": text} for key, text in conditions.items()]
            },
        },
        Node,
    )
    assert wanted_taints(node) == taints


def taints(bench: Workbench, name: str) -> set[tuple[str, str]]:
    node = bench.store(Node).get(name)
    return {(one.key, one.effect) for one in node.spec.taints} if node else {("no", "node")}


async def test_a_node_gets_and_loses_its_taints(workbench: Workbench) -> None:
    await workbench.until(lambda: taints(workbench, "node-0") == set(), "a clean node")
    await workbench.patch(Node, "node-0", {"spec": {"unschedulable": True}}, namespace="")
    cordoned = ("node.kubernetes.io/unschedulable", "NoSchedule")
    await workbench.until(lambda: taints(workbench, "node-0") == {cordoned}, "the cordon")
    own = [{"key": "mine", "value": "yes", "effect": "NoSchedule"}]
    spec = {"unschedulable": None, "taints": own}
    await workbench.patch(Node, "node-0", {"spec": spec}, namespace="")
    await workbench.until(
        lambda: taints(workbench, "node-0") == {("mine", "NoSchedule")}, "a taint of its own"
    )
    condition = {"type": "Ready", "status": "False", "reason": "KubeletNotReady"}
    await workbench.patch_status(Node, "node-0", {"conditions": [condition]}, namespace="")
    await workbench.until(
        lambda: (
            taints(workbench, "node-0")
            == {("mine", "NoSchedule"), (READY, "NoSchedule"), (READY, "NoExecute")}
        ),
        "the taints of a node that is not ready",
    )
