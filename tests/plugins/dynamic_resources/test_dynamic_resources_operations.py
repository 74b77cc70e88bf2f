"""Devices that do not need all operations of their node (DRAOptionalNodeOperations)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mooring.api import Node, ResourceSlice
from mooring.framework.features import FeatureGates
from tests.plugins.dynamic_resources.devices import allocated_on, claim, device_slice, node, pod
from tests.plugins.dynamic_resources.memory_devices import Devices

FEATURE = "DRAOptionalNodeOperations"
ON = FeatureGates({FEATURE: True})
SKIPS = ("Prepare",)


def declaring(name: str, *features: str) -> Node:
    one = node(name)
    return replace(one, status=replace(one.status, declared_features=features))


def skipping(node_name: str) -> ResourceSlice:
    one = device_slice(node_name, "d0")
    return replace(one, spec=replace(one.spec, skip_node_operations=SKIPS))


@pytest.mark.parametrize(
    ("gates", "answer"),
    [
        pytest.param(ON, "c", id="a node that declares the feature"),
        pytest.param(
            FeatureGates(),
            "0/4 nodes are available: 4 cannot allocate all claims.",
            id="the gate is off",
        ),
    ],
)
def test_only_a_node_that_can_leave_operations_out_gets_such_a_device(
    gates: FeatureGates, answer: str
) -> None:
    nodes = declaring("c", FEATURE), declaring("d")
    devices = Devices(claim(), *nodes, skipping("c"), skipping("d"), features=gates)
    assert devices.try_pod(pod("pod", "c")).startswith(answer)
    if answer == "c":
        allocation = devices.claim().status.allocation
        assert allocation is not None
        assert allocation.devices.results[0].skip_node_operations == SKIPS


def test_a_node_that_begins_to_declare_the_feature_is_asked_again() -> None:
    devices = Devices(claim(), declaring("d"), skipping("d"), features=ON)
    one = pod("pod", "c")
    assert "cannot allocate" in devices.try_pod(one)
    devices.scheduler.cluster.nodes.update(declaring("d", FEATURE))
    assert devices.try_pod(replace(one, metadata=replace(one.metadata, name="next"))) == "d"


def test_an_allocated_claim_needs_the_feature_on_every_node_of_its_pods() -> None:
    status: dict[str, Any] = allocated_on("c", skipNodeOperations=list(SKIPS))
    del status["allocation"]["nodeSelector"]
    devices = Devices(claim(status=status), declaring("c", FEATURE), features=ON)
    assert devices.try_pod(pod("pod", "c")) == "c"
