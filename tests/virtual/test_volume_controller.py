"""The bindings and volumes of a cluster in memory."""

from __future__ import annotations

from typing import Any

from mooring.api import CSINode, Node, PersistentVolume, PersistentVolumeClaim, Pod
from mooring.framework.decision import Decision, Outcome
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.plugins.clusters import make
from tests.plugins.volumes.storage import claim, in_label, pod_with, storage_class, volume

HOST = "kubernetes.io/hostname"
DRIVER = "csi.example.com"


def _node(name: str) -> Node:
    found = make(
        Node,
        name,
        metadata={"labels": {HOST: name, "zone": f"zone-of-{name}"}},
        status={"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
    )
    assert isinstance(found, Node)
    return found


def _pod(name: str, *claims: str) -> Pod:
    return pod_with(*claims, name=name, schedulerName="default-scheduler")


def _run(*objects: Any) -> tuple[MemoryScheduler, list[Decision]]:
    """Schedule the pods in turn; nothing may wait for anything."""
    scheduler = MemoryScheduler([_node("a"), _node("b"), *objects])
    pods = [one for one in objects if isinstance(one, Pod)]
    return scheduler, [drive(scheduler.schedule_one(pod)) for pod in pods]


def _claim(scheduler: MemoryScheduler, name: str) -> PersistentVolumeClaim:
    found = scheduler.cluster.store(PersistentVolumeClaim).get(name, "default")
    assert isinstance(found, PersistentVolumeClaim)
    return found


def test_a_local_volume_is_bound_and_given_once() -> None:
    scheduler, [first, second] = _run(
        storage_class(),
        volume("v", affinity=in_label(HOST, "b")),
        claim("c"),
        claim("d"),
        _pod("first", "c"),
        _pod("second", "d"),
    )
    assert (first.outcome, first.node_name) == (Outcome.SCHEDULED, "b")
    assert second.outcome is Outcome.UNSCHEDULABLE
    bound = _claim(scheduler, "c")
    assert (bound.spec.volume_name, bound.status.phase) == ("v", "Bound")
    found = scheduler.cluster.store(PersistentVolume).get("v")
    assert found.status.phase == "Bound"
    assert found.spec.claim_ref.uid == "uid-c"
    assert found.metadata.annotations == {"pv.kubernetes.io/bound-by-controller": "yes"}
    assert _claim(scheduler, "d").status.phase == "Pending"


def test_a_volume_is_made_where_the_pod_goes_and_keeps_others_there() -> None:
    csi_node = make(
        CSINode, "b", spec={"drivers": [{"name": DRIVER, "topologyKeys": ["zone", "absent"]}]}
    )
    scheduler, [first, second] = _run(
        storage_class(
            "dyn",
            DRIVER,
            allowedTopologies=[{"matchLabelExpressions": [{"key": HOST, "values": ["b"]}]}],
        ),
        csi_node,
        claim("c", "2Gi", "dyn"),
        _pod("first", "c"),
        _pod("second", "c"),
    )
    assert [first.node_name, second.node_name] == ["b", "b"]
    made = scheduler.cluster.store(PersistentVolume).get(_claim(scheduler, "c").spec.volume_name)
    assert made.spec.capacity == {"storage": "2Gi"}
    assert (made.spec.csi.driver, made.status.phase) == (DRIVER, "Bound")
    assert made.spec.volume_mode == "Filesystem"
    assert made.metadata.annotations == {"pv.kubernetes.io/provisioned-by": DRIVER}
    marks = _claim(scheduler, "c").metadata.annotations
    assert marks["volume.kubernetes.io/storage-provisioner"] == DRIVER
    [term] = made.spec.node_affinity.required.node_selector_terms
    assert [(one.key, one.values) for one in term.match_expressions] == [("zone", ("zone-of-b",))]


def test_claim_that_names_another_volume_keeps_it() -> None:
    scheduler, _ = _run(storage_class(), volume("v"), claim("c", volumeName="w"))
    reference = {"name": "c", "namespace": "default", "uid": "uid-c"}
    patch = {"spec": {"claimRef": reference}}
    drive(scheduler.client.patch(PersistentVolume, "v", "", patch))
    assert (_claim(scheduler, "c").spec.volume_name, _claim(scheduler, "c").status.phase) == (
        "w",
        "Pending",
    )


def test_claims_without_a_uid_are_bound_too() -> None:
    scheduler, [decision] = _run(
        storage_class(), volume("v"), claim("c", metadata={"uid": ""}), _pod("p", "c")
    )
    assert decision.outcome is Outcome.SCHEDULED
    assert _claim(scheduler, "c").spec.volume_name == "v"


def test_what_is_there_already_is_left_alone() -> None:
    scheduler, _ = _run(
        storage_class("dyn", DRIVER),
        volume("v", claimRef={"name": "c", "namespace": "default", "uid": "uid-c"}),
        claim("c", storage_class="dyn"),
    )
    assert _claim(scheduler, "c").status.phase == "Pending"
    assert scheduler.cluster.store(PersistentVolume).get("v").status.phase == "Available"
