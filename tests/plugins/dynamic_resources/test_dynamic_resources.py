from __future__ import annotations

from typing import Any

import pytest

from mooring.api import DeviceClass, Pod, ResourceClaim
from mooring.framework.decision import NodeStatuses
from mooring.framework.events import QueueingHint
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.dynamic_resources import DynamicResources
from mooring.plugins.dynamic_resources.dynamic_resources import (
    NO_NEW_CLAIMS,
    NOT_SUPPORTED,
    STILL_NOT_SCHEDULABLE,
)
from tests.plugins.clusters import Cluster, make, make_node, make_pod, raw_scores, refusals

NODES = [make_node("a"), make_node("b")]
GPU = "example.com/gpu"


def _claim(
    name: str = "c", device_class: str = "gpu", status: Any = None, **metadata: Any
) -> ResourceClaim:
    request = {"name": "r", "exactly": {"deviceClassName": device_class}}
    found = make(
        ResourceClaim,
        name,
        "default",
        metadata={"uid": f"uid-{name}", **metadata},
        spec={"devices": {"requests": [request]}},
        status=status or {},
    )
    assert isinstance(found, ResourceClaim)
    return found


CLASS = make(DeviceClass, "gpu", spec={"extendedResourceName": GPU})
POD = make_pod("pod", resourceClaims=[{"name": "g", "resourceClaimName": "c"}])
ALLOCATED = {"allocation": {"devices": {}}}


def _asks_for(resource: str) -> Pod:
    return make_pod("pod", containers=[{"name": "x", "resources": {"requests": {resource: "1"}}}])


def _plugin(*objects: Any, gates: Any = None) -> tuple[DynamicResources, Cluster]:
    offers = make(type(NODES[0]), "offers", status={"allocatable": {GPU: "2"}})
    cluster = Cluster([*NODES, offers], objects=objects, gates=gates)
    plugin = DynamicResources(handle=cluster)
    plugin.start()
    return plugin, cluster


def test_pods_without_claims_are_none_of_its_business() -> None:
    plugin, cluster = _plugin()
    state, pod = CycleState(), make_pod("pod")
    assert plugin.pre_enqueue(pod) is None
    assert plugin.pre_filter(state, pod, cluster.snapshot) == Status.skip()
    assert refusals(plugin, state, pod, cluster.snapshot) == {}
    assert set(raw_scores(plugin, state, pod, cluster.snapshot).values()) == {0}
    assert plugin.post_filter(state, pod, NodeStatuses(Cluster().snapshot)) == NO_NEW_CLAIMS
    assert plugin.reserve(state, pod, "a") is None
    assert plugin.sign_pod(pod) == ()


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param(_claim(), id="to be allocated"),
        pytest.param(_claim(status=ALLOCATED), id="allocated already"),
    ],
)
def test_a_pod_with_claims_is_refused_on_every_node(claim: ResourceClaim) -> None:
    plugin, cluster = _plugin(claim, CLASS)
    state = CycleState()
    assert plugin.pre_enqueue(POD) is None
    assert plugin.pre_filter(state, POD, cluster.snapshot) is None
    answers = refusals(plugin, state, POD, cluster.snapshot)
    assert answers == dict.fromkeys(("a", "b", "offers"), NOT_SUPPORTED)
    assert plugin.post_filter(state, POD, NodeStatuses(Cluster().snapshot)) == STILL_NOT_SCHEDULABLE
    assert plugin.reserve(state, POD, "a") == NOT_SUPPORTED
    assert plugin.sign_pod(POD) is None


def test_a_missing_class_is_refused_in_kube_schedulers_words() -> None:
    plugin, cluster = _plugin(_claim(device_class="no"))
    state = CycleState()
    answer = plugin.pre_filter(state, POD, cluster.snapshot)
    assert answer == Status.unresolvable("request r: device class no does not exist")
    assert plugin.post_filter(state, POD, NodeStatuses(Cluster().snapshot)) == NO_NEW_CLAIMS


def test_post_filter_fails_where_pre_filter_did_not_run() -> None:
    plugin, _ = _plugin()
    assert plugin.post_filter(CycleState(), POD, NodeStatuses(Cluster().snapshot)) == Status.error(
        "not found"
    )


def test_a_pod_waits_outside_the_queue_for_its_claims() -> None:
    plugin, cluster = _plugin()
    refusal = Status.unresolvable('could not find ResourceClaim "default/c"')
    assert plugin.pre_enqueue(POD) == refusal
    assert plugin.pre_filter(CycleState(), POD, cluster.snapshot) == refusal


@pytest.mark.parametrize(
    "resource",
    [
        pytest.param(GPU, id="by the name a class gives"),
        pytest.param("deviceclass.resource.kubernetes.io/gpu", id="by the name of a class"),
    ],
)
def test_extended_resources_of_a_class_need_a_node_that_has_them(resource: str) -> None:
    plugin, cluster = _plugin(CLASS)
    state, pod = CycleState(), _asks_for(resource)
    assert plugin.pre_filter(state, pod, cluster.snapshot) is None
    refused = {"a", "b"} if resource == GPU else {"a", "b", "offers"}
    assert set(refusals(plugin, state, pod, cluster.snapshot)) == refused


@pytest.mark.parametrize(
    ("resource", "gates"),
    [
        pytest.param("example.com/other", {}, id="that no class stands for"),
        pytest.param(GPU, {"DRAExtendedResource": False}, id="with the gate off"),
    ],
)
def test_other_extended_resources(resource: str, gates: dict[str, bool]) -> None:
    plugin, cluster = _plugin(CLASS, gates=gates)
    answer = plugin.pre_filter(CycleState(), _asks_for(resource), cluster.snapshot)
    assert answer == Status.skip()


@pytest.mark.parametrize(
    ("old", "new", "queue"),
    [
        pytest.param(None, _claim(), True, id="the pod's claim comes"),
        pytest.param(None, _claim("d"), False, id="another claim comes"),
        pytest.param(_claim("d", status=ALLOCATED), _claim("d"), True, id="devices come free"),
        pytest.param(_claim(), _claim(status=ALLOCATED), True, id="the pod's claim changes state"),
        pytest.param(_claim(), _claim(labels={"a": "b"}), False, id="its labels change"),
    ],
)
def test_claim_hints(old: ResourceClaim | None, new: ResourceClaim, queue: bool) -> None:
    plugin, _ = _plugin(_claim())
    expected = QueueingHint.QUEUE if queue else QueueingHint.SKIP
    assert plugin.after_claim_changed(POD, old, new) is expected


def test_no_claim_helps_while_one_is_missing() -> None:
    plugin, _ = _plugin()
    hint = plugin.after_claim_changed(POD, _claim("d", status=ALLOCATED), _claim("d"))
    assert hint is QueueingHint.SKIP


def test_pod_hints() -> None:
    plugin, _ = _plugin(_claim())
    other = make_pod("other", resourceClaims=[{"name": "g", "resourceClaimName": "c"}])
    waiting = make_pod("pod", resourceClaims=[{"name": "g", "resourceClaimTemplateName": "t"}])
    assert plugin.after_pod_changed(POD, None, POD) is QueueingHint.QUEUE
    assert plugin.after_pod_changed(POD, None, other) is QueueingHint.SKIP
    assert plugin.after_pod_changed(POD, None, waiting) is QueueingHint.SKIP
