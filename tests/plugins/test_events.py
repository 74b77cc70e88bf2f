"""The cluster events of each node plugin, compared with kube-scheduler's EventsToRegister."""

from __future__ import annotations

import pytest

from mooring.framework.cluster_events import ActionType
from mooring.plugins.image_locality import ImageLocality
from mooring.plugins.node_affinity import NodeAffinity
from mooring.plugins.node_declared_features import NodeDeclaredFeatures
from mooring.plugins.node_name import NodeName
from mooring.plugins.node_ports import NodePorts
from mooring.plugins.node_resources import BalancedAllocation, Fit
from mooring.plugins.node_unschedulable import NodeUnschedulable
from mooring.plugins.scheduling_gates import SchedulingGates
from mooring.plugins.taint_toleration import TaintToleration
from tests.plugins.cluster import Cluster

A = ActionType
DEVICE_CLASS = "resource.k8s.io/DeviceClass"

# (resource, actions, whether there is a hint); without one, every such event queues the pod
EVENTS = {
    SchedulingGates: [("TargetPod", A.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, False)],
    NodeUnschedulable: [
        ("Node", A.ADD | A.UPDATE_NODE_TAINT, True),
        ("TargetPod", A.UPDATE_POD_TOLERATION, True),
    ],
    NodeName: [("Node", A.ADD, False)],
    TaintToleration: [
        ("Node", A.ADD | A.UPDATE_NODE_TAINT, True),
        ("TargetPod", A.UPDATE_POD_TOLERATION, False),
    ],
    NodeAffinity: [("Node", A.ADD | A.UPDATE_NODE_LABEL, True)],
    NodePorts: [("AssignedPod", A.DELETE, True), ("Node", A.ADD, False)],
    Fit: [
        ("AssignedPod", A.DELETE | A.UPDATE_POD_SCALE_DOWN, True),
        ("TargetPod", A.UPDATE_POD_SCALE_DOWN, False),
        ("Node", A.ADD | A.UPDATE_NODE_ALLOCATABLE, True),
        (DEVICE_CLASS, A.ADD | A.UPDATE, True),
    ],
    NodeDeclaredFeatures: [
        ("Node", A.ADD | A.UPDATE_NODE_DECLARED_FEATURE, True),
        ("TargetPod", A.UPDATE, True),
    ],
}


@pytest.mark.parametrize(
    ("plugin", "expected"), EVENTS.items(), ids=lambda x: getattr(x, "name", "")
)
def test_events(plugin, expected) -> None:
    events = Cluster().make(plugin).events_to_register()
    found = [(event.resource.value, event.actions, event.hint is not None) for event in events]
    assert found == expected


@pytest.mark.parametrize("plugin", [BalancedAllocation, ImageLocality])
def test_plugins_that_refuse_nothing_ask_for_no_events(plugin) -> None:
    assert not hasattr(plugin, "events_to_register")
