from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring.api import DeviceClass, decode_as
from mooring.framework.cluster_events import QueueingHint
from mooring.framework.placements import GroupAssignments
from mooring.framework.state import CycleState
from mooring.framework.what_if import WhatIf, one_row
from mooring.plugins.args import NodeResourcesFitArgs
from mooring.plugins.node_resources import Fit
from mooring.testing import make_pod_group
from tests.plugins.cluster import Cluster, hints, make_node, make_pod, refused, unresolvable

GPU, NIC = "nvidia.com/gpu", "vendor.io/nic"


def args(**fields: Any) -> NodeResourcesFitArgs:
    return msgspec.convert(fields, NodeResourcesFitArgs)


def asking(uid: str = "pod", **requests: str):
    """Make a pod; underscores in names of resources stand for hyphens."""
    return make_pod(uid=uid, requests={k.replace("_", "-"): v for k, v in requests.items()})


def wanting(requests: dict[str, str], uid: str = "pod", **parts: Any):
    return make_pod(uid=uid, requests=requests, **parts)


def cluster(**parts: Any) -> Cluster:
    """Make one node with 4 cpu, 8Gi and 4 gpu, of which a pod takes 3 cpu, 1Gi and 3 gpu."""
    node = make_node(
        "node", allocatable={"ephemeral-storage": "100Gi", GPU: "4", "hugepages-2Mi": "10Mi"}
    )
    taken = wanting({"cpu": "3", "memory": "1Gi", GPU: "3"}, uid="taken", node="node")
    return Cluster([node], [taken], **parts)


@pytest.mark.parametrize(
    ("requests", "verdict"),
    [
        pytest.param({}, None, id="a pod that asks for nothing"),
        pytest.param({"cpu": "1", "memory": "7Gi", GPU: "1"}, None, id="exactly what is free"),
        pytest.param({"cpu": "1001m"}, refused("Insufficient cpu"), id="too little cpu is free"),
        pytest.param({"cpu": "4001m"}, unresolvable("Insufficient cpu"), id="more cpu than it has"),
        pytest.param({"memory": "7.1Gi"}, refused("Insufficient memory"), id="too little memory"),
        pytest.param(
            {"cpu": "2", "memory": "9Gi"},
            unresolvable("Insufficient cpu", "Insufficient memory"),
            id="one request beyond the node makes it unresolvable",
        ),
        pytest.param(
            {"ephemeral-storage": "101Gi"},
            unresolvable("Insufficient ephemeral-storage"),
            id="ephemeral storage",
        ),
        pytest.param({GPU: "2"}, refused(f"Insufficient {GPU}"), id="an extended resource"),
        pytest.param(
            {NIC: "1"}, unresolvable(f"Insufficient {NIC}"), id="a resource the node does not have"
        ),
        pytest.param(
            {NIC: "1", "hugepages-2Mi": "12Mi", GPU: "2", "memory": "8Gi", "cpu": "2"},
            unresolvable(
                "Insufficient cpu",
                "Insufficient memory",
                "Insufficient hugepages-2Mi",
                f"Insufficient {GPU}",
                f"Insufficient {NIC}",
            ),
            id="native resources first, then the others by name",
        ),
        pytest.param({NIC: "0", "cpu": "0"}, None, id="a request of 0 is none"),
        pytest.param({"unknown": "1"}, None, id="a resource the scheduler does not count"),
    ],
)
def test_room(requests: dict[str, str], verdict) -> None:
    one = cluster()
    assert one.filter(one.make(Fit), wanting(requests)) == {"node": verdict}


@pytest.mark.parametrize(
    ("pods", "requests", "verdict"),
    [
        pytest.param("2", {}, None, id="room for one more"),
        pytest.param("1", {}, refused("Too many pods"), id="no room for one more"),
        pytest.param("", {}, refused("Too many pods"), id="a node that takes no pods"),
        pytest.param(
            "1",
            {"cpu": "5"},
            unresolvable("Too many pods", "Insufficient cpu"),
            id="too many pods comes first",
        ),
    ],
)
def test_number_of_pods(pods: str, requests: dict[str, str], verdict) -> None:
    one = Cluster([make_node("n", allocatable={"pods": pods})], [make_pod("other", "n")])
    assert one.filter(one.make(Fit), wanting(requests)) == {"n": verdict}


@pytest.mark.parametrize(
    ("fields", "requests", "verdict"),
    [
        pytest.param({"ignoredResources": [NIC]}, {NIC: "1"}, None, id="an ignored resource"),
        pytest.param({"ignoredResourceGroups": ["vendor.io"]}, {NIC: "1"}, None, id="its group"),
        pytest.param(
            {"ignoredResources": [NIC]},
            {NIC: "1", GPU: "2"},
            refused(f"Insufficient {GPU}"),
            id="others still count",
        ),
        pytest.param(
            {"ignoredResources": ["cpu", "hugepages-2Mi"]},
            {"cpu": "2", "hugepages-2Mi": "12Mi"},
            unresolvable("Insufficient cpu", "Insufficient hugepages-2Mi"),
            id="only extended resources can be ignored",
        ),
    ],
)
def test_ignored(fields: dict, requests: dict[str, str], verdict) -> None:
    one = cluster()
    assert one.filter(one.make(Fit, args(**fields)), wanting(requests)) == {"node": verdict}


