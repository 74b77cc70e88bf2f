"""The results of an expression for all devices, and what they cost."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.api import ResourceSlice
from mooring.api.resource import Device
from mooring.plugins.dynamic_resources.cel_budget import BudgetExceededError
from mooring.plugins.dynamic_resources.device_columns import DeviceColumns
from mooring.plugins.dynamic_resources.device_results import DeviceResults, Measured
from tests.plugins.clusters import make
from tests.plugins.dynamic_resources.devices import DRIVER

#: What an evaluation takes besides the cost of the expression.
EACH = 20


def _slice(name: str, *models: str) -> ResourceSlice:
    devices = [
        {"name": f"d{i}", "attributes": {"model": {"string": model}}}
        for i, model in enumerate(models)
    ]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    return make(ResourceSlice, name, spec={"driver": DRIVER, "pool": pool, "devices": devices})


def _columns(*slices: ResourceSlice) -> DeviceColumns:
    columns = DeviceColumns(lists=False)
    # The attribute is known from the beginning.
    for one in (_slice("first", "-"), *slices):
        columns.change(None, one)
    return columns


class _Evaluated:
    """An expression whose cost is ten for each letter, and that repeats a part for capitals."""

    def __init__(self) -> None:
        self.models: list[str] = []

    def __call__(self, driver: str, device: Device) -> Measured:
        model = device.attributes["model"].string_value or ""
        self.models.append(model)
        fixed = {7: 1000} if model.isupper() else {}
        return Measured(model != "C", 10 * len(model), fixed)


def _results(columns: DeviceColumns) -> tuple[DeviceResults, _Evaluated]:
    evaluated = _Evaluated()
    inputs = [columns.drivers, columns.attributes["model"]]
    return DeviceResults(columns, inputs, evaluated), evaluated


def test_each_distinct_combination_is_evaluated_once() -> None:
    slices = [_slice(f"s{i}", *("ABC"[k % 3] for k in range(8))) for i in range(50)]
    columns = _columns(*slices)
    results, evaluated = _results(columns)
    cost = results.refresh()
    assert sorted(evaluated.models) == ["-", "A", "B", "C"]
    # The repeated part counts once.
    assert cost == 4 * (EACH + 10) + 1000
    for row, entry in enumerate(columns.devices):
        assert entry is not None
        assert results.value(row) is (entry[1].attributes["model"].string_value != "C")
        same = results.codes[row] == results.codes[0]
        assert same == (entry[1].attributes["model"].string_value != "C")
    columns.change(None, _slice("more", "B", "D"))
    results.refresh()
    assert sorted(evaluated.models) == ["-", "A", "B", "C", "D"]


def test_devices_that_are_gone_cost_nothing() -> None:
    one, two = _slice("one", "a", "b"), _slice("two", "b", "CC")
    columns = _columns(one, two)
    results, evaluated = _results(columns)
    assert results.refresh() == 4 * EACH + 50 + 1000
    columns.change(two, None)
    columns.collect()
    assert results.refresh() == 3 * EACH + 30
    columns.change(None, _slice("three", "CC"))
    assert results.refresh() == 4 * EACH + 50 + 1000
    assert len(evaluated.models) == 4


def test_evaluation_ends_as_soon_as_the_budget_is_exceeded() -> None:
    columns = _columns(_slice("s", *(f"m{i:03}" for i in range(500))))
    results, evaluated = _results(columns)
    for _ in range(3):
        with pytest.raises(BudgetExceededError):
            results.refresh(10 * (EACH + 40))
        # What was evaluated is known in the next attempt.
        assert len(evaluated.models) == 11
    assert results.refresh(1_000_000) == EACH + 10 + 500 * (EACH + 40)
    assert len(evaluated.models) == 501


@settings(max_examples=50, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.integers(0, 4), st.lists(st.sampled_from(["a", "bb", "CC", "DDD"]))),
        min_size=1,
        max_size=12,
    ),
    seed=st.integers(0, 100),
)
def test_the_cost_depends_only_on_the_devices_that_exist(
    steps: list[tuple[int, list[str]]], seed: int
) -> None:
    columns = _columns()
    results, _ = _results(columns)
    present: dict[int, ResourceSlice] = {}
    chance = random.Random(seed)
    for number, models in steps:
        new = _slice(f"s{number}", *models) if models else None
        old = present.pop(number, None)
        if old is not None or new is not None:
            columns.change(old, new)
        if new is not None:
            present[number] = new
        if chance.random() < 0.5:
            columns.collect()
            budget = chance.choice([None, 50, 1500])
            try:
                results.refresh(budget)
            except BudgetExceededError:
                assert budget is not None
    columns.collect()
    fresh = _columns(*present.values())
    others, _ = _results(fresh)
    assert results.refresh() == others.refresh()
    found: dict[Any, Any] = {}
    for some, of in ((columns, results), (fresh, others)):
        for row, entry in enumerate(some.devices):
            if entry is not None:
                key = entry[1].attributes["model"].string_value
                assert found.setdefault(key, of.value(row)) is of.value(row)


def test_results_can_begin_after_the_log_of_the_columns_was_cleared() -> None:
    columns = _columns(_slice("s", "a", "CC"))
    columns.written.clear()
    results, _ = _results(columns)
    assert results.refresh() == 3 * EACH + 40 + 1000
    assert results.value(2) is True
