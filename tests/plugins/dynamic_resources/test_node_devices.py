"""Which nodes are looked at again when slices, nodes and claims change."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import ResourceClaim, ResourceSlice
from mooring.informers.store import Store
from mooring.plugins.dynamic_resources.node_devices import NodeDevices
from mooring.plugins.dynamic_resources.pools import PoolError
from mooring.plugins.dynamic_resources.tracker import ClaimTracker
from tests.plugins.clusters import Cluster, make
from tests.plugins.dynamic_resources import clusters_of_devices as drawn
from tests.plugins.dynamic_resources.devices import DRIVER, allocated_on, claim

ZONES = {"n0": "x", "n1": "y", "n2": "x", "n3": "y", "n4": "x"}


def _in_zone(zone: str, operator: str = "In") -> dict[str, Any]:
    expression = {"key": "zone", "operator": operator, "values": [zone]}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}


def _slice(name: str, *devices: Any, count: int = 1, pool: str = "", **spec: Any) -> ResourceSlice:
    about = {"name": pool or name, "generation": 1, "resourceSliceCount": count}
    named = [one if isinstance(one, dict) else {"name": one} for one in devices]
    fields = {"driver": DRIVER, "pool": about, "devices": named, **spec}
    return make(ResourceSlice, name, spec=fields)


class _World:
    def __init__(self, *slices: ResourceSlice, older: bool = False) -> None:
        self.cluster = Cluster([drawn.node(name, zone) for name, zone in ZONES.items()])
        self.slices = Store(slices)
        self.claims: Store[ResourceClaim] = Store()
        self.devices = NodeDevices(
            self.slices,
            ClaimTracker(self.claims),
            partitions=True,
            lists=False,
            shares=True,
            counters_everywhere=older,
        )
        self.refresh()

    def refresh(self) -> int:
        """Apply the changes; return the pools of how many nodes were gathered."""
        before = self.devices.gathered
        self.devices.refresh(self.cluster.snapshot)
        return self.devices.gathered - before

    def names(self, node: str) -> list[str]:
        """Return the devices that a node reaches."""
        found = self.devices.at(node)
        assert found is not None and found.pools is not None
        rows = [
            int(row)
            for number in found.blocks
            if (block := self.devices.blocks[number]) is not None
            for row in block.rows
        ]
        assert [self.devices.columns.ids[row] for row in rows] == [
            one.id for one in found.pools.devices
        ]
        return [one.device.name for one in found.pools.devices]

    def is_used(self, pool: str, name: str) -> bool:
        """Return whether the columns say that a device is used."""
        (row,) = self.devices.columns.rows[DRIVER, pool, name]
        return bool(self.devices.usage.codes[row])


LOCAL = _slice("n1", "a", nodeName="n1")


@pytest.mark.parametrize(
    ("new", "gathered", "reached"),
    [
        pytest.param(_slice("n1", "b", "c", nodeName="n1"), 1, {"n1": ["b", "c"]}, id="of a node"),
        pytest.param(_slice("n9", "b", nodeName="n9"), 0, {}, id="of an unknown node"),
        pytest.param(
            _slice("net", "b", allNodes=True),
            5,
            {name: ["a", "b"] if name == "n1" else ["b"] for name in ZONES},
            id="of all nodes",
        ),
        pytest.param(
            _slice("net", "b", nodeSelector=_in_zone("x")),
            3,
            {"n0": ["b"], "n2": ["b"], "n4": ["b"]},
            id="of a zone",
        ),
        pytest.param(
            _slice(
                "net",
                {"name": "b", "nodeName": "n3"},
                {"name": "c", "nodeSelector": _in_zone("x")},
                perDeviceNodeSelection=True,
            ),
            4,
            {"n3": ["b", "c"], "n0": ["b", "c"]},
            id="of devices that select their nodes",
        ),
        pytest.param(
            _slice("more", "b", count=2, pool="n1", nodeName="n3"),
            2,
            {"n1": ["a"], "n3": ["b"]},
            id="of the same pool on another node",
        ),
    ],
)
def test_only_the_nodes_concerned_are_looked_at_again(
    new: ResourceSlice, gathered: int, reached: dict[str, list[str]]
) -> None:
    world = _World(LOCAL)
    assert world.refresh() == 0
    world.slices.add(new)
    assert world.refresh() == gathered
    for name, devices in reached.items():
        assert world.names(name) == devices
    world.slices.delete(new.metadata.name)
    expected = 0 if new.metadata.name == "n9" else gathered
    assert world.refresh() == expected


def test_a_node_is_looked_at_when_it_comes_and_when_its_labels_change() -> None:
    world = _World(_slice("net", "b", nodeSelector=_in_zone("x")))
    assert (world.names("n0"), world.names("n1")) == (["b"], [])
    world.cluster.cache.update_node(drawn.node("n1", "x"))
    assert (world.refresh(), world.names("n1")) == (1, ["b"])
    world.cluster.cache.update_node(drawn.node("n1", "x"))
    assert world.refresh() == 0
    world.cluster.cache.remove_node("n0")
    assert world.refresh() == 0
    assert world.devices.at("n0") is None
    world.cluster.cache.add_node(drawn.node("n7", "x"))
    assert (world.refresh(), world.names("n7")) == (1, ["b"])
    slots = world.devices.slots(world.cluster.snapshot).tolist()
    assert [world.devices.slot(name) for name in world.cluster.snapshot.names] == slots


def test_nodes_that_reach_the_same_pool_share_its_block() -> None:
    world = _World(_slice("net", "b", allNodes=True), LOCAL)
    assert len([block for block in world.devices.blocks if block is not None]) == 2
    world.slices.delete("net")
    world.refresh()
    assert len([block for block in world.devices.blocks if block is not None]) == 1


def test_claims_change_the_usage_of_devices_and_of_no_node() -> None:
    world = _World(LOCAL, _slice("n2", "a", nodeName="n2"))
    assert [world.is_used("n1", "a"), world.is_used("n2", "a")] == [False, False]
    world.claims.add(claim(status=allocated_on("n1", "a")))
    changed = len(world.devices.changed_blocks)
    assert world.refresh() == 0
    assert [world.is_used("n1", "a"), world.is_used("n2", "a")] == [True, False]
    assert len(world.devices.changed_blocks) == changed + 1
    # A device that is taken stays so when its slice comes again.
    world.slices.add(_slice("n1", "a", "b", nodeName="n1"))
    world.refresh()
    assert [world.is_used("n1", "a"), world.is_used("n1", "b")] == [True, False]


def test_a_selector_that_cannot_be_read_is_an_error_of_every_node() -> None:
    world = _World(LOCAL)
    world.slices.add(_slice("net", "b", nodeSelector=_in_zone("x", "Near")))
    assert world.refresh() == 5
    found = world.devices.at("n1")
    assert found is not None and found.pools is None and isinstance(found.error, PoolError)
    world.slices.delete("net")
    assert (world.refresh(), world.names("n1")) == (5, ["a"])


COUNTERS = {"sharedCounters": [{"name": "c", "counters": {"m": {"value": "1"}}}]}


def test_counters_of_an_incomplete_pool_matter_to_the_nodes_that_reach_them() -> None:
    world = _World(LOCAL)
    world.slices.add(_slice("c", count=2, pool="n2", nodeName="n2", **COUNTERS))
    assert world.refresh() == 1
    found = world.devices.at("n2")
    assert found is not None and found.pools is not None
    assert [pool.is_incomplete for pool in found.pools.pools] == [True]
    world.slices.add(_slice("d", "a", count=2, pool="n2", nodeName="n2"))
    assert (world.refresh(), world.names("n2")) == (1, ["a"])


def test_in_1_36_counters_of_an_incomplete_pool_matter_to_every_node() -> None:
    world = _World(LOCAL, older=True)
    world.slices.add(_slice("c", count=2, pool="n2", nodeName="n2", **COUNTERS))
    assert world.refresh() == 5
    found = world.devices.at("n1")
    assert found is not None and found.pools is not None
    assert [pool.is_incomplete for pool in found.pools.pools] == [False, True]
    world.slices.add(_slice("d", "a", count=2, pool="n2", nodeName="n2"))
    assert (world.refresh(), world.names("n2")) == (5, ["a"])
    # Complete, it concerns only the node that reaches its devices.
    world.slices.add(_slice("d", "b", count=2, pool="n2", nodeName="n2"))
    assert (world.refresh(), world.names("n2")) == (1, ["b"])
