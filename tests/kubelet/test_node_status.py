from __future__ import annotations

from typing import Any

import pytest

from mooring.api import Node
from mooring.api.kinds import decode_as
from mooring.kubelet.node_status import (
    SILENT,
    conditions,
    first_report,
    internal_ip,
    is_fake,
    manifest,
    ready_condition,
)

WHEN = "2026-01-01T00:00:00Z"
CAPACITY = {"cpu": "4", "memory": "8Gi", "pods": "110"}


def node(status: dict[str, Any] | None = None, **metadata: Any) -> Node:
    return decode_as({"metadata": {"name": "n", **metadata}, "status": status or {}}, Node)


def test_a_manifest_is_that_of_a_fake_node() -> None:
    made = manifest("n", CAPACITY)
    assert is_fake(decode_as(made, Node))
    assert made["metadata"]["labels"]["kubernetes.io/hostname"] == "n"
    assert made["status"] == {"capacity": CAPACITY, "allocatable": CAPACITY}


@pytest.mark.parametrize(
    ("annotations", "fake"),
    [({}, False), ({"kwok.x-k8s.io/node": "fake"}, True), ({"kwok.x-k8s.io/node": "x"}, False)],
)
def test_fake_nodes(annotations: dict[str, str], fake: bool) -> None:
    assert is_fake(node(annotations=annotations)) is fake


def test_state_and_address() -> None:
    assert (ready_condition(node()), internal_ip(node())) == ("", "")
    found = node(
        {
            "conditions": [
                {"type": "DiskPressure", "status": "x"},
                {"type": "Ready", "status": "y"},
            ],
            "addresses": [
                {"type": "Hostname", "address": "n"},
                {"type": "InternalIP", "address": "1.2.3.4"},
            ],
        }
    )
    assert (ready_condition(found), internal_ip(found)) == ("y", "1.2.3.4")


def test_the_first_report_of_a_bare_node() -> None:
    report = first_report(node(), "1.2.3.4", CAPACITY, WHEN)
    assert report["capacity"] == report["allocatable"] == CAPACITY
    assert report["addresses"] == [
        {"type": "InternalIP", "address": "1.2.3.4"},
        {"type": "Hostname", "address": "n"},
    ]
    assert report["nodeInfo"]["kubeletVersion"] == "v1.37.1"
    assert report["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 10250}}
    states = {one["type"]: one["status"] for one in report["conditions"]}
    assert states == {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
        "Ready": "True",
    }


def test_a_report_leaves_what_is_known() -> None:
    known = node(
        {
            "capacity": {"cpu": "2"},
            "addresses": [{"type": "InternalIP", "address": "9.9.9.9"}],
            "nodeInfo": {"kubeletVersion": "v1"},
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 1}},
        }
    )
    report = first_report(known, "1.2.3.4", CAPACITY, WHEN)
    assert set(report) == {"conditions", "allocatable"}
    assert report["allocatable"] == {"cpu": "2"}


def test_a_report_declares_features_unless_the_node_does() -> None:
    features = ("A", "B")
    assert first_report(node(), "1.2.3.4", CAPACITY, WHEN, features)["declaredFeatures"] == [
        "A",
        "B",
    ]
    known = node({"declaredFeatures": ["C"]})
    assert "declaredFeatures" not in first_report(known, "1.2.3.4", CAPACITY, WHEN, features)
    assert "declaredFeatures" not in first_report(node(), "1.2.3.4", CAPACITY, WHEN)


def test_conditions_that_a_user_set_stay_and_those_of_a_silent_kubelet_go() -> None:
    known = node(
        {
            "conditions": [
                {"type": "Ready", "status": "Unknown", "reason": SILENT},
                {"type": "DiskPressure", "status": "True", "reason": "Mine"},
            ]
        }
    )
    made = {one["type"]: one for one in conditions(known, WHEN)}
    assert made["Ready"]["status"] == "True"
    assert made["Ready"]["lastTransitionTime"] == WHEN
    assert made["DiskPressure"] == {"type": "DiskPressure", "lastHeartbeatTime": WHEN}
