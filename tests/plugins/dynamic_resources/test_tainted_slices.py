from __future__ import annotations

from typing import Any

import pytest

from mooring.api import DeviceTaintRule, ResourceSlice
from mooring.informers.store import Store
from mooring.plugins.dynamic_resources.tainted_slices import TaintedSlices
from tests.plugins.clusters import make
from tests.plugins.dynamic_resources.devices import device_slice

TAINT = {"key": "broken", "effect": "NoSchedule"}


def rule(name: str = "rule", selector: dict[str, str] | None = None, **taint: str) -> Any:
    spec = {"taint": {**TAINT, **taint}}
    if selector is not None:
        spec["deviceSelector"] = selector
    return make(DeviceTaintRule, name, spec=spec)


def taints(slices: TaintedSlices) -> dict[str, list[str]]:
    """Return the keys of the taints of each device that has any."""
    return {
        f"{one.spec.pool.name}/{device.name}": [taint.key for taint in device.taints]
        for one in slices.list()
        for device in one.spec.devices
        if device.taints
    }


def tainted(*rules: Any) -> tuple[TaintedSlices, Store[ResourceSlice], Store[DeviceTaintRule]]:
    slices: Store[Any] = Store([device_slice("a", "d0", "d1"), device_slice("b", "d0")])
    store: Store[Any] = Store(rules)
    return TaintedSlices(slices, store), slices, store


POOLS = {one.spec.pool.name for one in tainted()[0].list()}
DRIVER = next(iter(tainted()[0].list())).spec.driver
POOL = min(POOLS)


@pytest.mark.parametrize(
    ("selector", "devices"),
    [
        pytest.param(None, 0, id="no selector selects nothing"),
        pytest.param({}, 3, id="an empty one selects all"),
        pytest.param({"driver": DRIVER}, 3, id="a driver"),
        pytest.param({"driver": "other"}, 0, id="another driver"),
        pytest.param({"pool": POOL}, 2, id="a pool"),
        pytest.param({"device": "d0"}, 2, id="a name"),
        pytest.param({"pool": POOL, "device": "d1"}, 1, id="one device"),
        pytest.param({"device": "no"}, 0, id="a name that no device has"),
    ],
)
def test_a_rule_selects_devices(selector: dict[str, str] | None, devices: int) -> None:
    found = taints(tainted(rule(selector=selector))[0])
    assert set(map(tuple, found.values())) <= {("broken",)}
    assert len(found) == devices


def test_taints_follow_slices_and_rules() -> None:
    slices, raw, rules = tainted()
    changes: list[tuple[Any, Any]] = []
    slices.subscribe(lambda old, new: changes.append((old, new)))
    assert [old for old, _ in changes] == [None, None]
    versions = [slices.version]
    rules.add(rule(selector={"pool": POOL, "device": "d0"}))
    versions.append(slices.version)
    assert taints(slices) == {f"{POOL}/d0": ["broken"]}
    raw.add(device_slice("a", "d0", "d1", "d2"))
    assert taints(slices) == {f"{POOL}/d0": ["broken"]}
    rules.add(rule("more", {"device": "d2"}, key="hot"))
    assert taints(slices) == {f"{POOL}/d0": ["broken"], f"{POOL}/d2": ["hot"]}
    rules.delete("rule")
    rules.delete("more")
    assert taints(slices) == {}
    versions.append(slices.version)
    assert versions == sorted(set(versions))
    # Each change starts from what the one before has said.
    known: dict[str, Any] = {}
    for old, new in changes:
        assert known.get(new.metadata.name) is old
        known[new.metadata.name] = new
    assert list(slices.list()) == list(raw.list())
    for name in known:
        assert slices.get(name) is raw.get(name) is known[name]


def test_a_rule_that_changes_nothing_is_not_told() -> None:
    slices, _, rules = tainted()
    changes: list[Any] = []
    slices.subscribe(lambda *change: changes.append(change))
    before = len(changes)
    rules.add(rule(selector={"device": "no"}))
    assert len(changes) == before


def test_an_index_finds_tainted_slices() -> None:
    slices, _, _ = tainted(rule(selector={"pool": POOL}))
    slices.add_index("pools", lambda one: (one.spec.pool.name,))
    (found,) = slices.by_index("pools", POOL)
    assert all(device.taints for device in found.spec.devices)