def device_class(name: str, resource: str = "") -> DeviceClass:
    spec = {"extendedResourceName": resource} if resource else {}
    return decode_as({"metadata": {"name": name}, "spec": spec}, DeviceClass)


IMPLICIT = "deviceclass.resource.kubernetes.io/nics"


@pytest.mark.parametrize(
    ("requests", "verdict"),
    [
        pytest.param({NIC: "1"}, None, id="what a device class backs is left to it"),
        pytest.param({IMPLICIT: "1"}, None, id="the class's implicit resource too"),
        pytest.param(
            {GPU: "2"}, refused(f"Insufficient {GPU}"), id="not where the node offers it itself"
        ),
    ],
)
def test_device_classes(requests: dict[str, str], verdict) -> None:
    classes = [device_class("nics", NIC), device_class("gpus", GPU)]
    one = cluster(objects=classes)
    assert one.filter(one.make(Fit), wanting(requests)) == {"node": verdict}


def test_device_classes_back_nothing_while_the_gate_is_off() -> None:
    classes = [device_class("nics", NIC)]
    one = cluster(objects=classes, gates={"DRAExtendedResource": False}, release="1.36")
    found = one.filter(one.make(Fit), wanting({NIC: "1"}))
    assert found == {"node": unresolvable(f"Insufficient {NIC}")}


def test_backed_pods_are_not_signed() -> None:
    one = cluster(objects=[device_class("nics", NIC)])
    plugin = one.make(Fit)
    assert plugin.sign_pod(wanting({NIC: "1"})) is None
    assert plugin.sign_pod(wanting({GPU: "1"})) is not None


def test_signature_sees_every_request() -> None:
    sign = cluster().make(Fit).sign_pod
    two = make_pod(spec={"containers": [{"name": "a"}, {"name": "b"}]})
    pods = [asking(), asking(cpu="1"), asking(memory="1"), wanting({GPU: "1"}), two]
    assert len({sign(pod) for pod in pods}) == len(pods)
    assert sign(asking("a", cpu="1000m")) == sign(asking("b", cpu="1"))


def test_pod_level_requests_count() -> None:
    one = cluster()
    pod = make_pod(spec={"resources": {"requests": {"cpu": "2"}}})
    assert one.filter(one.make(Fit), pod) == {"node": refused("Insufficient cpu")}


def test_the_status_of_a_pending_pod_does_not_count() -> None:
    one = cluster()
    status = {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}
    assert one.filter(one.make(Fit), wanting({"cpu": "1"}, status=status)) == {"node": None}


def test_filter_without_pre_filter_is_an_error() -> None:
    one = cluster()
    found = one.filter_only(one.make(Fit), asking(), CycleState())
    message = 'error reading "PreFilterNodeResourcesFit" from cycleState: not found'
    assert found == {"node": ("Error", (message,))}


def test_a_pod_taken_away_on_trial_makes_room() -> None:
    one = cluster()
    plugin, state, pod = one.make(Fit), CycleState(), asking(cpu="4")
    plugin.pre_filter(state, pod, one.nodes)

    def refused_rows(nodes: WhatIf) -> int:
        return sum(int(mask.sum()) for _, mask in plugin.filter_nodes(state, pod, nodes))

    trial = one_row(one.nodes, 0)
    assert refused_rows(trial) == 1
    trial.remove(0, one.nodes.info(0).pods["taken"])
    assert refused_rows(trial) == 0
    assert plugin.filter(state, pod, trial.info(0)) is None
    assert plugin.filter(state, pod, one.nodes.info(0)) is not None


NODE = make_node("n", allocatable={"cpu": "2", "memory": "2Gi", "pods": "10"})
MORE_CPU = make_node("n", allocatable={"cpu": "3", "memory": "2Gi", "pods": "10"})
MORE_PODS = make_node("n", allocatable={"cpu": "2", "memory": "2Gi", "pods": "11"})
WITH_NIC = make_node("n", allocatable={"cpu": "2", "memory": "2Gi", "pods": "10", NIC: "1"})
NO_PODS = make_node("n", allocatable={"pods": ""})


