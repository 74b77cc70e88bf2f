"""A pruned search finds what a full one finds, in fewer steps."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.api import ResourceClaim, ResourceSlice
from mooring.informers.store import Store
from mooring.plugins.dynamic_resources.allocator import (
    Allocator,
    AllocatorFeatures,
    NodeAllocationError,
)
from mooring.plugins.dynamic_resources.cel_budget import CelBudget
from mooring.plugins.dynamic_resources.device_requests import AllocationError
from mooring.plugins.dynamic_resources.pools import PoolError, SlicePools
from mooring.plugins.dynamic_resources.search_pruning import can_flow
from mooring.plugins.dynamic_resources.tracker import ClaimTracker
from tests.plugins.clusters import make
from tests.plugins.dynamic_resources import clusters_of_devices as drawn
from tests.plugins.dynamic_resources.evaluations import evaluated

NODE = drawn.node("n0", "x")
NEVER = 10**9


CLASSES = Store([drawn.device_class("any"), drawn.device_class("a", drawn.SELECTORS[8])])


def _allocator(slices: list[ResourceSlice], prune_after: int) -> Allocator:
    return Allocator(
        AllocatorFeatures(derived_attributes=True, compatibility_groups=True),
        ClaimTracker(Store()).allocated(shares=True),
        CLASSES,
        SlicePools(Store(slices), partitions=True, groups=True),
        prune_after=prune_after,
    )


def _answer(allocator: Allocator, slices: list[ResourceSlice], claims: list[ResourceClaim]) -> Any:
    evaluations = evaluated(claims, CLASSES, slices)
    try:
        found = allocator.allocate(NODE, claims, evaluations, lambda: False, CelBudget(10**12))
    except (AllocationError, NodeAllocationError, PoolError) as error:
        return str(error)
    return found and [
        [(device.wanted.name, device.candidate.id, device.consumed) for device in one.chosen]
        for one in found.claims()
    ]


@settings(max_examples=150, deadline=None)
@given(
    slices=st.lists(drawn.slices(faults=False), max_size=5),
    claims=st.tuples(drawn.claims("c0"), drawn.claims("c1"), drawn.claims("c2")),
)
def test_a_pruned_search_finds_the_same(
    slices: list[ResourceSlice], claims: tuple[ResourceClaim, ...]
) -> None:
    unique = list({one.metadata.name: one for one in slices}.values())
    full, pruned = _allocator(unique, NEVER), _allocator(unique, 0)
    assert _answer(pruned, unique, list(claims)) == _answer(full, unique, list(claims))
    assert pruned.steps <= full.steps


SIZE = 'device.attributes["a.example.com"].size == "{}"'


@st.composite
def _contested_pool(draw: Any) -> ResourceSlice:
    """Draw few devices that are nearly the same."""
    devices = []
    for i in range(draw(st.integers(4, 7))):
        attributes = {
            "model": {"string": draw(st.sampled_from("ABC"))},
            "size": {"string": draw(st.sampled_from("12"))},
        }
        device: dict[str, Any] = {"name": f"d{i}", "attributes": attributes}
        if draw(st.integers(0, 15)) == 15:
            del attributes["model"]
        if draw(st.integers(0, 15)) == 15:
            device["allowMultipleAllocations"] = True
            device["capacity"] = {"m": {"value": "2", "requestPolicy": {"default": "1"}}}
        devices.append(device)
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "a.example.com", "allNodes": True, "pool": pool, "devices": devices}
    return make(ResourceSlice, "s", spec=spec)


DERIVED = [
    {"name": "a.example.com/model", "expression": 'device.attributes["a.example.com"].size'},
    {
        "name": "a.example.com/size",
        "expression": 'device.attributes["a.example.com"].?size.orValue(1) + 1',
    },
]


@st.composite
def _contesting_claim(draw: Any, name: str) -> ResourceClaim:
    """Draw a claim that others compete with, in most cases with a constraint."""
    requests = []
    for i in range(draw(st.integers(1, 2))):
        exactly: dict[str, Any] = {"deviceClassName": "any", "count": draw(st.integers(1, 2))}
        size = draw(st.sampled_from(["", "", "1", "2"]))
        if size:
            exactly["selectors"] = [{"cel": {"expression": SIZE.format(size)}}]
        if draw(st.integers(0, 19)) == 19:
            exactly["adminAccess"] = True
        if draw(st.integers(0, 29)) == 29:
            exactly["allocationMode"] = "All"
            del exactly["count"]
        derived = draw(st.sampled_from([None, None, None, *DERIVED]))
        if derived:
            exactly["derivedAttributes"] = [derived]
        requests.append({"name": f"r{i}", "exactly": exactly})
    kind = draw(st.sampled_from([*["match", "some", ""] * 3, "distinct"]))
    constraints = {
        "match": [{"matchAttribute": "a.example.com/model"}],
        "some": [{"matchAttribute": "a.example.com/model", "requests": ["r1"]}],
        "distinct": [{"distinctAttribute": "a.example.com/size"}],
        "": [],
    }[kind]
    spec = {"devices": {"requests": requests, "constraints": constraints}}
    return make(ResourceClaim, name, "ns", metadata={"uid": name}, spec=spec)


@settings(max_examples=300, deadline=None)
@given(
    pool=_contested_pool(),
    claims=st.integers(2, 3).flatmap(
        lambda count: st.tuples(*(_contesting_claim(f"c{i}") for i in range(count)))
    ),
)
def test_a_pruned_search_for_few_devices_finds_the_same(
    pool: ResourceSlice, claims: tuple[ResourceClaim, ...]
) -> None:
    full, pruned = _allocator([pool], NEVER), _allocator([pool], 0)
    assert _answer(pruned, [pool], list(claims)) == _answer(full, [pool], list(claims))
    assert pruned.steps <= full.steps


def test_a_state_includes_the_value_that_a_constraint_requires() -> None:
    devices = [
        {"name": f"d{i}", "attributes": {"model": {"string": model}}}
        for i, model in enumerate("ABA")
    ]
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "a.example.com", "allNodes": True, "pool": pool, "devices": devices}
    slices = [make(ResourceSlice, "s", spec=spec)]
    # With d0 for the first claim, d1 and d2 do not match. With d1, the second claim is at the same
    # place again, with the same models in use, but needs the other model.
    requests = [{"name": f"r{i}", "exactly": {"deviceClassName": "any", "count": 1}} for i in "ab"]
    fields = {"devices": {"requests": requests, "constraints": SAME}}
    both = make(ResourceClaim, "both", "ns", metadata={"uid": "both"}, spec=fields)
    claims = [*_claims(1), both]
    full, pruned = _allocator(slices, NEVER), _allocator(slices, 0)
    assert _answer(pruned, slices, claims) == _answer(full, slices, claims)
    assert [len(one) for one in _answer(pruned, slices, claims)] == [1, 2]


def test_a_search_that_ends_in_an_error_is_not_pruned() -> None:
    devices = [{"name": "d0"}, {"name": "d1", "attributes": {"model": {"string": "m0"}}}]
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "a.example.com", "allNodes": True, "pool": pool, "devices": devices}
    slices = [make(ResourceSlice, "s", spec=spec)]
    claims = _claims(3, lambda i: 0)
    full, pruned = _allocator(slices, NEVER), _allocator(slices, 0)
    assert "CEL runtime error: no such key: model" in _answer(full, slices, claims)
    assert _answer(pruned, slices, claims) == _answer(full, slices, claims)


def _pool(count: int, models: int = 1) -> ResourceSlice:
    devices = [
        {"name": f"d{i}", "attributes": {"model": {"string": f"m{i % models}"}}}
        for i in range(count)
    ]
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "a.example.com", "allNodes": True, "pool": pool, "devices": devices}
    return make(ResourceSlice, "s", spec=spec)


def _claims(
    count: int, model: Any = lambda i: None, devices: int = 1, **more: Any
) -> list[ResourceClaim]:
    found = []
    for i in range(count):
        exactly: dict[str, Any] = {"deviceClassName": "any", "count": devices}
        if model(i) is not None:
            text = f'device.attributes["a.example.com"].model == "m{model(i)}"'
            exactly["selectors"] = [{"cel": {"expression": text}}]
        spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}], **more}}
        claim = make(ResourceClaim, f"c{i}", "ns", metadata={"uid": f"c{i}"}, spec=spec)
        found.append(claim)
    return found


SAME = [{"matchAttribute": "a.example.com/model"}]


@pytest.mark.parametrize(
    ("pool", "claims", "fits", "steps"),
    [
        pytest.param(_pool(128), _claims(400), False, 300, id="more claims than devices"),
        pytest.param(_pool(128), _claims(5, devices=32), False, 300, id="more devices than exist"),
        pytest.param(_pool(400), _claims(400), True, 400, id="as many as there are"),
        pytest.param(
            _pool(64, 8), _claims(65, lambda i: i % 8), False, 300, id="too few of one model"
        ),
        pytest.param(
            _pool(64, 2),
            _claims(64, lambda i: None if i < 32 else 0),
            True,
            3000,
            id="the last claims need the first devices",
        ),
        pytest.param(
            _pool(128, 16),
            _claims(4, devices=9, constraints=SAME),
            False,
            2000,
            id="too few with the same attribute",
        ),
    ],
)
def test_claims_that_compete_end_soon(
    pool: ResourceSlice, claims: list[ResourceClaim], fits: bool, steps: int
) -> None:
    allocator = _allocator([pool], 256)
    evaluations = evaluated(claims, CLASSES, [pool])
    found = allocator.allocate(NODE, claims, evaluations, lambda: False, CelBudget(10**12))
    assert (found is not None) is fits
    assert allocator.steps <= steps


@given(
    needs=st.lists(
        st.tuples(st.frozensets(st.integers(0, 4), min_size=1), st.integers(1, 3)), max_size=4
    ),
    free=st.dictionaries(st.integers(0, 4), st.integers(1, 3)),
)
def test_a_flow_is_found_if_there_is_one(
    needs: list[tuple[frozenset[int], int]], free: dict[int, int]
) -> None:
    def can_serve(left: list[frozenset[int]], spare: Counter[int]) -> bool:
        if not left:
            return True
        return any(can_serve(left[1:], spare - Counter((code,))) for code in left[0] if spare[code])

    single = [accepted for accepted, count in needs for _ in range(count)]
    assert can_flow(needs, Counter(free)) == can_serve(single[:8], Counter(free)) or len(single) > 8
