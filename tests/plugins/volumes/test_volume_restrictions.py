from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mooring.framework.cluster_events import QueueingHint
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.framework.what_if import one_row
from mooring.plugins.volumes import VolumeRestrictions
from mooring.plugins.volumes.volume_restrictions import (
    DISK_CONFLICT,
    READ_WRITE_ONCE_POD_CONFLICT,
    after_pod_deleted,
)
from tests.plugins.clusters import Cluster, make_node, make_pod, refusals
from tests.plugins.volumes.storage import claim, pod_with


def _gce(name: str, read_only: bool = False) -> dict[str, Any]:
    return {"name": "d", "gcePersistentDisk": {"pdName": name, "readOnly": read_only}}


def _aws(name: str, read_only: bool = False) -> dict[str, Any]:
    return {"name": "d", "awsElasticBlockStore": {"volumeID": name, "readOnly": read_only}}


def _iscsi(iqn: str, read_only: bool = False) -> dict[str, Any]:
    return {"name": "d", "iscsi": {"iqn": iqn, "readOnly": read_only}}


def _rbd(image: str, monitors: list[str], read_only: bool = False) -> dict[str, Any]:
    rbd = {"image": image, "pool": "p", "monitors": monitors, "readOnly": read_only}
    return {"name": "d", "rbd": rbd}


def _plugin(cluster: Cluster) -> VolumeRestrictions:
    return VolumeRestrictions(handle=cluster)


@pytest.mark.parametrize(
    ("wanted", "in_use", "conflict"),
    [
        pytest.param(_gce("x"), _gce("x"), True, id="a GCE disk twice"),
        pytest.param(_gce("x", True), _gce("x"), True, id="a GCE disk once read-only"),
        pytest.param(_gce("x", True), _gce("x", True), False, id="a GCE disk only read"),
        pytest.param(_gce("x"), _gce("y"), False, id="two GCE disks"),
        pytest.param(_aws("x", True), _aws("x", True), True, id="an EBS volume even only read"),
        pytest.param(_aws("x"), _aws("y"), False, id="two EBS volumes"),
        pytest.param(_iscsi("x"), _iscsi("x", True), True, id="an iSCSI target"),
        pytest.param(_iscsi("x", True), _iscsi("x", True), False, id="an iSCSI target only read"),
        pytest.param(
            _rbd("x", ["1", "2"]), _rbd("x", ["2", "3"]), True, id="an RBD image of one monitor"
        ),
        pytest.param(
            _rbd("x", ["1"]), _rbd("x", ["2"]), False, id="an RBD image of other monitors"
        ),
        pytest.param(
            _rbd("x", ["1"], True), _rbd("x", ["1"], True), False, id="an RBD image only read"
        ),
        pytest.param(_gce("x"), _aws("x"), False, id="disks of different kinds"),
    ],
)
def test_disks_in_use(wanted: dict[str, Any], in_use: dict[str, Any], conflict: bool) -> None:
    cluster = Cluster(
        [make_node("a"), make_node("b"), make_node("c")],
        [make_pod("other", node="b", volumes=[in_use]), make_pod("plain", node="c")],
    )
    plugin, state, pod = _plugin(cluster), CycleState(), make_pod("pod", volumes=[wanted])
    assert plugin.pre_filter(state, pod, cluster.snapshot) is None
    answers = refusals(plugin, state, pod, cluster.snapshot)
    assert answers == ({"b": DISK_CONFLICT} if conflict else {})
    # The answers are the same for a view of some nodes.
    some = cluster.snapshot.select(np.array([2, 1], dtype=np.intp))
    assert refusals(plugin, state, pod, some) == answers


def test_a_disk_is_free_once_its_pod_is_gone() -> None:
    other = make_pod("other", node="b", volumes=[_gce("x")])
    cluster = Cluster([make_node("a"), make_node("b")], [other])
    plugin, pod = _plugin(cluster), make_pod("pod", volumes=[_gce("x")])
    for refused in ({"b"}, set()):
        state = CycleState()
        assert plugin.pre_filter(state, pod, cluster.snapshot) is None
        assert set(refusals(plugin, state, pod, cluster.snapshot)) == refused
        if refused:
            cluster.cache.remove_pod(other.metadata.uid)


