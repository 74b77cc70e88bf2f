"""How many devices of a class each node has, and how many of them are allocated."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mooring.api import DeviceClass, ResourceClaim, ResourceSlice
from mooring.framework.features import FeatureGates
from mooring.informers.store import Store
from mooring.plugins.dynamic_resources.device_totals import DeviceTotals
from tests.plugins.cluster import StubHandle
from tests.plugins.clusters import make
from tests.plugins.dynamic_resources.devices import (
    DRIVER,
    allocated_on,
    claim,
    device_class,
    device_slice,
    node,
)

EAST = {
    "nodeSelectorTerms": [
        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["east"]}]}
    ]
}
UNKNOWN = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Near"}]}]}


class _Handle(StubHandle):
    """A handle on nodes a, b and c, of which a and b are in the east."""

    def __init__(self, *objects: Any) -> None:
        stores: dict[type, Store[Any]] = {ResourceSlice: Store(), ResourceClaim: Store()}
        super().__init__(FeatureGates(), stores)
        self.slices, self.claims = stores[ResourceSlice], stores[ResourceClaim]
        for name, zone in (("a", "east"), ("b", "east"), ("c", "west")):
            self.cache.add_node(node(name, zone=zone))
        for one in objects:
            stores[type(one)].add(one)

    def shared(self, key: str, make: Any) -> Any:
        return make()

    def lister(self, kind: type) -> Store[Any]:
        return self._stores[kind]


def numbers(handle: Any, totals: DeviceTotals, of: DeviceClass) -> dict[str, tuple[int, int]]:
    """Return (devices, allocated devices) by node."""
    nodes = handle.snapshot
    found = totals.of(of, nodes)
    pairs = zip(found.capacity.tolist(), found.allocated.tolist(), strict=True)
    return dict(zip(nodes.names, pairs, strict=True))


def selecting(*expressions: str) -> DeviceClass:
    return device_class(selectors=[{"cel": {"expression": one}} for one in expressions])


def shared_slice(devices: list[dict[str, Any]], **where: Any) -> ResourceSlice:
    pool = {"name": "shared", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "pool": pool, "devices": devices, **where}
    return make(ResourceSlice, "shared", spec=spec)


MODELS = [
    {"name": "d0", "attributes": {"model": {"string": "large"}}},
    {"name": "d1", "attributes": {"model": {"string": "small"}}},
]


@pytest.mark.parametrize(
    ("one", "found"),
    [
        pytest.param(device_slice("a", "d0", "d1"), (2, 0, 0), id="a node's own"),
        pytest.param(device_slice("gone", "d0"), (0, 0, 0), id="a node that does not exist"),
        pytest.param(shared_slice(MODELS, allNodes=True), (2, 2, 2), id="all nodes"),
        pytest.param(shared_slice(MODELS, nodeSelector=EAST), (2, 2, 0), id="some nodes"),
        pytest.param(
            shared_slice(
                [{**MODELS[0], "nodeName": "c"}, {**MODELS[1], "nodeSelector": EAST}],
                perDeviceNodeSelection=True,
            ),
            (1, 1, 1),
            id="devices that select nodes",
        ),
        pytest.param(shared_slice(MODELS, nodeSelector=UNKNOWN), (0, 0, 0), id="unclear nodes"),
    ],
)
def test_devices_are_counted_on_the_nodes_that_reach_them(
    one: ResourceSlice, found: tuple[int, ...]
) -> None:
    handle: Any = _Handle(one)
    counted = numbers(handle, DeviceTotals(handle), device_class())
    assert tuple(number for number, _ in counted.values()) == found


@pytest.mark.parametrize(
    ("expressions", "count"),
    [
        pytest.param((), 2, id="every device"),
        pytest.param((f'device.attributes["{DRIVER}"].model == "large"',), 1, id="some"),
        pytest.param((f'device.driver == "{DRIVER}"', "false"), 0, id="all must match"),
        pytest.param(("!device.allowMultipleAllocations",), 2, id="sharing is not seen"),
        pytest.param((f'device.attributes["{DRIVER}"].missing == "x"',), 0, id="an error"),
        pytest.param(("device.nothing",), 0, id="does not compile"),
    ],
)
def test_a_class_selects_devices(expressions: tuple[str, ...], count: int) -> None:
    devices = [{**one, "allowMultipleAllocations": True} for one in MODELS]
    handle: Any = _Handle(shared_slice(devices, nodeName="a"))
    found = numbers(handle, DeviceTotals(handle), selecting(*expressions))
    assert found == {"a": (count, 0), "b": (0, 0), "c": (0, 0)}


def test_an_error_concerns_only_nodes_that_reach_the_device(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bare = device_slice("b", "d0")
    handle: Any = _Handle(shared_slice(MODELS, nodeName="a"), bare)
    of = selecting(f'device.attributes["{DRIVER}"].model == "large"')
    assert numbers(handle, DeviceTotals(handle), of) == {"a": (1, 0), "b": (0, 0), "c": (0, 0)}
    (record,) = caplog.records
    assert record.message == "Failed to calculate DRA resource capacity and allocated"


def test_allocated_devices_are_counted() -> None:
    handle: Any = _Handle(
        device_slice("a", "d0", "d1"),
        shared_slice(MODELS, allNodes=True),
        claim("one", status=allocated_on("a")),
        claim("two", status=allocated_on("shared", "d1")),
        claim("admin", status=allocated_on("a", "d1", adminAccess=True)),
    )
    totals = DeviceTotals(handle)
    assert numbers(handle, totals, device_class()) == {"a": (4, 2), "b": (2, 1), "c": (2, 1)}
    handle.claims.delete("two", "default")
    assert numbers(handle, totals, device_class()) == {"a": (4, 1), "b": (2, 0), "c": (2, 0)}


def test_a_device_that_two_slices_list_counts_twice() -> None:
    again = make(ResourceSlice, "again", spec=device_slice("a", "d0").spec)
    handle: Any = _Handle(device_slice("a", "d0"), claim("one", status=allocated_on("a")))
    handle.slices.add(again)
    assert numbers(handle, DeviceTotals(handle), device_class())["a"] == (2, 2)


def test_numbers_follow_slices_nodes_and_classes() -> None:
    handle: Any = _Handle(device_slice("a", "d0"))
    totals, of = DeviceTotals(handle), device_class()
    assert numbers(handle, totals, of)["a"] == (1, 0)
    handle.slices.add(device_slice("a", "d0", "d1"))
    assert numbers(handle, totals, of)["a"] == (2, 0)
    handle.slices.add(shared_slice(MODELS, nodeSelector=EAST))
    handle.cache.add_node(node("c", zone="east"))
    assert numbers(handle, totals, of) == {"a": (4, 0), "b": (2, 0), "c": (2, 0)}
    narrow = selecting(f'device.driver == "{DRIVER}"', "false")
    assert numbers(handle, totals, replace(narrow, metadata=of.metadata))["a"] == (0, 0)


NEST = f"{list(range(45))}.all(a, {list(range(45))}.all(b, {list(range(45))}.all(c, {{}} >= 0)))"


def _many(handle: _Handle) -> None:
    for name in "abc":
        handle.slices.add(
            make(
                ResourceSlice,
                f"slice-{name}",
                spec={
                    "driver": DRIVER,
                    "nodeName": name,
                    "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                    "devices": [
                        {"name": f"d{i}", "attributes": {"size": {"int": i}}} for i in range(8)
                    ],
                },
            )
        )


def test_devices_of_a_class_that_costs_too_much_are_not_counted() -> None:
    handle = _Handle()
    _many(handle)
    size = f'device.attributes["{DRIVER}"].size'
    costly = selecting(NEST.format(f"a + {size}"))
    assert numbers(handle, DeviceTotals(handle), costly) == dict.fromkeys("abc", (0, 0))


def test_parts_of_a_class_that_read_no_device_are_paid_once() -> None:
    handle = _Handle()
    _many(handle)
    once = selecting(NEST.format("a + b + c"))
    assert numbers(handle, DeviceTotals(handle), once) == dict.fromkeys("abc", (8, 0))
