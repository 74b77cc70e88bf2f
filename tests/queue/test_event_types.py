"""Which events an update causes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring.framework.features import FeatureGates
from mooring.framework.releases import parse_versions
from mooring.queue import event_types
from mooring.queue.event_types import Changes
from mooring.testing.builders import make_node, make_pod

ALL_ON = Changes(FeatureGates())
IN_1_36 = Changes(FeatureGates(None, parse_versions(["1.36"])))


def labels(found: list[Any]) -> list[str]:
    return [event.label for event in found]


@pytest.mark.parametrize(
    ("event", "label"),
    [
        pytest.param(event_types.ASSIGNED_POD_ADD, "AssignedPodAdd", id="assigned pod added"),
        pytest.param(
            event_types.ASSIGNED_POD_DELETE, "AssignedPodDelete", id="assigned pod deleted"
        ),
        pytest.param(ALL_ON.pod_add, "UnscheduledPodAdd", id="pending pod added"),
        pytest.param(ALL_ON.pod_update, "UnscheduledPodUpdate", id="updated"),
        pytest.param(ALL_ON.pod_delete, "UnscheduledPodDelete", id="deleted"),
        pytest.param(IN_1_36.pod_add, "UnschedulablePodAdd", id="pending pod added in 1.36"),
        pytest.param(IN_1_36.pod_update, "UnschedulablePodUpdate", id="updated in 1.36"),
        pytest.param(event_types.UNSCHEDULABLE_TIMED_OUT, "UnschedulableTimeout", id="timed out"),
        pytest.param(event_types.FORCE_ACTIVATED, "ForceActivate", id="activated by a plugin"),
        pytest.param(event_types.NODE_ADD, "NodeAdd", id="node added"),
    ],
)
def test_labels(event: Any, label: str) -> None:
    assert event.label == label


def pods(**changed: Any) -> tuple[Any, Any]:
    before = changed.pop("before", {})
    return make_pod("p", **before), make_pod("p", **changed)


CLAIM = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "gpu-1"}]}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(*pods(), ["Update"], id="nothing"),
        pytest.param(*pods(annotations={"a": "b"}), ["Update"], id="an annotation"),
        pytest.param(*pods(labels={"a": "b"}), ["UpdatePodLabel"], id="a label"),
        pytest.param(
            *pods(before={"cpu": "2"}, cpu="1"), ["UpdatePodScaleDown"], id="a smaller request"
        ),
        pytest.param(
            *pods(before={"cpu": "2"}), ["UpdatePodScaleDown"], id="a request that is dropped"
        ),
        pytest.param(
            *pods(before={"cpu": "1"}, cpu="2"), ["UpdatePodScaleUp"], id="a larger request"
        ),
        pytest.param(
            *pods(before={"cpu": "1"}, memory="1Gi"),
            ["UpdatePodScaleDown", "UpdatePodScaleUp"],
            id="another request",
        ),
        pytest.param(*pods(before={"cpu": "1"}, cpu="1000m"), ["Update"], id="spelt otherwise"),
        pytest.param(
            make_pod("p", spec={"overhead": {"cpu": "1"}}),
            make_pod("p"),
            ["UpdatePodScaleDown"],
            id="an overhead that is dropped",
        ),
        pytest.param(
            *pods(before={"gates": ["g"]}),
            ["UpdatePodSchedulingGatesEliminated"],
            id="the last gate",
        ),
        pytest.param(*pods(before={"gates": ["g", "h"]}, gates=["g"]), ["Update"], id="a gate"),
        pytest.param(*pods(tolerations=["spot"]), ["UpdatePodToleration"], id="a toleration"),
        pytest.param(*pods(status=CLAIM), ["UpdatePodGeneratedResourceClaim"], id="a claim"),
        pytest.param(
            *pods(labels={"a": "b"}, tolerations=["spot"]),
            ["UpdatePodLabel", "UpdatePodToleration"],
            id="two things",
        ),
    ],
)
def test_of_pod(old: Any, new: Any, expected: list[str]) -> None:
    assert labels(ALL_ON.of_pod(old, new)) == [f"UnscheduledPod{label}" for label in expected]
    own = labels(ALL_ON.of_pod(old, new, is_target=True))
    assert own == [f"TargetPod{label}" for label in expected]
    in_1_36 = [label for label in expected if label != "UpdatePodScaleUp"] or ["Update"]
    for is_target in (False, True):
        found = labels(IN_1_36.of_pod(old, new, is_target=is_target))
        assert found == [f"UnschedulablePod{label}" for label in in_1_36]


def test_a_resize_counts_when_the_kubelet_has_done_it() -> None:
    name = make_pod("p").spec.containers[0].name

    def holding(cpu: str) -> Any:
        status = {"name": name, "resources": {"requests": {"cpu": cpu}}}
        return make_pod("p", cpu="1", node="a", status={"containerStatuses": [status]})

    assert labels(ALL_ON.of_pod(holding("2"), holding("1"))) == ["AssignedPodUpdatePodScaleDown"]
    assert labels(ALL_ON.of_pod(holding("1"), holding("2"))) == ["AssignedPodUpdatePodScaleUp"]
    assert labels(IN_1_36.of_pod(holding("1"), holding("2"))) == ["AssignedPodUpdate"]


def test_a_preemption_policy_of_a_node_is_an_action_since_1_37() -> None:
    policy = {"podPreemptionPolicy": {"disableResizePreemption": ["example.com/me"]}}
    old, new = make_node("n"), make_node("n", spec=policy)
    assert labels(ALL_ON.of_node(old, new)) == ["NodeUpdateNodePreemptionPolicy"]
    assert IN_1_36.of_node(old, new) == []


def nodes(old: dict[str, Any], new: dict[str, Any]) -> tuple[Any, Any]:
    return make_node("a", **old), make_node("a", **new)


def ready(status: str, time: str) -> dict[str, Any]:
    condition = {"type": "Ready", "status": status, "lastHeartbeatTime": time}
    return {"status": {"conditions": [condition]}}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(*nodes({}, {}), [], id="nothing"),
        pytest.param(*nodes({"cpu": "4"}, {"cpu": "5"}), ["UpdateNodeAllocatable"], id="room"),
        pytest.param(*nodes({"cpu": "4"}, {"cpu": "4000m"}), [], id="room spelt otherwise"),
        pytest.param(*nodes({}, {"disk": "ssd"}), ["UpdateNodeLabel"], id="a label"),
        pytest.param(*nodes({}, {"taints": ["a:NoSchedule"]}), ["UpdateNodeTaint"], id="a taint"),
        pytest.param(*nodes({"unschedulable": True}, {}), ["UpdateNodeTaint"], id="uncordoned"),
        pytest.param(*nodes({}, {"unschedulable": True}), [], id="cordoned"),
        pytest.param(
            *nodes(ready("False", "1"), ready("True", "2")), ["UpdateNodeCondition"], id="ready"
        ),
        pytest.param(*nodes(ready("True", "1"), ready("True", "2")), [], id="a heartbeat"),
        pytest.param(
            *nodes({}, {"annotations": {"a": "b"}}), ["UpdateNodeAnnotation"], id="an annotation"
        ),
        pytest.param(
            *nodes({}, {"status": {"declaredFeatures": ["F"]}}),
            ["UpdateNodeDeclaredFeature"],
            id="a declared feature",
        ),
        pytest.param(
            *nodes({"cpu": "4"}, {"cpu": "5", "disk": "ssd"}),
            ["UpdateNodeAllocatable", "UpdateNodeLabel"],
            id="two things",
        ),
    ],
)
def test_of_node(old: Any, new: Any, expected: list[str]) -> None:
    assert labels(ALL_ON.of_node(old, new)) == [f"Node{label}" for label in expected]


def test_declared_features_count_only_where_their_gate_is_on() -> None:
    old, new = nodes({}, {"status": {"declaredFeatures": ["F"]}})
    gates = FeatureGates({"AllBeta": False}, parse_versions(["1.36"]))
    assert Changes(gates).of_node(old, new) == []


def test_an_object_that_is_the_same_costs_no_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_types, "pod_requests", None)
    old = make_pod("p", cpu="1", node="a")
    new = msgspec.structs.replace(
        old, status=msgspec.structs.replace(old.status, phase="Running", pod_ip="10.0.0.1")
    )
    assert labels(ALL_ON.of_pod(old, new)) == ["AssignedPodUpdate"]
