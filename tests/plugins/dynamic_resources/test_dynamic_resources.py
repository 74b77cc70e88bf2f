from __future__ import annotations

from typing import Any

import pytest

from mooring.api import DeviceClass, DeviceTaintRule, ResourceClaim
from mooring.framework.decision import NodeStatuses
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.dynamic_resources import DynamicResources
from mooring.plugins.dynamic_resources.claim_filter import CANNOT_ALLOCATE, NOT_AVAILABLE
from mooring.plugins.dynamic_resources.dynamic_resources import (
    NO_NEW_CLAIMS,
    NOTHING_FREED,
    STILL_NOT_SCHEDULABLE,
)
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.plugins.clusters import Cluster, make, make_pod, raw_scores, refusals
from tests.plugins.dynamic_resources.devices import (
    DRIVER,
    GPU,
    allocated_on,
    asks_for,
    claim,
    device_class,
    device_slice,
    node,
    pod,
)

POD = pod("pod", "c")
CLASS = device_class(extendedResourceName=GPU)
IMPLICIT = "deviceclass.resource.kubernetes.io/gpu"


def _plugin(*objects: Any, **settings: Any) -> tuple[DynamicResources, Cluster]:
    nodes = [node("a"), node("b"), node("offers", {GPU: "2"})]
    cluster = Cluster(nodes, objects=objects, **settings)
    handle: Any = cluster
    plugin = DynamicResources(handle=handle)
    plugin.start()
    return plugin, cluster


def test_pods_without_claims_are_none_of_its_business() -> None:
    plugin, cluster = _plugin()
    state, plain = CycleState(), make_pod("pod")
    assert plugin.pre_enqueue(plain) is None
    assert plugin.pre_filter(state, plain, cluster.snapshot) == Status.skip()
    assert refusals(plugin, state, plain, cluster.snapshot) == {}
    assert set(raw_scores(plugin, state, plain, cluster.snapshot).values()) == {0}
    assert plugin.post_filter(state, plain, NodeStatuses(Cluster().snapshot)) == NOTHING_FREED
    assert plugin.reserve(state, plain, "a") is None
    assert plugin.pre_bind_pre_flight(state, plain, "a") == Status.skip()
    assert plugin.sign_pod(plain) == ()


@pytest.mark.parametrize(
    ("one", "objects", "refused"),
    [
        pytest.param(
            claim(),
            [device_slice("a", "d0")],
            dict.fromkeys(("b", "offers"), CANNOT_ALLOCATE),
            id="a device is free on one node",
        ),
        pytest.param(
            claim(),
            [device_slice("a", "d0"), claim("other", status=allocated_on("a"))],
            dict.fromkeys(("a", "b", "offers"), CANNOT_ALLOCATE),
            id="the only device is taken",
        ),
        pytest.param(
            claim(status=allocated_on("b")),
            [],
            dict.fromkeys(("a", "offers"), NOT_AVAILABLE),
            id="allocated already",
        ),
    ],
)
def test_a_pod_goes_where_its_claim_can_be_had(
    one: ResourceClaim, objects: list[Any], refused: dict[str, Status]
) -> None:
    plugin, cluster = _plugin(one, CLASS, *objects)
    state = CycleState()
    assert plugin.pre_enqueue(POD) is None
    assert plugin.pre_filter(state, POD, cluster.snapshot) is None
    assert refusals(plugin, state, POD, cluster.snapshot) == refused
    assert plugin.post_filter(state, POD, NodeStatuses(Cluster().snapshot)) == NOTHING_FREED
    assert plugin.sign_pod(POD) is None


def test_a_selector_that_fails_ends_the_attempt() -> None:
    wrong = {"cel": {"expression": 'device.attributes["x"].missing'}}
    plugin, cluster = _plugin(claim(), device_class(selectors=[wrong]), device_slice("a", "d0"))
    state = CycleState()
    assert plugin.pre_filter(state, POD, cluster.snapshot) is None
    assert refusals(plugin, state, POD, cluster.snapshot)["a"] == Status.error(
        f"class gpu: selector #0 on device {DRIVER}/a/d0: CEL runtime error: no such key: missing. "
        "consider using CEL optional chaining (.? followed by orValue()) or guarding the check "
        "with has() for optional fields"
    )


def test_a_missing_class_is_refused_in_kube_schedulers_words() -> None:
    plugin, cluster = _plugin(claim(device_class="no"))
    state = CycleState()
    answer = plugin.pre_filter(state, POD, cluster.snapshot)
    assert answer == Status.unresolvable("request r: device class no does not exist")
    assert plugin.post_filter(state, POD, NodeStatuses(Cluster().snapshot)) == NOTHING_FREED


