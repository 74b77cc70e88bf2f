from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from mooring.api import ResourceSlice
from mooring.api.resource import Device
from mooring.informers.store import Store
from mooring.plugins.dynamic_resources.pools import NodePools, PoolError, SlicePools
from tests.plugins.clusters import make, make_node

NODE = make_node("a", {"zone": "x"})


def _slice(name: str, *devices: str, count: int = 1, generation: int = 1, **spec: Any) -> Any:
    pool = {"name": "p", "generation": generation, "resourceSliceCount": count}
    found = {
        "driver": "d",
        "pool": pool,
        "devices": [{"name": one} for one in devices],
        **(spec or {"nodeName": "a"}),
    }
    return make(ResourceSlice, name, spec=found)


def _pools(*slices: ResourceSlice, partitions: bool = True) -> NodePools:
    return SlicePools(Store(slices), partitions=partitions).of(NODE)


def _selector(zone: str) -> dict[str, Any]:
    expression = {"key": "zone", "operator": "In", "values": [zone]}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}


@pytest.mark.parametrize(
    ("slices", "devices"),
    [
        pytest.param([_slice("s", "x", "y")], ["x", "y"], id="of the node"),
        pytest.param([_slice("s", "x", nodeName="b")], [], id="of another node"),
        pytest.param([_slice("s", "x", allNodes=True)], ["x"], id="of all nodes"),
        pytest.param([_slice("s", "x", nodeSelector=_selector("x"))], ["x"], id="selected"),
        pytest.param([_slice("s", "x", nodeSelector=_selector("y"))], [], id="not selected"),
        pytest.param(
            [_slice("t", "x", count=2), _slice("s", "y", count=2)],
            ["y", "x"],
            id="by the names of slices",
        ),
        pytest.param(
            [_slice("s", "x"), _slice("t", "y", generation=2)], ["y"], id="of the newest generation"
        ),
        pytest.param(
            [_slice("s", "x", count=2), _slice("t", "y", generation=2, nodeName="b")],
            [],
            id="of a generation that is being replaced",
        ),
        pytest.param(
            [_slice("s", "x", count=2), _slice("t", "y", count=2, nodeName="b")],
            ["x"],
            id="of a pool that is whole elsewhere",
        ),
    ],
)
def test_which_devices_a_node_reaches(slices: list[ResourceSlice], devices: list[str]) -> None:
    assert [one.device.name for one in _pools(*slices).devices] == devices


def _counted(name: str, counter_set: str, counter: str = "m") -> dict[str, Any]:
    consumed = {"counterSet": counter_set, "counters": {counter: {"value": "1"}}}
    return {"name": name, "consumesCounters": [consumed]}


def _counters(*names: str) -> dict[str, Any]:
    return {"sharedCounters": [{"name": one, "counters": {"m": {"value": "1"}}} for one in names]}


@pytest.mark.parametrize(
    ("slices", "why"),
    [
        pytest.param([_slice("s", "x", "x")], "duplicate device name x", id="a name twice"),
        pytest.param(
            [_slice("s", nodeName="a", devices=[_counted("x", "no")])],
            "counter set no not found",
            id="no such counters",
        ),
        pytest.param(
            [
                _slice("s", count=2, nodeName="a", devices=[_counted("x", "c", "k")]),
                _slice("t", count=2, nodeName="a", devices=[], **_counters("c")),
            ],
            "counter k not found in counter set c",
            id="no such counter",
        ),
        pytest.param(
            [_slice("s", nodeName="a", devices=[], **_counters("c", "c"))],
            "duplicate counter set name c",
            id="counters twice",
        ),
    ],
)
def test_pools_from_which_nothing_is_allocated(slices: list[ResourceSlice], why: str) -> None:
    found = _pools(*slices)
    assert [pool.invalid for pool in found.pools] == [why]
    assert found.devices == []


def test_a_pool_of_which_slices_are_missing_is_incomplete() -> None:
    found = _pools(_slice("s", "x", count=2))
    assert [pool.is_incomplete for pool in found.pools] == [True]
    assert found.devices == []


