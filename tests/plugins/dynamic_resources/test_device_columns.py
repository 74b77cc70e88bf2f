from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.api import ResourceSlice
from mooring.plugins.dynamic_resources.device_columns import (
    DeviceColumns,
    Projection,
    distinct,
)
from tests.plugins.clusters import make
from tests.plugins.dynamic_resources.devices import DRIVER


def _slice(name: str, *devices: dict[str, Any]) -> ResourceSlice:
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    named = [{"name": f"d{i}", **device} for i, device in enumerate(devices)]
    return make(ResourceSlice, name, spec={"driver": DRIVER, "pool": pool, "devices": named})


def _device(model: str, uuid: str = "u", **more: Any) -> dict[str, Any]:
    attributes = {"model": {"string": model}, "uuid": {"string": uuid}}
    return {"attributes": attributes, **more}


def _columns(*slices: ResourceSlice) -> DeviceColumns:
    columns = DeviceColumns(lists=False)
    for one in slices:
        columns.change(None, one)
    return columns


def test_devices_with_the_same_value_have_the_same_code() -> None:
    columns = _columns(_slice("s", _device("A", "1"), _device("B", "2")), _slice("t", _device("A")))
    models, uuids = columns.attributes["model"].codes, columns.attributes["uuid"].codes
    assert models[0] == models[2] != models[1]
    assert len({*uuids[:3].tolist()}) == 3
    assert columns.rows[DRIVER, "t", "d0"] == [columns.start_of(_slice("t"))] == [2]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"taints": [{"key": "t", "effect": "NoSchedule"}]}, id="a taint"),
        pytest.param({"bindingConditions": ["Ready"]}, id="a binding condition"),
        pytest.param({"allowMultipleAllocations": True}, id="shared"),
        pytest.param({"consumesCounters": [{"counterSet": "c"}]}, id="counters"),
        pytest.param(
            {"attributes": {"model": {"string": "A"}, f"{DRIVER}/model": {"string": "A"}}},
            id="a name with and without its domain",
        ),
    ],
)
def test_devices_that_the_search_treats_differently(other: dict[str, Any]) -> None:
    natures = _columns(_slice("s", {}, other, {})).natures.codes
    assert natures[0] == natures[2] != natures[1]


def test_capacity_is_part_of_a_device_only_if_it_is_shared() -> None:
    sizes = [{"capacity": {"m": {"value": amount}}} for amount in "12"]
    natures = _columns(_slice("s", *sizes)).natures.codes
    assert natures[0] == natures[1]
    shared = [{**one, "allowMultipleAllocations": True} for one in sizes]
    natures = _columns(_slice("s", *shared)).natures.codes
    assert natures[0] != natures[1]


def test_the_time_of_a_taint_does_not_matter() -> None:
    taint = {"key": "t", "effect": "NoSchedule"}
    other = {**taint, "timeAdded": "2026-01-01T00:00:00Z"}
    natures = _columns(_slice("s", {"taints": [taint]}, {"taints": [other]})).natures.codes
    assert natures[0] == natures[1]


def test_rows_stay_until_they_are_collected() -> None:
    old, new = _slice("s", _device("A")), _slice("s", _device("B"))
    columns = _columns(old)
    columns.change(old, new)
    assert columns.devices[0] == (DRIVER, old.spec.devices[0])
    assert columns.rows[DRIVER, "s", "d0"] == [0, 1]
    columns.collect()
    assert (columns.devices[0], len(columns)) == (None, 1)
    assert columns.rows[DRIVER, "s", "d0"] == [1]
    columns.change(None, _slice("t", _device("C")))
    assert columns.start_of(_slice("t")) == 0


def test_memory_is_bounded_while_slices_change() -> None:
    columns = _columns(_slice("s", _device("A")))
    for i in range(30_000):
        before = _slice("s", *[_device("A", f"{i - 1}")] * (1 + (i - 1) % 3))
        columns.change(before, _slice("s", *[_device("A", f"{i}")] * (1 + i % 3)))
        columns.collect()
    assert columns.size < 10_000
    assert columns.attributes["uuid"].bound < 10_000
    assert columns.moves and columns.epoch


def test_node_resources_of_devices_have_codes_only_with_the_gate() -> None:
    def takes(cpu: str) -> dict[str, Any]:
        return {"nodeAllocatableResources": {"cpu": {"mapping": {"deviceMultiplier": cpu}}}}

    older = {"nodeAllocatableResourceMappings": {"cpu": {"allocationMultiplier": "1"}}}
    one = _slice("s", takes("1"), {}, takes("2"), takes("1"), older)
    for node_resources, expected in ((True, [1, 0, 2, 1, 3]), (False, [0] * 5)):
        columns = DeviceColumns(lists=False, node_resources=node_resources)
        columns.change(None, one)
        assert columns.node_resources.codes[:5].tolist() == expected
        assert columns.node_resources.bound == max(expected) + 1


def test_strings_that_nothing_is_compared_with_are_the_same() -> None:
    devices = [_device("A", f"{i}") for i in range(100)]
    columns = _columns(_slice("s", *devices, {"attributes": {"uuid": {"int": 3}}}, {}))
    compared = columns.attributes["uuid"].compared_with(frozenset({"7", "none"}))
    codes = compared.codes[: columns.size]
    assert len({*codes.tolist()}) == 4
    others = np.delete(np.arange(100), 7)
    assert len({*codes[others].tolist()}) == 1


@given(
    values=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 10**6))),
    bounds=st.sampled_from([(4, 3, 10**6 + 1), (2**31, 2**31, 2**31)]),
)
def test_distinct_combinations(
    values: list[tuple[int, int, int]], bounds: tuple[int, int, int]
) -> None:
    arrays = [np.array([one[i] for one in values], dtype=np.int32) for i in range(3)]
    first, groups = distinct(arrays, bounds)
    assert [values[int(first[group])] for group in groups] == values
    assert sorted(first.tolist()) == sorted({values.index(one) for one in values})


def test_a_projection_can_begin_after_the_log_of_the_columns_was_cleared() -> None:
    columns = _columns(_slice("s", _device("A"), _device("B"), _device("A")))
    columns.written.clear()
    found = Projection(columns, [columns.drivers, columns.attributes["model"]])
    found.refresh()
    assert found.codes[0] == found.codes[2] != found.codes[1]


def test_the_row_of_a_device_that_two_slices_list_is_that_of_the_same_device() -> None:
    columns = _columns(_slice("s", _device("A")), _slice("s", _device("B")))
    devices = [entry[1] for entry in columns.devices if entry is not None]
    (id,) = {*columns.ids[: columns.size]}
    assert [columns.row_of(id, device) for device in devices] == [0, 1]


def test_strings_that_cost_more_to_compare_differ() -> None:
    texts = ["a", "b", "c" * 30, "d" * 31, "e" * 60]
    columns = _columns(_slice("s", *(_device("A", text) for text in texts)))
    compared = columns.attributes["uuid"].compared_with(frozenset({"x" * 40}))
    codes = compared.codes[: columns.size].tolist()
    assert codes[0] == codes[1] and codes[3] == codes[4]
    assert len({*codes}) == 3
