"""The fewer cells a pod needs, and the nearer they are, the better."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.contrib.node_resource_topology.cells import Cell, amounts_of, read_cells
from mooring.contrib.node_resource_topology.least_numa import (
    cells_required,
    least_numa_score,
    only_elsewhere,
    scaled,
)
from tests.contrib.node_resource_topology.generated import topology


def cells(*cpus: int, far: tuple[int, int] | None = None) -> list[Cell]:
    found = []
    for number, cpu in enumerate(cpus):
        costs = {
            other: 10 if other == number else 40 if {other, number} == set(far or ()) else 20
            for other in range(len(cpus))
        }
        found.append(Cell(number, amounts_of({"cpu": cpu}), costs))
    return found


def required(cpu: int, found: list[Cell]) -> tuple[list[int], bool] | None:
    return cells_required(amounts_of({"cpu": cpu}), found, {})


@pytest.mark.parametrize(
    ("cpu", "found", "wanted"),
    [
        pytest.param(2, cells(1, 2), ([1], True), id="one cell"),
        pytest.param(3, cells(2, 2), ([0, 1], True), id="two cells"),
        pytest.param(9, cells(2, 2), None, id="all cells are too small"),
        pytest.param(4, cells(2, 2, 1, far=(0, 1)), ([0, 1], False), id="two that are far apart"),
        pytest.param(3, cells(2, 2, 1, far=(0, 1)), ([0, 2], True), id="the near ones first"),
    ],
)
def test_cells_required(cpu: int, found: list[Cell], wanted: tuple[list[int], bool] | None) -> None:
    assert required(cpu, found) == wanted


def test_distances_that_are_not_known_are_the_largest() -> None:
    found = [Cell(0, amounts_of({"cpu": 1})), Cell(1, amounts_of({"cpu": 1}))]
    assert required(2, found) == ([0, 1], True)


@pytest.mark.parametrize(
    ("count", "near", "most", "score"),
    [(1, True, 8, 94), (2, False, 8, 76), (2, True, 2, 25), (3, True, 1024, 100)],
)
def test_scaled(count: int, near: bool, most: int, score: int) -> None:
    assert scaled(count, near, most) == score


def score(scope: str, *containers: dict[str, Any], ids: tuple[int, ...] = (0, 1)) -> int:
    costs = [[10, 20], [20, 10]]
    node = read_cells(topology("n", [{"cpu": 4}, {"cpu": 4}], scope=scope, ids=ids, costs=costs))
    asked = [amounts_of(one) for one in containers]
    whole: dict[str, int] = {}
    for one in asked:
        for name, amount in one.items():
            whole[name] = whole.get(name, 0) + amount
    return least_numa_score(node, whole, asked)


def test_containers_take_from_cells_one_after_another() -> None:
    assert score("pod", {"cpu": 3}, {"cpu": 3}) == 82
    assert score("container", {"cpu": 3}, {"cpu": 3}) == 94
    assert score("container", {"cpu": 3}, {"cpu": 5}) == 82
    assert score("container", {"cpu": 5}, {"cpu": 5}) == 0


def test_what_no_cell_has_needs_none() -> None:
    assert score("pod", {"storage": 1}) == score("container", {"storage": 1}) == 100
    assert only_elsewhere(amounts_of({"storage": 1}), cells(1))


def test_ids_with_gaps_are_scored_by_what_is_there() -> None:
    assert score("container", {"cpu": 3}, {"cpu": 3}, {"cpu": 1}, ids=(0, 3)) == 94
