"""The nodes of a snapshot as a page shows them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from mooring.api import Condition
from mooring.testing.builders import make_node, make_pod
from mooring.ui.page_nodes import MOST_GROUPS, NodeTable
from tests.explain.runs import make_scheduler


def table_of(*objects: Any) -> tuple[Any, NodeTable]:
    scheduler = make_scheduler(objects)
    return scheduler.cluster, NodeTable(lambda: scheduler.cache.nodes)


def test_the_columns_of_all_nodes() -> None:
    gpu = {"example.com/gpu": 2}
    _, table = table_of(
        make_node("a", zone="z1", resources=gpu),
        make_node("b", zone="z2", unschedulable=True),
        make_pod("p", node="a", cpu="1", memory="1Gi"),
    )
    whole = table.whole()
    assert whole["names"] == ["a", "b"]
    assert whole["cordoned"] == [False, True]
    assert [one["name"] for one in whole["resources"]] == [
        "cpu",
        "memory",
        "pods",
        "example.com/gpu",
    ]
    cpu, memory, pods, gpus = whole["resources"]
    assert (cpu["allocatable"], cpu["requested"]) == ([4000, 4000], [1000, 0])
    assert memory["requested"] == [2**30, 0]
    assert (pods["allocatable"], pods["requested"]) == ([110, 110], [1, 0])
    assert gpus["allocatable"] == [2, 0]


def test_labels_that_make_groups() -> None:
    nodes = [make_node(f"n{i}", zone=f"z{i % 2}") for i in range(4)]
    _, table = table_of(*nodes, make_node("n4", disk="ssd"))
    labels = table.whole()["labels"]
    assert labels["topology.kubernetes.io/zone"] == ["z0", "z1", "z0", "z1", None]
    assert labels["disk"] == [None, None, None, None, "ssd"]
    # Each node has a group of its own: no groups.
    assert "kubernetes.io/hostname" not in labels


def test_labels_with_many_values_make_no_groups() -> None:
    nodes = [make_node(f"n{i}", rack=str(i // 2)) for i in range(2 * MOST_GROUPS + 2)]
    assert "rack" not in table_of(*nodes)[1].whole()["labels"]
    assert "rack" in table_of(*nodes[:-2])[1].whole()["labels"]


def test_changed_rows_have_the_amounts_of_now() -> None:
    cluster, table = table_of(make_node("a"), make_node("b"))
    before = table.whole()["generation"]
    assert table.rows(before) == []
    cluster.add(make_pod("p", node="b", cpu="1", memory="1Gi"))
    cluster.add(make_pod("q", node="b", cpu="1", memory="1Gi"))
    table.update()
    assert table.rows(before) == [[1, False, False, 4000, 2000, 2**34, 2**31, 110, 2]]
    assert table.whole()["version"] == table.version


def test_cordoning_is_a_change_of_the_row_alone() -> None:
    cluster, table = table_of(make_node("a"), make_node("b"))
    before = table.whole()
    cluster.add(make_node("a", unschedulable=True))
    table.update()
    assert table.version == before["version"]
    rows = table.rows(before["generation"])
    assert rows is not None
    assert [row[:2] for row in rows] == [[0, True]]


def test_a_node_that_is_not_ready_is_a_change_of_the_row_alone() -> None:
    ready, lost = (
        replace(make_node("a"), status=replace(make_node("a").status, conditions=(condition,)))
        for condition in (
            Condition(type="Ready", status="True"),
            Condition(type="Ready", status="Unknown"),
        )
    )
    cluster, table = table_of(ready, make_node("b"))
    before = table.whole()
    assert before["notReady"] == [False, False]
    cluster.add(lost)
    table.update()
    assert table.version == before["version"]
    rows = table.rows(before["generation"])
    assert rows is not None
    assert [row[:3] for row in rows] == [[0, False, True]]
    assert table.whole()["notReady"] == [True, False]


def test_other_names_labels_and_resources_need_the_whole_again() -> None:
    cluster, table = table_of(make_node("a"), make_node("b"))
    versions = [table.whole()["version"]]
    for node in (
        make_node("a", disk="ssd"),
        make_node("a", disk="ssd", resources={"example.com/gpu": 1}),
        make_node("c"),
    ):
        cluster.add(node)
        versions.append(table.whole()["version"])
    assert cluster.delete(make_node("b")) is None
    versions.append(table.whole()["version"])
    assert versions == [1, 2, 3, 4, 5]
    assert sorted(table.whole()["names"]) == ["a", "c"]


def test_a_generation_that_is_too_old_is_not_known() -> None:
    cluster, table = table_of(make_node("a"))
    old = table.whole()["generation"]
    cluster.add(make_node("b"))
    cluster.add(make_node("c"))
    assert table.rows(old - 1) is None


def test_no_nodes() -> None:
    _, table = table_of()
    whole = table.whole()
    assert (whole["names"], whole["resources"], whole["labels"]) == ([], [], {})
