"""The columns of cells follow what is known, and answers only what has changed."""

from __future__ import annotations

import numpy as np

from mooring.contrib.node_resource_topology.caches import Passthrough
from mooring.contrib.node_resource_topology.cell_columns import ABSENT, CellColumns, Slots
from mooring.testing import make_node
from mooring.typing import Ints
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.contrib.node_resource_topology.generated import GPU, topology


def columns_with(*reports: object) -> tuple[CellColumns, Passthrough]:
    found: list[CellColumns] = []
    cache = Passthrough(lambda name: found[0].changed(name))
    found.append(CellColumns(cache))
    for report in reports:
        cache.put(report)  # type: ignore[arg-type]
    found[0].update()
    return found[0], cache


def test_amounts_by_cell_and_node() -> None:
    columns, _ = columns_with(
        topology("a", [{"cpu": "1500m", "memory": "1Gi"}, {"cpu": 2}]), topology("b", [{GPU: 3}])
    )
    a, b = columns.slot("a"), columns.slot("b")
    cpu, gpu = columns.amounts("cpu"), columns.amounts(GPU)
    assert cpu is not None
    assert gpu is not None
    assert cpu[:, a].tolist() == [1500, 2000]
    assert cpu[:, b].tolist() == [ABSENT, ABSENT]
    assert gpu[:, b].tolist() == [3, ABSENT]
    assert columns.amounts("other") is None
    assert columns.cell_count[[a, b]].tolist() == [2, 1]


def test_nodes_that_do_not_fit_into_the_columns_are_odd() -> None:
    columns, _ = columns_with(
        topology("fine", [{"cpu": 1}]),
        topology("thin", [{"cpu": "1500u"}]),
        topology("negative", [{"cpu": -1}]),
        topology("gaps", [{"cpu": 1}, {"cpu": 1}], ids=[0, 2]),
        topology("many", [{"cpu": 1}] * 9),
    )
    names = ("fine", "thin", "negative", "gaps", "many")
    odd = [bool(columns.odd[columns.slot(name)]) for name in names]
    assert odd == [False, True, True, True, True]


def test_only_what_has_changed_is_worked_out_again() -> None:
    columns, cache = columns_with(*(topology(f"n{index}", [{"cpu": 1}]) for index in range(100)))
    asked: list[int] = []

    def work_out(slots: Slots) -> Ints:
        asked.append(len(slots))
        amounts = columns.amounts("cpu")
        assert amounts is not None
        return np.asarray(amounts[0, slots])

    assert columns.answer("key", work_out)[: len(columns.nodes)].sum() == 100_000
    columns.answer("key", work_out)
    cache.put(topology("n7", [{"cpu": 3}]))
    columns.update()
    assert columns.answer("key", work_out)[columns.slot("n7")] == 3000
    assert asked == [100, 1]
    cache.put(topology("new", [{"cpu": 1}, {"cpu": 1}]))
    columns.update()
    columns.answer("key", work_out)
    assert asked == [100, 1, 101], "a wider table is made again"


def test_slots_of_nodes() -> None:
    columns, _ = columns_with(topology("b", [{"cpu": 1}]))
    scheduler = MemoryScheduler([make_node("a"), make_node("b")])
    nodes = scheduler.cache.nodes
    found = columns.slots_of(nodes)
    assert found.tolist() == [columns.slot(name) for name in nodes.names]
    assert columns.known[found].tolist() == [name == "b" for name in nodes.names]
