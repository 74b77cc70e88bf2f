"""The check of node resources that claims consume, for all nodes at once and node by node."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import ResourceClaim, ResourceSlice
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.dynamic_resources import DynamicResources
from mooring.plugins.dynamic_resources.claim_filter import CANNOT_ALLOCATE, NOT_AVAILABLE
from mooring.plugins.dynamic_resources.node_resource_check import (
    NO_CONTAINER,
    NOT_SHAREABLE,
    SHARED,
    USED,
)
from tests.plugins.clusters import Cluster, make, refusals
from tests.plugins.dynamic_resources.devices import (
    DRIVER,
    allocated_on,
    claim,
    device_class,
    device_slice,
    node,
    pod,
    user,
)

GATE = {"DRANodeAllocatableResources": True}
TWO = {"cpu": {"mapping": {"deviceMultiplier": "2"}}}
LACKS_CPU = Status.unschedulable("Insufficient cpu")
TOO_SMALL = Status.unresolvable("Insufficient cpu")


def consuming_slice(
    node_name: str, *devices: str, resources: Any = TWO, **fields: Any
) -> ResourceSlice:
    """Build the slice of a node whose devices consume resources of the node."""
    return device_slice(node_name, *devices, nodeAllocatableResources=resources, **fields)


def filler(name: str, on: str, cpu: str, **status: Any) -> Any:
    """Build a pod that runs on a node."""
    container = {"name": "x", "resources": {"requests": {"cpu": cpu}}}
    made = pod(name, containers=[container], nodeName=on)
    return make(
        type(made),
        name,
        "default",
        metadata={"uid": f"default/{name}"},
        spec={"nodeName": on, "containers": [container]},
        status=status,
    )


def wants(*claims: str, cpu: str = "1") -> Any:
    """Build a pod that uses claims and requests cpu."""
    uses = [{"name": f"g{i}"} for i, _ in enumerate(claims)]
    resources = {"requests": {"cpu": cpu}, "claims": uses}
    return pod("pod", *claims, containers=[{"name": "x", "resources": resources}])


def ask(
    asking: Any, nodes: list[Any], *objects: Any, pods: Any = (), **options: Any
) -> tuple[dict[str, Status], CycleState]:
    """Return which nodes refuse a pod, and the state of its attempt."""
    handle = Cluster(nodes, pods, [device_class(), *objects], **{"gates": GATE, **options})
    plugin = DynamicResources(handle=handle)  # type: ignore[arg-type]
    plugin.start()
    state = CycleState()
    refused = plugin.pre_filter(state, asking, handle.snapshot)
    assert refused is None
    return refusals(plugin, state, asking, handle.snapshot), state


def test_a_node_needs_free_resources_for_the_pod_and_its_devices() -> None:
    nodes = [node("a"), node("b"), node("c", {"cpu": "2"}), node("d")]
    found, _ = ask(
        wants("c"),
        nodes,
        claim(),
        *(consuming_slice(name, "d0") for name in "abc"),
        pods=[filler("one", "a", "1"), filler("two", "b", "1500m")],
    )
    assert found == {"b": LACKS_CPU, "c": TOO_SMALL, "d": CANNOT_ALLOCATE}


def test_nodes_whose_devices_consume_different_amounts_are_checked_separately() -> None:
    three = {"cpu": {"mapping": {"deviceMultiplier": "3500m"}}}
    found, state = ask(
        wants("c"),
        [node(name) for name in "abcd"],
        claim(),
        consuming_slice("a", "d0"),
        consuming_slice("b", "d0", resources=three),
        consuming_slice("c", "d0"),
        device_slice("d", "d0"),
    )
    assert found == {"b": TOO_SMALL}
    assert [state.read("DynamicResources").statuses_on(name) != () for name in "acd"] == [
        True,
        True,
        False,
    ]


def test_every_resource_that_is_short_is_named() -> None:
    resources = {
        "memory": {"overhead": {"perPod": "4Gi", "perContainer": "5Gi"}},
        "hugepages-2Mi": {"mapping": {"deviceMultiplier": "64Mi"}},
        "cpu": {"mapping": {"deviceMultiplier": "3"}},
    }
    found, _ = ask(
        wants("c"),
        [node("a", {"hugepages-2Mi": "128Mi"}), node("b", {"memory": "32Gi"})],
        claim(),
        *(consuming_slice(name, "d0", resources=resources) for name in "ab"),
        pods=[filler("one", "a", "1"), filler("two", "b", "1")],
    )
    assert found == {
        "a": Status.unresolvable("Insufficient cpu", "Insufficient memory"),
        "b": Status.unresolvable("Insufficient cpu", "Insufficient hugepages-2Mi"),
    }


def test_without_the_gate_devices_consume_nothing() -> None:
    found, state = ask(
        wants("c", cpu="4"), [node("a")], claim(), consuming_slice("a", "d0"), gates={}
    )
    assert found == {}
    assert state.read("DynamicResources").statuses_on is None


def test_an_allocated_claim_consumes_resources_too() -> None:
    mine = claim(status={**allocated_on("a"), "reservedFor": [user("pod")]})
    found, state = ask(
        wants("c", cpu="3"), [node("a"), node("b")], mine, consuming_slice("a", "d0")
    )
    assert found == {"a": TOO_SMALL, "b": NOT_AVAILABLE}
    found, state = ask(wants("c"), [node("a"), node("b")], mine, consuming_slice("a", "d0"))
    assert found == {"b": NOT_AVAILABLE}
    (status,) = state.read("DynamicResources").statuses_on("a")
    assert [one.quantity for one in status.mapping] == ["2"]


def everywhere(**spec: Any) -> ResourceSlice:
    """Build a slice with a device that several nodes may reach."""
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    device = {"name": "d0", "nodeAllocatableResources": TWO, **spec.pop("device", {})}
    return make(
        ResourceSlice,
        "net",
        spec={"driver": DRIVER, "pool": pool, "devices": [device], **spec},
    )


def on_pool(*devices: str) -> ResourceClaim:
    """Build a claim that has devices of the pool, usable on all nodes."""
    results = [
        {"request": "r", "driver": DRIVER, "pool": "p", "device": device} for device in devices
    ]
    return claim(status={"allocation": {"devices": {"results": results}}})


LABELLED = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "l", "operator": "Exists"}]}]}
BROKEN = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "l", "operator": "Odd"}]}]}
#: Where a slice is, and on which of the nodes a and b its device consumes cpu.
PLACES: dict[str, tuple[dict[str, Any], str]] = {
    "a slice of all nodes": ({"allNodes": True}, "ab"),
    "a slice of nodes with a label": ({"nodeSelector": LABELLED}, "b"),
    "a slice of one node": ({"nodeName": "a"}, "a"),
    "a selector that is malformed": ({"nodeSelector": BROKEN}, ""),
    "a device of one node": (
        {"perDeviceNodeSelection": True, "device": {"nodeName": "b"}},
        "b",
    ),
    "a device of all nodes": (
        {"perDeviceNodeSelection": True, "device": {"allNodes": True}},
        "ab",
    ),
    "a device of nodes with a label": (
        {"perDeviceNodeSelection": True, "device": {"nodeSelector": LABELLED}},
        "b",
    ),
}


@pytest.mark.parametrize(("place", "where"), PLACES.values(), ids=PLACES)
def test_a_device_consumes_resources_of_the_nodes_that_reach_it(
    place: dict[str, Any], where: str
) -> None:
    nodes = [node("a"), node("b", l="1")]
    found, _ = ask(wants("c", cpu="3"), nodes, on_pool("d0"), everywhere(**place))
    assert found == dict.fromkeys(where, TOO_SMALL)


def test_all_devices_of_a_claim_that_consumes_resources_must_be_known() -> None:
    found, _ = ask(wants("c"), [node("a")], on_pool("d0", "gone"), everywhere(allNodes=True))
    text = (
        "claim default/c, device gone, driver gpu.example.com: device gone not found in pool p "
        "for driver gpu.example.com"
    )
    assert found == {"a": Status.error(text)}
    there = everywhere(perDeviceNodeSelection=True, device={"nodeName": "elsewhere"})
    found, _ = ask(wants("c"), [node("a")], on_pool("d0", "gone"), there)
    assert found == {}


def test_the_error_of_the_first_node_comes_last() -> None:
    resources = {"cpu": {"mapping": {"capacityKey": "k", "capacityMultiplier": "1"}}}
    handle = Cluster(
        [node("a"), node("b"), node("c", {"cpu": "1"})],
        objects=[
            device_class(),
            claim(),
            consuming_slice("a", "d0", resources=resources),
            consuming_slice("b", "d0", resources={"memory": TWO["cpu"], **resources}),
            consuming_slice("c", "d0"),
        ],
        gates=GATE,
    )
    plugin = DynamicResources(handle=handle)  # type: ignore[arg-type]
    plugin.start()
    state, asking = CycleState(), wants("c")
    assert plugin.pre_filter(state, asking, handle.snapshot) is None
    answers = list(plugin.filter_nodes(state, asking, handle.snapshot))
    assert [status.is_error for status, _ in answers] == [False, True, True]
    assert [int(mask.argmax()) for _, mask in answers[1:]] == [0, 1]


OTHER = {"reservedFor": [user("other")]}
UNSHAREABLE = Status.unresolvable(NOT_SHAREABLE.format("c"))


def test_a_claim_with_a_mapped_device_belongs_to_one_pod() -> None:
    nodes = [node("a"), node("b")]
    taken = claim(status={**allocated_on("a"), **OTHER})
    found, _ = ask(wants("c"), nodes, taken, consuming_slice("a", "d0"))
    assert found == {"a": UNSHAREABLE, "b": NOT_AVAILABLE}
    gpu = {"memory": {"overhead": {"perPod": "1Gi"}}}
    found, _ = ask(wants("c"), nodes, taken, consuming_slice("a", "d0", resources=gpu))
    assert found == {"b": NOT_AVAILABLE}
    found, _ = ask(wants("c"), nodes, claim(status=allocated_on("a")), consuming_slice("a", "d0"))
    assert found == {"b": NOT_AVAILABLE}
    found, _ = ask(wants("c"), nodes, taken, consuming_slice("b", "d0"))
    assert found == {"b": NOT_AVAILABLE}


MAPPED = {"cpu": {"allocationMultiplier": "2"}}


def older_slice(node_name: str, *devices: str) -> ResourceSlice:
    """Build the slice of a node with the fields of 1.36."""
    return device_slice(node_name, *devices, nodeAllocatableResourceMappings=MAPPED)


def test_1_36_reads_other_fields() -> None:
    found, state = ask(
        wants("c", cpu="3"),
        [node("a"), node("b"), node("c", {"cpu": "8"})],
        claim(),
        older_slice("a", "d0"),
        consuming_slice("b", "d0"),
        older_slice("c", "d0"),
        release="1.36",
    )
    assert found == {"a": TOO_SMALL}
    (status,) = state.read("DynamicResources").statuses_on("c")
    assert (status.containers, status.resources) == (("x",), {"cpu": "2"})


def test_1_36_counts_only_new_allocations() -> None:
    mine = claim(status={**allocated_on("a"), "reservedFor": [user("pod")]})
    found, state = ask(
        wants("c", cpu="4"), [node("a")], mine, older_slice("a", "d0"), release="1.36"
    )
    assert found == {}
    assert state.read("DynamicResources").statuses_on("a") == ()


def test_in_1_36_a_container_must_use_the_claim() -> None:
    found, _ = ask(pod("pod", "c"), [node("a")], claim(), older_slice("a", "d0"), release="1.36")
    assert found == {"a": Status.unresolvable(NO_CONTAINER.format("c"))}


def test_in_1_36_one_pod_of_a_node_uses_a_claim() -> None:
    statuses = {"nodeAllocatableResourceClaimStatuses": [{"resourceClaimName": "c"}]}
    others = {"nodeAllocatableResourceClaimStatuses": [{"resourceClaimName": "z"}]}
    found, _ = ask(
        wants("c"),
        [node(name) for name in "abcd"],
        claim(),
        *(older_slice(name, "d0") for name in "abcd"),
        pods=[
            filler("one", "a", "0", **statuses),
            filler("two", "b", "0", **statuses),
            filler("three", "b", "0", **statuses),
            filler("four", "c", "0", **others),
        ],
        release="1.36",
    )
    assert found == {
        "a": Status.unresolvable(USED.format("c")),
        "b": Status.unresolvable(SHARED.format("c")),
    }