def test_devices_that_have_to_be_prepared_come_last() -> None:
    waits = {"name": "x", "bindingConditions": ["Ready"]}
    early = make(
        ResourceSlice,
        "s",
        spec={
            "driver": "d",
            "nodeName": "a",
            "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1},
            "devices": [waits],
        },
    )
    assert [one.device.name for one in _pools(early, _slice("t", "y")).devices] == ["y", "x"]


def test_a_selector_that_cannot_be_read_is_an_error() -> None:
    expression = {"key": "zone", "operator": "Near", "values": ["x"]}
    wrong = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    with pytest.raises(PoolError, match="failed to perform node selection for slice s"):
        _pools(_slice("s", "x", nodeSelector=wrong))


def test_devices_that_choose_their_nodes_need_partitions() -> None:
    chooses = _slice(
        "s", perDeviceNodeSelection=True, devices=[{"name": "x", "allNodes": True}, {"name": "y"}]
    )
    found = _pools(chooses)
    reached = [(one.device.name, one.reachable) for one in found.devices]
    assert reached == [("x", True), ("y", False)]
    assert _pools(chooses, partitions=False).pools == ()


def test_what_did_not_change_is_kept_when_a_slice_comes() -> None:
    slices = Store([_slice("s", "x")])
    pools = SlicePools(slices, partitions=True)
    first = pools.of(NODE)
    elsewhere = {"name": "q", "generation": 1, "resourceSliceCount": 1}
    slices.add(_slice("t", "y", nodeName="b", pool=elsewhere))
    assert pools.of(NODE) is first
    slices.add(_slice("s", "z"))
    assert [one.device.name for one in pools.of(NODE).devices] == ["z"]


def _grouped(name: str, *devices: str, count: int = 1, **spec: Any) -> Any:
    """Return a slice whose devices have compatibility groups."""
    made = _slice(name, *devices, count=count, **spec)
    consumed = ({"counterSet": "c", "counters": {}, "compatibilityGroups": ["g"]},)
    raw = [{"name": one.name, "consumesCounters": consumed} for one in made.spec.devices]
    return replace(made, spec=replace(made.spec, devices=msgspec.convert(raw, tuple[Device, ...])))


COUNTERS = {"nodeName": "a", "sharedCounters": [{"name": "c", "counters": {}}]}


@pytest.mark.parametrize(
    ("slices", "groups", "devices", "incomplete"),
    [
        pytest.param(
            [_slice("c", count=2, **COUNTERS), _grouped("s", "x", count=2)],
            True,
            ["x"],
            [False],
            id="groups are known",
        ),
        pytest.param(
            [_slice("c", count=2, **COUNTERS), _grouped("s", "x", count=2)],
            False,
            [],
            [True],
            id="the counters alone are no pool",
        ),
        pytest.param([_grouped("s", "x")], False, [], [], id="nothing else is reached"),
        pytest.param(
            [_slice("t", "y", count=2), _grouped("s", "x", count=2, nodeName="b")],
            False,
            [],
            [True],
            id="a slice of another node is missing",
        ),
        pytest.param(
            [_slice("t", "y", count=1), _grouped("s", "x", generation=2)],
            False,
            ["y"],
            [False],
            id="a complete older generation",
        ),
    ],
)
def test_slices_with_groups_are_missing_unless_groups_are_known(
    slices: list[ResourceSlice], groups: bool, devices: list[str], incomplete: list[bool]
) -> None:
    found = SlicePools(Store(slices), partitions=True, groups=groups).of(NODE)
    assert [one.device.name for one in found.devices] == devices
    assert [pool.is_incomplete for pool in found.pools] == incomplete


def test_a_node_may_not_reach_the_counters() -> None:
    elsewhere = {**COUNTERS, "nodeName": "b"}
    found = SlicePools(
        Store([_slice("c", count=2, **elsewhere), _grouped("s", "x", count=2)]),
        partitions=True,
        groups=True,
    ).of(NODE)
    assert [(one.id[2], one.pool.invalid) for one in found.devices] == [("x", "")]
