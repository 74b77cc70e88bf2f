from __future__ import annotations

from typing import Any

import pytest

from mooring.framework.cluster_events import QueueingHint
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.volumes import VolumeZone
from mooring.plugins.volumes.volume_zone import (
    CONFLICT,
    after_claim_changed,
    after_class_added,
    after_volume_changed,
)
from tests.plugins.clusters import Cluster, make_node, refusals
from tests.plugins.volumes.storage import claim, pod_with, storage_class, volume

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"

NODES = [
    make_node("a", {ZONE: "a"}),
    make_node("b", {ZONE: "b"}),
    make_node("beta-a", {BETA_ZONE: "a"}),
    make_node("region", {REGION: "r"}),
    make_node("plain"),
]


def _plugin(*objects: Any) -> tuple[VolumeZone, Cluster]:
    cluster = Cluster(NODES, objects=objects)
    return VolumeZone(handle=cluster), cluster


@pytest.mark.parametrize(
    ("labels", "refused"),
    [
        pytest.param({ZONE: "a"}, {"b", "beta-a", "region"}, id="a zone excludes other zones"),
        pytest.param({ZONE: "a__b"}, {"beta-a", "region"}, id="a volume may be in several zones"),
        pytest.param(
            {BETA_ZONE: "a"},
            {"b", "region"},
            id="the old label falls back to the new one of a node",
        ),
        pytest.param(
            {ZONE: "a", REGION: "r"}, {"a", "b", "beta-a", "region"}, id="all labels must match"
        ),
    ],
)
def test_volumes_keep_pods_in_their_zone(labels: dict[str, str], refused: set[str]) -> None:
    plugin, cluster = _plugin(claim("c", bound_to="v"), volume("v", labels=labels))
    state, pod = CycleState(), pod_with("c")
    assert plugin.pre_filter(state, pod, cluster.snapshot) is None
    answers = refusals(plugin, state, pod, cluster.snapshot)
    assert set(answers) == refused
    assert set(answers.values()) == {CONFLICT}


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param({}, id="no labels"),
        pytest.param({ZONE: "a__"}, id="an empty zone makes a label void"),
        pytest.param({"zone": "a"}, id="other labels do not count"),
    ],
)
def test_steps_aside_where_volumes_demand_nothing(labels: dict[str, str]) -> None:
    plugin, cluster = _plugin(claim("c", bound_to="v"), volume("v", labels=labels))
    answer = plugin.pre_filter(CycleState(), pod_with("c"), cluster.snapshot)
    assert answer == Status.skip()


IMMEDIATE = storage_class("now", volumeBindingMode="Immediate")


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        pytest.param([], 'persistentvolumeclaim "c" not found', id="no such claim"),
        pytest.param(
            [claim("c", bound_to="v")], 'persistentvolume "v" not found', id="no such volume"
        ),
        pytest.param(
            [claim("c", storage_class=None)],
            "PersistentVolumeClaim had no pv name and storageClass name",
            id="neither volume nor class",
        ),
        pytest.param(
            [claim("c", storage_class="no")],
            'storageclass.storage.k8s.io "no" not found',
            id="no such class",
        ),
        pytest.param(
            [claim("c", storage_class="odd"), storage_class("odd", volumeBindingMode=None)],
            'VolumeBindingMode not set for StorageClass "odd"',
            id="no binding mode",
        ),
        pytest.param(
            [claim("c", storage_class="now"), IMMEDIATE],
            "PersistentVolume had no name",
            id="a claim that ought to be bound",
        ),
    ],
)
def test_refuses_claims_without_a_volume(objects: list[Any], text: str) -> None:
    plugin, cluster = _plugin(*objects)
    pod = pod_with("c")
    answer = plugin.pre_filter(CycleState(), pod, cluster.snapshot)
    assert answer == Status.unresolvable(text)
    # Without PreFilter, Filter returns the same for every node.
    assert set(refusals(plugin, CycleState(), pod, cluster.snapshot).values()) == {answer}


def test_a_claim_without_a_name_is_refused() -> None:
    plugin, cluster = _plugin()
    answer = plugin.pre_filter(CycleState(), pod_with(""), cluster.snapshot)
    assert answer == Status.unresolvable("PersistentVolumeClaim had no name")


def test_claims_that_wait_for_a_consumer_are_left_to_volume_binding() -> None:
    plugin, cluster = _plugin(claim("c"), storage_class())
    answer = plugin.pre_filter(CycleState(), pod_with("c"), cluster.snapshot)
    assert answer == Status.skip()


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        pytest.param(
            after_class_added(pod_with("c"), None, storage_class()),
            QueueingHint.QUEUE,
            id="a class that waits for the first consumer",
        ),
        pytest.param(
            after_class_added(pod_with("c"), None, IMMEDIATE),
            QueueingHint.SKIP,
            id="a class that binds at once",
        ),
        pytest.param(
            after_claim_changed(pod_with("c"), None, claim("c")),
            QueueingHint.QUEUE,
            id="the pod's claim",
        ),
        pytest.param(
            after_claim_changed(pod_with("c"), None, claim("d")),
            QueueingHint.SKIP,
            id="another claim",
        ),
        pytest.param(
            after_claim_changed(pod_with("c"), None, claim("c", namespace="else")),
            QueueingHint.SKIP,
            id="a claim of that name in another namespace",
        ),
        pytest.param(
            after_volume_changed(pod_with("c"), None, volume("v")),
            QueueingHint.QUEUE,
            id="a new volume",
        ),
        pytest.param(
            after_volume_changed(pod_with("c"), volume("v"), volume("v", labels={ZONE: "a"})),
            QueueingHint.QUEUE,
            id="a volume that moved",
        ),
        pytest.param(
            after_volume_changed(pod_with("c"), volume("v"), volume("v", labels={"x": "y"})),
            QueueingHint.SKIP,
            id="a volume that stayed where it was",
        ),
    ],
)
def test_hints(hint: QueueingHint, expected: QueueingHint) -> None:
    assert hint is expected
