"""Nodes like an existing one, and cordoned nodes."""

from __future__ import annotations

import msgspec

from mooring.api import CSINode, Node, Pod, ResourceSlice
from mooring.testing.builders import make_node, make_pod
from mooring.virtual.memory_cluster import MemoryCluster
from mooring.virtual.node_copies import HOSTNAME, copies_of, cordoned


def test_a_cordoned_node_is_unschedulable_and_tainted_once() -> None:
    node = cordoned(cordoned(make_node("n", taints=["gpu=true:NoSchedule"])))
    assert node.spec.unschedulable
    assert [taint.key for taint in node.spec.taints] == [
        "gpu",
        "node.kubernetes.io/unschedulable",
    ]


def test_a_copy_is_a_new_node_of_the_same_kind() -> None:
    node = make_node("n", cpu="7", taints=["gpu=true:NoSchedule"], zone="a")
    cluster = MemoryCluster([node, make_node("n-copy-1")])
    first, second = copies_of(cordoned(node), 2, (), cluster)
    assert isinstance(first, Node)
    assert [first.name, second.name] == ["n-copy-2", "n-copy-3"]
    assert first.labels == {**node.labels, HOSTNAME: "n-copy-2"}
    assert [taint.key for taint in first.spec.taints] == ["gpu"]
    assert not first.spec.unschedulable
    assert first.status.allocatable == node.status.allocatable
    assert len({node.uid, first.uid, second.uid}) == 3


def test_drivers_devices_and_given_pods_are_copied_with_it() -> None:
    node = make_node("n")
    drivers = msgspec.convert(
        {"metadata": {"name": "n"}, "spec": {"drivers": [{"name": "d", "nodeID": "n"}]}}, CSINode
    )
    spec = {"driver": "d", "nodeName": "n", "pool": {"name": "n"}, "devices": [{"name": "gpu"}]}
    slices = [
        msgspec.convert({"metadata": {"name": "s"}, "spec": spec}, ResourceSlice),
        msgspec.convert(
            {"metadata": {"name": "t"}, "spec": {**spec, "nodeName": "other"}}, ResourceSlice
        ),
    ]
    cluster = MemoryCluster([node, drivers, *slices])
    pod = make_pod("daemon", node="n")
    made = list(copies_of(node, 1, [pod], cluster))
    assert [type(obj) for obj in made] == [Node, CSINode, ResourceSlice, Pod]
    _, driver, devices, daemon = made
    assert driver.name == "n-copy-1"
    assert isinstance(devices, ResourceSlice)
    assert (devices.spec.node_name, devices.spec.pool.name) == ("n-copy-1", "n-copy-1")
    assert devices.spec.devices == slices[0].spec.devices
    assert isinstance(daemon, Pod)
    assert daemon.spec.node_name == "n-copy-1"
    assert daemon.uid != pod.uid
