"""The allocator finds what kube-scheduler's finds: every recorded scenario, and its cache."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mooring.api import DeviceClass, Node, ResourceClaim, ResourceSlice, decode_as
from mooring.informers.store import Store
from mooring.plugins.dynamic_resources.allocator import (
    Allocator,
    AllocatorFeatures,
    NodeAllocationError,
)
from mooring.plugins.dynamic_resources.cel_budget import CelBudget
from mooring.plugins.dynamic_resources.claim_reads import ClaimDevicesView
from mooring.plugins.dynamic_resources.device_requests import AllocationError
from mooring.plugins.dynamic_resources.pools import PoolError, SlicePools
from mooring.plugins.dynamic_resources.results import allocation_of
from mooring.plugins.dynamic_resources.tracker import ClaimTracker
from tests.plugins.clusters import make, make_node
from tests.plugins.dynamic_resources.evaluations import evaluated


def _recorded(file: str) -> list[dict[str, Any]]:
    lines = gzip.decompress((Path(__file__).parent / "recorded" / file).read_bytes()).splitlines()
    return [msgspec.json.decode(line) for line in lines]


RECORDED_1_36 = _recorded("allocations.jsonl.gz")
RECORDED_1_37 = _recorded("allocations-1.37.jsonl.gz")


def _store(raw: list[Any], kind: type[Any]) -> Store[Any]:
    return Store([decode_as(one, kind) for one in raw])


def _allocator(scenario: dict[str, Any], features: AllocatorFeatures) -> Allocator:
    allocated = ClaimTracker(_store(scenario["allocated"], ResourceClaim))
    return Allocator(
        features,
        allocated.allocated(shares=features.consumable_capacity),
        _store(scenario["classes"], DeviceClass),
        SlicePools(
            _store(scenario["slices"], ResourceSlice),
            partitions=features.partitionable_devices,
            groups=features.compatibility_groups,
            counters_everywhere=features.older_allocator,
        ),
    )


def _evaluations(
    scenario: dict[str, Any], claims: list[ResourceClaim], features: AllocatorFeatures
) -> ClaimDevicesView:
    return evaluated(
        claims,
        _store(scenario["classes"], DeviceClass),
        _store(scenario["slices"], ResourceSlice).list(),
        lists=features.reads_lists,
        derived=features.derived_attributes,
    )


def _answer(scenario: dict[str, Any], features: AllocatorFeatures) -> dict[str, Any]:
    node = decode_as(scenario["node"], Node)
    claims = [decode_as(claim, ResourceClaim) for claim in scenario["claims"]]
    allocator = _allocator(scenario, features)
    evaluations = _evaluations(scenario, claims, features)
    try:
        found = allocator.allocate(node, claims, evaluations, lambda: False, CelBudget())
    except (AllocationError, NodeAllocationError, PoolError) as error:
        return {"error": str(error)}
    if found is None:
        return {}
    results = [
        msgspec.to_builtins(
            allocation_of(
                one, "n1", random.Random(0), binding_conditions=True, older=features.older_allocator
            )
        )
        for one in found.claims()
    ]
    for result in results:
        for device in result["devices"]["results"]:
            if "shareID" in device:
                device["shareID"] = "*"
    return {"results": results}


@pytest.mark.parametrize("number", range(len(RECORDED_1_36)))
def test_devices_are_allocated_as_recorded_from_1_36(number: int) -> None:
    recorded = RECORDED_1_36[number]
    found = _answer(recorded["scenario"], AllocatorFeatures(older_allocator=True))
    assert msgspec.json.decode(msgspec.json.encode(found)) == recorded["expected"]


@pytest.mark.parametrize("number", range(len(RECORDED_1_37)))
def test_devices_are_allocated_as_recorded_from_1_37(number: int) -> None:
    recorded = RECORDED_1_37[number]
    on = recorded["scenario"].get("features", {})
    features = AllocatorFeatures(
        derived_attributes=on.get("derived", False),
        compatibility_groups=on.get("groups", False),
        list_attributes=on.get("lists", False),
    )
    found = _answer(recorded["scenario"], features)
    assert msgspec.json.decode(msgspec.json.encode(found)) == recorded["expected"]


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
    given = AllocatorFeatures(**features)
    allocator = _allocator(scenario, given)
    claims = [decode_as(claim, ResourceClaim) for claim in scenario["claims"]]
    evaluations = _evaluations(scenario, claims, given)
    found = [
        allocator.allocate(node, claims, evaluations, lambda: False, CelBudget()) for node in NODES
    ]
    return [one and one.claims() for one in found]


def test_a_request_without_a_mode_is_for_one_device() -> None:
    (found,), (other,) = _ask(_scenario(ONE))
    assert [one.candidate.id for one in found.chosen] == [("d", "p", "x")]
    # Both nodes reach the same devices, so there is only one search.
    assert other is found


def test_devices_of_one_node_are_not_another_ones() -> None:
    here, there = _ask(_scenario(ONE, where={"nodeName": "a"}))
    assert here is not None and there is None


def test_a_search_ends_in_time() -> None:
    scenario = _scenario(ONE)
    allocator = _allocator(scenario, AllocatorFeatures())
    claims = [decode_as(claim, ResourceClaim) for claim in scenario["claims"]]
    evaluations = _evaluations(scenario, claims, AllocatorFeatures())
    with pytest.raises(TimeoutError):
        allocator.allocate(NODES[0], claims, evaluations, lambda: True, CelBudget())


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
            "claim ns/claim, request r: adding 33 devices exceeds the claim limit of 32, with 0 "
            "already accounted for",
            id="too many devices",
        ),
        pytest.param(
            {"exactly": {"deviceClassName": "c", "count": 33}},
            {"older_allocator": True},
            "claim ns/claim: number of requested devices 33 exceeds the claim limit of 32",
            id="too many devices, in 1.36",
        ),
        pytest.param(
            {"exactly": {"deviceClassName": "c", "derivedAttributes": [{"name": "d/a"}]}},
            {},
            "claim ns/claim, request r: cannot handle request with derived attributes, the "
            "feature is disabled",
            id="derived attributes",
        ),
        pytest.param(
            {
                "firstAvailable": [
                    {"name": "s", "deviceClassName": "c"},
                    {"name": "t", "deviceClassName": "c", "derivedAttributes": [{"name": "d/a"}]},
                ]
            },
            {},
            "claim ns/claim, request t: cannot handle request with derived attributes, the "
            "feature is disabled",
            id="derived attributes of an alternative",
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