def test_rules_taint_devices_since_1_37() -> None:
    rule = make(
        DeviceTaintRule,
        "rule",
        spec={"deviceSelector": {}, "taint": {"key": "broken", "effect": "NoSchedule"}},
    )
    objects = [claim(), CLASS, device_slice("b", "d0"), rule]
    for release, refused in (("1.36", {"a", "offers"}), ("1.37", {"a", "b", "offers"})):
        plugin, cluster = _plugin(*objects, release=release)
        state = CycleState()
        assert plugin.pre_filter(state, POD, cluster.snapshot) is None
        assert set(refusals(plugin, state, POD, cluster.snapshot)) == refused


def test_1_36_says_that_nothing_was_deallocated() -> None:
    plugin, cluster = _plugin(claim(), CLASS, release="1.36")
    nothing, plain = NodeStatuses(Cluster().snapshot), make_pod("pod")
    state = CycleState()
    plugin.pre_filter(state, plain, cluster.snapshot)
    assert plugin.post_filter(state, plain, nothing) == NO_NEW_CLAIMS
    state = CycleState()
    plugin.pre_filter(state, POD, cluster.snapshot)
    assert plugin.post_filter(state, POD, nothing) == STILL_NOT_SCHEDULABLE


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


def test_nodes_that_serve_a_better_alternative_score_higher() -> None:
    big = {"cel": {"expression": 'device.attributes["gpu.example.com"].size == "big"'}}
    small = {"cel": {"expression": 'device.attributes["gpu.example.com"].size == "small"'}}
    plugin, cluster = _plugin(
        claim(alternatives=["big", "small"]),
        device_class("big", selectors=[big]),
        device_class("small", selectors=[small]),
        device_slice("a", "d0", attributes={"size": {"string": "big"}}),
        device_slice("b", "d0", attributes={"size": {"string": "small"}}),
    )
    state = CycleState()
    assert plugin.pre_filter(state, POD, cluster.snapshot) is None
    assert set(refusals(plugin, state, POD, cluster.snapshot)) == {"offers"}
    scores = raw_scores(plugin, state, POD, cluster.snapshot)
    assert scores == {"a": 8, "b": 7, "offers": 0}


@pytest.mark.parametrize(
    ("resource", "refused"),
    [
        pytest.param(GPU, {"b"}, id="by the name a class gives"),
        pytest.param(IMPLICIT, {"b", "offers"}, id="by the name of a class"),
    ],
)
def test_extended_resources_of_a_class_come_from_the_node_or_from_devices(
    resource: str, refused: set[str]
) -> None:
    plugin, cluster = _plugin(CLASS, device_slice("a", "d0"))
    state, asking = CycleState(), asks_for(resource)
    assert plugin.pre_filter(state, asking, cluster.snapshot) is None
    answers = refusals(plugin, state, asking, cluster.snapshot)
    assert answers == dict.fromkeys(refused, CANNOT_ALLOCATE)
    assert plugin.sign_pod(asking) is None


@pytest.mark.parametrize(
    ("resource", "settings"),
    [
        pytest.param("example.com/other", {}, id="that no class stands for"),
        pytest.param(
            GPU,
            {"gates": {"DRAExtendedResource": False}, "release": "1.36"},
            id="with the gate off",
        ),
    ],
)
def test_other_extended_resources(resource: str, settings: dict[str, Any]) -> None:
    plugin, cluster = _plugin(CLASS, **settings)
    answer = plugin.pre_filter(CycleState(), asks_for(resource), cluster.snapshot)
    assert answer == Status.skip()


def test_the_newest_class_stands_for_a_resource() -> None:
    def aged(name: str, year: int) -> DeviceClass:
        made = device_class(name, extendedResourceName=GPU)
        metadata = {"name": name, "creationTimestamp": f"{year}-01-01T00:00:00Z"}
        return type(made)(metadata=type(made.metadata)(**_snake(metadata)), spec=made.spec)

    classes = [aged("new", 2026), aged("old", 2024), aged("also-new", 2026)]
    scheduler = MemoryScheduler([node("b"), device_slice("b", "d0"), *classes])
    pod = asks_for(GPU)
    scheduler.cluster.add(pod)
    assert drive(scheduler.schedule_one(pod)).node_name == "b"
    (claim,) = scheduler.cluster.store(ResourceClaim).list()
    (request,) = claim.spec.devices.requests
    assert request.exactly is not None
    assert request.exactly.device_class_name == "also-new"


def _snake(metadata: dict[str, str]) -> dict[str, str]:
    return {"name": metadata["name"], "creation_timestamp": metadata["creationTimestamp"]}