def test_a_disk_is_free_on_a_node_from_which_its_pod_is_taken_on_trial() -> None:
    other = make_pod("other", node="a", volumes=[_gce("x")])
    cluster = Cluster([make_node("a")], [other])
    plugin, state, pod = _plugin(cluster), CycleState(), make_pod("pod", volumes=[_gce("x")])
    plugin.pre_filter(state, pod, cluster.snapshot)
    what_if = one_row(cluster.snapshot, 0)
    assert set(refusals(plugin, state, pod, what_if)) == {"a"}
    what_if.remove(0, cluster.pod_info(other))
    assert refusals(plugin, state, pod, what_if) == {}


def test_a_claim_for_one_pod_is_refused_everywhere_while_in_use() -> None:
    other = pod_with("once", name="other", node="a")
    cluster = Cluster(
        [make_node("a"), make_node("b")], [other], [claim("once", modes=["ReadWriteOncePod"])]
    )
    plugin, state, pod = _plugin(cluster), CycleState(), pod_with("once")
    assert plugin.pre_filter(state, pod, cluster.snapshot) is None
    answers = refusals(plugin, state, pod, cluster.snapshot)
    assert answers == dict.fromkeys("ab", READ_WRITE_ONCE_POD_CONFLICT)

    info, node = cluster.pod_info(other), cluster.snapshot.info(0)
    trial = state.clone()
    plugin.remove_pod(trial, pod, info, node)
    assert refusals(plugin, trial, pod, cluster.snapshot) == {}
    plugin.add_pod(trial, pod, info, node)
    assert refusals(plugin, trial, pod, cluster.snapshot) == answers
    assert refusals(plugin, state, pod, cluster.snapshot) == answers


def test_dry_runs_compare_claim_names_without_the_namespace() -> None:
    other = pod_with("once", name="other", node="a")
    cluster = Cluster([make_node("a")], [other], [claim("once", modes=["ReadWriteOncePod"])])
    plugin, state, pod = _plugin(cluster), CycleState(), pod_with("once")
    plugin.pre_filter(state, pod, cluster.snapshot)
    stranger = cluster.pod_info(pod_with("once", name="stranger", node="a", namespace="else"))
    plugin.remove_pod(state, pod, stranger, cluster.snapshot.info(0))
    assert refusals(plugin, state, pod, cluster.snapshot) == {}


@pytest.mark.parametrize(
    ("objects", "answer"),
    [
        pytest.param([claim("c")], Status.skip(), id="a claim that can be shared"),
        pytest.param(
            [claim("c", modes=["ReadWriteOncePod"])],
            Status.skip(),
            id="a claim for one pod that no pod uses",
        ),
        pytest.param(
            [],
            Status.unresolvable('persistentvolumeclaim "c" not found'),
            id="a claim that does not exist",
        ),
    ],
)
def test_pre_filter(objects: list[Any], answer: Status) -> None:
    elsewhere = pod_with("c", name="other", node="a", namespace="else")
    cluster = Cluster([make_node("a")], [elsewhere], objects)
    assert _plugin(cluster).pre_filter(CycleState(), pod_with("c"), cluster.snapshot) == answer


@pytest.mark.parametrize(
    ("pod", "deleted", "expected"),
    [
        pytest.param(
            make_pod("p", volumes=[_gce("x")]),
            make_pod("d", volumes=[_gce("x")]),
            QueueingHint.QUEUE,
            id="the disk is free",
        ),
        pytest.param(
            make_pod("p", volumes=[_gce("x")]),
            make_pod("d", volumes=[_gce("y")]),
            QueueingHint.SKIP,
            id="another disk is free",
        ),
        pytest.param(
            pod_with("c"), pod_with("c", name="d"), QueueingHint.QUEUE, id="the claim is free"
        ),
        pytest.param(
            pod_with("c"), pod_with("e", name="d"), QueueingHint.SKIP, id="another claim is free"
        ),
        pytest.param(
            pod_with("c"),
            pod_with("c", name="d", namespace="else"),
            QueueingHint.SKIP,
            id="a claim of another namespace is free",
        ),
    ],
)
def test_a_deleted_pod(pod: Any, deleted: Any, expected: QueueingHint) -> None:
    assert after_pod_deleted(pod, deleted, None) is expected
