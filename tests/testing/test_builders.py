from __future__ import annotations

from typing import Any

import pytest

from mooring.api import Taint, Toleration
from mooring.errors import ObjectError
from mooring.testing import make_node, make_pod


def test_a_node_offers_something_and_bears_its_hostname() -> None:
    node = make_node("a")
    assert node.status.allocatable == {"cpu": "4", "memory": "16Gi", "pods": "110"}
    assert node.status.capacity == node.status.allocatable
    assert node.labels == {"kubernetes.io/hostname": "a"}
    assert node.uid


def test_a_node_is_what_the_keywords_say() -> None:
    node = make_node(
        "a",
        cpu=8,
        resources={"nvidia.com/gpu": 2},
        capacity={"cpu": "10"},
        labels={"example.com/rack": "r1"},
        zone="x",
        unschedulable=True,
        images={"nginx:1": 5},
        annotations={"note": "n"},
        status={"declaredFeatures": ["F"]},
        disk="ssd",
    )
    assert node.status.allocatable["cpu"] == "8"
    assert node.status.allocatable["nvidia.com/gpu"] == "2"
    assert node.status.capacity["cpu"] == "10"
    assert node.labels == {
        "kubernetes.io/hostname": "a",
        "topology.kubernetes.io/zone": "x",
        "example.com/rack": "r1",
        "disk": "ssd",
    }
    assert node.spec.unschedulable
    assert node.status.images[0].names == ("nginx:1",)
    assert node.annotations == {"note": "n"}
    assert node.status.declared_features == ("F",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "gpu=true:NoSchedule", ("gpu", "true", "NoSchedule"), id="key, value and effect"
        ),
        pytest.param("gpu:NoExecute", ("gpu", "", "NoExecute"), id="key and effect"),
        pytest.param({"key": "gpu", "effect": "E"}, ("gpu", "", "E"), id="fields"),
        pytest.param(Taint(key="gpu", effect="E"), ("gpu", "", "E"), id="the object"),
    ],
)
def test_taints(text: Any, expected: tuple[str, str, str]) -> None:
    (taint,) = make_node("a", taints=[text]).spec.taints
    assert (taint.key, taint.value, taint.effect) == expected


@pytest.mark.parametrize("text", ["gpu", ":NoSchedule", "gpu:"])
def test_a_taint_needs_a_key_and_an_effect(text: str) -> None:
    with pytest.raises(ObjectError, match="must look like"):
        make_node("a", taints=[text])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a=b:NoSchedule", ("a", "Equal", "b", "NoSchedule"), id="one taint"),
        pytest.param("a=b", ("a", "Equal", "b", ""), id="a value with every effect"),
        pytest.param("a:NoExecute", ("a", "Exists", "", "NoExecute"), id="any value"),
        pytest.param("a", ("a", "Exists", "", ""), id="everything of a key"),
        pytest.param("", ("", "Exists", "", ""), id="everything"),
        pytest.param({"operator": "Exists"}, ("", "Exists", "", ""), id="fields"),
        pytest.param(Toleration(key="a", operator="O"), ("a", "O", "", ""), id="the object"),
    ],
)
def test_tolerations(text: Any, expected: tuple[str, ...]) -> None:
    (found,) = make_pod(tolerations=[text]).spec.tolerations
    assert (found.key, found.operator, found.value, found.effect) == expected


def test_a_label_that_looks_like_a_resource_is_explained() -> None:
    with pytest.raises(ObjectError, match=r'a label is given as labels=\{"cpu": "true"\}'):
        make_node("a", cpu="true")


def test_a_misspelt_keyword_is_no_label() -> None:
    with pytest.raises(TypeError, match="takes no lables="):
        make_node("a", lables={"a": "b"})  # type: ignore[arg-type]


def test_a_pod_is_as_a_server_would_give_it() -> None:
    pod = make_pod("p")
    assert (pod.key, pod.spec.scheduler_name, pod.priority) == ("default/p", "default-scheduler", 0)
    assert pod.uid
    assert pod.uid != make_pod("q").uid


def test_a_pod_is_what_the_keywords_say() -> None:
    pod = make_pod(
        "p",
        namespace="n",
        cpu="100m",
        memory=1024,
        requests={"nvidia.com/gpu": 1},
        labels={"app": "web"},
        node="a",
        priority=7,
        scheduler_name="mine",
        image="nginx",
        host_ports=[80],
        node_selector={"disk": "ssd"},
        affinity={"podAffinity": {}},
        claims=["data"],
        gates=["g"],
        spec={"hostNetwork": True},
        status={"phase": "Running"},
    )
    (container,) = pod.spec.containers
    assert container.resources.requests == {"cpu": "100m", "memory": "1024", "nvidia.com/gpu": "1"}
    assert (container.image, container.ports[0].host_port) == ("nginx", 80)
    assert (pod.key, pod.node_name, pod.priority) == ("n/p", "a", 7)
    assert (pod.spec.scheduler_name, pod.spec.node_selector) == ("mine", {"disk": "ssd"})
    assert pod.spec.affinity is not None
    assert pod.spec.affinity.pod_affinity is not None
    assert pod.spec.volumes[0].persistent_volume_claim is not None
    assert pod.spec.scheduling_gates[0].name == "g"
    assert pod.spec.host_network
    assert pod.status.phase == "Running"
