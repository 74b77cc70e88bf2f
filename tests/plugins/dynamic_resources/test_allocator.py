"""The allocator finds what kube-scheduler's finds: every recorded scenario, and its cache."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from mooring.api import DeviceClass, Node, ResourceClaim, ResourceSlice, decode_as
from mooring.informers.store import Store
from mooring.plugins.dynamic_resources.allocator import (
    Allocator,
    AllocatorFeatures,
    NodeAllocationError,
)
from mooring.plugins.dynamic_resources.device_requests import AllocationError
from mooring.plugins.dynamic_resources.pools import PoolError, SlicePools
from mooring.plugins.dynamic_resources.results import allocation_of
from mooring.plugins.dynamic_resources.selectors import SelectorCache
from mooring.plugins.dynamic_resources.tracker import ClaimTracker
from tests.plugins.clusters import make, make_node

RECORDED = [
    msgspec.json.decode(line)
    for line in gzip.decompress(
        (Path(__file__).parent / "recorded" / "allocations.jsonl.gz").read_bytes()
    ).splitlines()
]


def _store(raw: list[Any], kind: type[Any]) -> Store[Any]:
    return Store([decode_as(one, kind) for one in raw])


def _allocator(scenario: dict[str, Any], features: AllocatorFeatures) -> Allocator:
    allocated = ClaimTracker(_store(scenario["allocated"], ResourceClaim))
    return Allocator(
        features,
        allocated.allocated(shares=features.consumable_capacity),
        _store(scenario["classes"], DeviceClass),
        SlicePools(
            _store(scenario["slices"], ResourceSlice), partitions=features.partitionable_devices
        ),
        SelectorCache(),
    )


def _answer(scenario: dict[str, Any]) -> dict[str, Any]:
    node = decode_as(scenario["node"], Node)
    claims = [decode_as(claim, ResourceClaim) for claim in scenario["claims"]]
    allocator = _allocator(scenario, AllocatorFeatures())
    try:
        found = allocator.allocate(node, claims, lambda: False)
    except (AllocationError, NodeAllocationError, PoolError) as error:
        return {"error": str(error)}
    if found is None:
        return {}
    results = [
        msgspec.to_builtins(allocation_of(one, "n1", random.Random(0), binding_conditions=True))
        for one in found.claims()
    ]
    for result in results:
        for device in result["devices"]["results"]:
            if "shareID" in device:
                device["shareID"] = "*"
    return {"results": results}


@pytest.mark.parametrize("number", range(len(RECORDED)))
def test_devices_are_allocated_as_recorded(number: int) -> None:
    recorded = RECORDED[number]
    ours = msgspec.json.decode(msgspec.json.encode(_answer(recorded["scenario"])))
    assert ours == recorded["expected"]


def _twin(scenario: dict[str, Any]) -> dict[str, Any]:
    """Add a node n2 that has what n1 has, in separate pools."""
    twins = []
    for one in scenario["slices"]:
        spec = one["spec"]
        if spec.get("nodeName") == "n1":
            pool = {**spec["pool"], "name": f"twin-{spec['pool']['name']}"}
            name = {"name": f"twin-{one['metadata']['name']}"}
            twins.append({"metadata": name, "spec": {**spec, "nodeName": "n2", "pool": pool}})
    kept = [one for one in scenario["slices"] if one["spec"].get("nodeName") != "n2"]
    return {**scenario, "slices": [*kept, *twins]}


@pytest.mark.parametrize("number", range(0, len(RECORDED), 2))
def test_what_is_known_of_a_node_that_looks_the_same_is_true_of_another(number: int) -> None:
    scenario = _twin(RECORDED[number]["scenario"])
    claims = [decode_as(claim, ResourceClaim) for claim in scenario["claims"]]
    first = decode_as(scenario["node"], Node)
    second = replace(first, metadata=replace(first.metadata, name="n2"))
    shared = _allocator(scenario, AllocatorFeatures())

    def ask(allocator: Allocator, node: Node) -> Any:
        try:
            found = allocator.allocate(node, claims, lambda: False)
        except (AllocationError, NodeAllocationError) as error:
            return str(error)
        return found and [[device.candidate.id for device in one.chosen] for one in found.claims()]

    for node in (first, second):
        assert ask(shared, node) == ask(_allocator(scenario, AllocatorFeatures()), node)


# One class, one device; the requests vary.

NODES = [make_node("a"), make_node("b")]


def _scenario(request: dict[str, Any], *, where: dict[str, Any] | None = None) -> dict[str, Any]:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {
        "driver": "d",
        "pool": pool,
        "devices": [{"name": "x"}],
        **(where or {"allNodes": True}),
    }
    return {
        "slices": [{"metadata": {"name": "s"}, "spec": spec}],
        "classes": [{"metadata": {"name": "c"}, "spec": {}}],
        "claims": [
            {
                "metadata": {"name": "claim", "namespace": "ns", "uid": "u"},
                "spec": {"devices": {"requests": [{"name": "r", **request}]}},
            }
        ],
        "allocated": [],
    }


ONE = {"exactly": {"deviceClassName": "c"}}


def _ask(scenario: dict[str, Any], **features: bool) -> list[Any]:
    allocator = _allocator(scenario, AllocatorFeatures(**features))
    claims = [decode_as(claim, ResourceClaim) for claim in scenario["claims"]]
    found = [allocator.allocate(node, claims, lambda: False) for node in NODES]
    return [one and one.claims() for one in found]


def test_a_request_without_a_mode_is_for_one_device() -> None:
    (found,), (other,) = _ask(_scenario(ONE))
    assert [one.candidate.id for one in found.chosen] == [("d", "p", "x")]
    # Both nodes reach the same devices, so there is only one search.
    assert other is found


def test_one_search_serves_nodes_that_look_the_same() -> None:
    scenario = _scenario(ONE, where={"nodeName": "a"})
    (one,) = scenario["slices"]
    spec = {**one["spec"], "nodeName": "b", "pool": {**one["spec"]["pool"], "name": "q"}}
    scenario["slices"].append({"metadata": {"name": "t"}, "spec": spec})
    allocator = _allocator(scenario, AllocatorFeatures())
    claims = [decode_as(claim, ResourceClaim) for claim in scenario["claims"]]
    here, there = (allocator.allocate(node, claims, lambda: False) for node in NODES)
    assert here is not None and there is not None
    assert there.answer is here.answer
    (found,) = there.claims()
    assert [device.candidate.id for device in found.chosen] == [("d", "q", "x")]


def test_devices_of_one_node_are_not_another_ones() -> None:
    here, there = _ask(_scenario(ONE, where={"nodeName": "a"}))
    assert here is not None and there is None


def test_a_search_ends_in_time() -> None:
    scenario = _scenario(ONE)
    allocator = _allocator(scenario, AllocatorFeatures())
    claims = [decode_as(claim, ResourceClaim) for claim in scenario["claims"]]
    with pytest.raises(TimeoutError):
        allocator.allocate(NODES[0], claims, lambda: True)


@pytest.mark.parametrize(
    ("request_of", "features", "text"),
    [
        pytest.param(
            {"firstAvailable": [{"name": "s", "deviceClassName": "c"}]},
            {"prioritized_list": False},
            "claim ns/claim, request r: has subrequests, but the DRAPrioritizedList feature is "
            "disabled",
            id="alternatives",
        ),
        pytest.param(
            {"exactly": {"deviceClassName": "c", "adminAccess": True}},
            {"admin_access": False},
            "claim ns/claim, request r: admin access is requested, but the feature is disabled",
            id="admin access",
        ),
        pytest.param(
            {"exactly": {"deviceClassName": "c", "capacity": {"requests": {"m": "1"}}}},
            {"consumable_capacity": False},
            "claim ns/claim, request r: has capacity requests, but the DRAConsumableCapacity "
            "feature is disabled",
            id="capacity",
        ),
        pytest.param(
            {"exactly": {"deviceClassName": "c", "count": 33}},
            {},
            "claim ns/claim: number of requested devices 33 exceeds the claim limit of 32",
            id="too many devices",
        ),
        pytest.param(
            {"exactly": {"deviceClassName": "c", "allocationMode": "Some"}},
            {},
            "claim ns/claim, request r: unsupported count mode Some",
            id="a mode of the future",
        ),
        pytest.param(
            {"exactly": {"deviceClassName": "c", "selectors": [{}]}},
            {},
            "claim ns/claim, request r, selector #0: CEL expression empty (unsupported selector "
            "type?)",
            id="a selector of the future",
        ),
        pytest.param(
            {"exactly": {"deviceClassName": "c", "selectors": [{"cel": {"expression": "a b"}}]}},
            {},
            "claim ns/claim: selector #0: CEL compile error: compilation failed: ERROR: "
            "<input>:1:3: Syntax error: extraneous input 'b' expecting <EOF>\n | a b\n | ..^",
            id="a selector that cannot be read",
        ),
    ],
)
def test_claims_at_fault(request_of: dict[str, Any], features: dict[str, bool], text: str) -> None:
    with pytest.raises(AllocationError) as failed:
        _ask(_scenario(request_of), **features)
    assert str(failed.value) == text


def test_what_is_found_is_forgotten_when_a_slice_changes() -> None:
    scenario = _scenario(ONE)
    slices = _store(scenario["slices"], ResourceSlice)
    pools = SlicePools(slices, partitions=True)
    assert pools.of(NODES[0]) is pools.of(NODES[1])
    (before,) = pools.of(NODES[0]).devices
    slices.add(make(ResourceSlice, "s", spec={**scenario["slices"][0]["spec"], "devices": []}))
    assert pools.of(NODES[0]).devices == []
    assert before.id == ("d", "p", "x")