@pytest.mark.parametrize(
    ("requests", "old", "new", "expected"),
    [
        pytest.param({"cpu": "2"}, None, NODE, QueueingHint.QUEUE, id="a node that fits came"),
        pytest.param({"cpu": "3"}, None, NODE, QueueingHint.SKIP, id="one too small came"),
        pytest.param({}, None, NO_PODS, QueueingHint.SKIP, id="one that takes no pods came"),
        pytest.param({"cpu": "2"}, NODE, MORE_CPU, QueueingHint.QUEUE, id="more cpu"),
        pytest.param({"cpu": "4"}, NODE, MORE_CPU, QueueingHint.SKIP, id="still not enough cpu"),
        pytest.param(
            {"memory": "1Gi"}, NODE, MORE_CPU, QueueingHint.SKIP, id="more of what is not asked for"
        ),
        pytest.param({}, NODE, MORE_CPU, QueueingHint.SKIP, id="more for a pod that asks nothing"),
        pytest.param({"memory": "1Gi"}, NODE, MORE_PODS, QueueingHint.QUEUE, id="more pods"),
        pytest.param({"cpu": "1"}, MORE_CPU, NODE, QueueingHint.SKIP, id="less cpu"),
        pytest.param({NIC: "1"}, NODE, WITH_NIC, QueueingHint.QUEUE, id="an extended resource"),
        pytest.param({NIC: "2"}, NODE, WITH_NIC, QueueingHint.SKIP, id="too little of it"),
        pytest.param({IMPLICIT: "2"}, NODE, NODE, QueueingHint.QUEUE, id="left to device classes"),
    ],
)
def test_node_events(requests: dict[str, str], old, new, expected: QueueingHint) -> None:
    plugin = Cluster(objects=[device_class("nics")]).make(Fit)
    hint = hints(plugin)["Node", "Add|UpdateNodeAllocatable"]
    assert hint(wanting(requests), old, new) is expected


PLACED = {"node": "n", "uid": "other"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(wanting({}, uid="o"), None, QueueingHint.SKIP, id="a pending pod went"),
        pytest.param(wanting({}, **PLACED), None, QueueingHint.QUEUE, id="a placed pod went"),
        pytest.param(
            wanting({}, uid="o", status={"nominatedNodeName": "n"}),
            None,
            QueueingHint.QUEUE,
            id="a nominated pod went",
        ),
        pytest.param(
            wanting({"cpu": "2"}, **PLACED),
            wanting({"cpu": "1"}, **PLACED),
            QueueingHint.QUEUE,
            id="a placed pod asks for less cpu",
        ),
        pytest.param(
            wanting({"memory": "2"}, **PLACED),
            wanting({"memory": "1"}, **PLACED),
            QueueingHint.SKIP,
            id="a placed pod asks for less of what is not needed",
        ),
        pytest.param(
            wanting({NIC: "2"}, **PLACED),
            wanting({NIC: "1"}, **PLACED),
            QueueingHint.QUEUE,
            id="a placed pod asks for less of an extended resource",
        ),
    ],
)
def test_pod_events(old, new, expected: QueueingHint) -> None:
    hint = hints(Cluster().make(Fit))["AssignedPod", "Delete|UpdatePodScaleDown"]
    assert hint(wanting({"cpu": "1", NIC: "1"}), old, new) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, device_class("c", NIC), QueueingHint.QUEUE, id="a class that backs it"),
        pytest.param(None, device_class("nics"), QueueingHint.QUEUE, id="its implicit resource"),
        pytest.param(None, device_class("c", GPU), QueueingHint.SKIP, id="a class for another"),
        pytest.param(
            device_class("c"),
            device_class("c", NIC),
            QueueingHint.QUEUE,
            id="a class comes to back",
        ),
        pytest.param(
            device_class("c", NIC), device_class("c", NIC), QueueingHint.SKIP, id="no change"
        ),
        pytest.param(device_class("c", NIC), device_class("c"), QueueingHint.SKIP, id="it ceases"),
    ],
)
def test_device_class_events(old, new, expected: QueueingHint) -> None:
    (hint,) = (
        hint
        for (resource, _), hint in hints(Cluster().make(Fit)).items()
        if resource == "resource.k8s.io/DeviceClass"
    )
    assert hint(wanting({NIC: "1", IMPLICIT: "1"}), old, new) is expected


def test_with_the_gate_off_device_classes_are_not_watched() -> None:
    plugin = Cluster(gates={"DRAExtendedResource": False}, release="1.36").make(Fit)
    resources = {event.resource.value for event in plugin.events_to_register()}
    assert resources == {"AssignedPod", "TargetPod", "Node"}


@pytest.mark.parametrize(
    ("requests", "score"),
    [
        pytest.param([{"cpu": "1"}], 50, id="cpu, also of pods that run, of two nodes"),
        pytest.param([{"cpu": "1"}, {"cpu": "2"}], 75, id="the pods of the group together"),
        pytest.param([{"cpu": "1", GPU: "1"}], 75, id="gpus of the node that offers them"),
        pytest.param([{"cpu": "9"}], 100, id="at most all"),
    ],
)
def test_the_score_of_a_placement(requests: list[dict[str, str]], score: int) -> None:
    resources = [{"name": name, "weight": 1} for name in ("cpu", GPU)]
    some = cluster()
    some.handle.cache.add_node(make_node("other"))
    # A pod that was placed when the node still had gpus.
    some.handle.cache.add_pod(wanting({GPU: "2", "cpu": "0"}, uid="left", node="other"))
    plugin = some.make(
        Fit, args(scoringStrategy={"type": "LeastAllocated", "resources": resources})
    )
    infos = [some.handle.pod_info(wanting(one, uid=str(i))) for i, one in enumerate(requests)]
    assignments = GroupAssignments("all", some.nodes, [(info, "node") for info in infos])
    assert plugin.score_placement(CycleState(), make_pod_group("g"), assignments) == score
