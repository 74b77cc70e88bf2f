"""The search: how many nodes are enough, their order, and where the next search begins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mooring.cycle.node_search import num_feasible_nodes_to_find
from mooring.framework.plugin import Plugin
from mooring.framework.status import Status
from tests.cycle.scheduling import make_node, make_nodes, make_pod, make_scheduler, plugin

ZONES = ("a", "b", "c")
#: 100 nodes per zone, zone after zone, as an informer would list them.
NODES = [make_node(f"{zone}{i:02}", zone) for zone in ZONES for i in range(100)]
#: The order of the node tree: one node of each zone in turn.
ORDER = [f"{zone}{i:02}" for i in range(100) for zone in ZONES]


@pytest.mark.parametrize(
    ("percentage", "nodes", "expected"),
    [
        pytest.param(0, 99, 99, id="below 100 nodes all are sought"),
        pytest.param(0, 100, 100, id="at 100 nodes the least is 100"),
        pytest.param(0, 1000, 420, id="the adaptive share falls from 50 percent"),
        pytest.param(0, 6000, 300, id="and ends at 5 percent"),
        pytest.param(40, 1000, 400, id="a percentage that is set holds"),
        pytest.param(5, 1000, 100, id="but fewer than 100 are never sought"),
        pytest.param(100, 1000, 1000, id="all"),
        pytest.param(33, 301, 100, id="integers are cut, not rounded"),
    ],
)
def test_how_many_are_enough(percentage: int, nodes: int, expected: int) -> None:
    assert num_feasible_nodes_to_find(percentage, nodes) == expected


class Even(Plugin):
    """A plugin that accepts nodes with an even number; all scores are equal."""

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return Status.unschedulable("odd") if int(node.name[1:]) % 2 else None

    def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        odd = [int(name[1:]) % 2 == 1 for name in nodes.names]
        yield Status.unschedulable("odd"), np.array(odd, dtype=np.bool_)

    def score_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        return nodes.pod_count * 0


class Everywhere(Plugin):
    """A plugin that accepts all nodes; all scores are equal."""

    def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        return ()

    def score_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        return nodes.pod_count * 0


def searched(scheduler: Any, pod: Any) -> tuple[list[str], Any]:
    decision = scheduler.cycle.run_sync(pod)
    return list(decision.feasible.names), decision


def test_searches_rotate_through_the_zones_at_300_nodes() -> None:
    scheduler = make_scheduler([Everywhere], NODES, percentage=40)
    for begin in (0, 120, 240, 60, 180, 0):
        assert scheduler.cycle.search.next_start_node_index == begin
        names, decision = searched(scheduler, make_pod())
        assert names == (ORDER + ORDER)[begin : begin + 120]
        assert decision.evaluated_nodes == 120


@pytest.mark.parametrize("forms", [("filter",), ("filter_nodes",), ("filter", "filter_nodes")])
def test_refused_nodes_move_the_next_search_on_as_well(forms: tuple[str, ...]) -> None:
    methods = {form: getattr(Even, form) for form in (*forms, "score_nodes")}
    even = type("Even", (Plugin,), methods)
    scheduler = make_scheduler([even], NODES, percentage=40)
    passing = [name for name in ORDER if int(name[1:]) % 2 == 0]
    names, decision = searched(scheduler, make_pod())
    assert names == passing[:120]
    # The search ended with the 120th node that passes: c78.
    asked = ORDER.index(passing[119]) + 1
    assert decision.evaluated_nodes == asked
    assert scheduler.cycle.search.next_start_node_index == asked
    names, decision = searched(scheduler, make_pod())
    rotated = ORDER[asked:] + ORDER[:asked]
    assert names == [name for name in rotated if int(name[1:]) % 2 == 0][:120]
    assert decision.statuses.refused == decision.evaluated_nodes - 120


def test_without_a_percentage_vector_plugins_see_all_nodes() -> None:
    scheduler = make_scheduler([Everywhere], NODES)
    assert len(searched(scheduler, make_pod())[0]) == 300


@pytest.mark.parametrize("method", ["filter", "score"])
def test_without_a_percentage_a_node_form_plugin_gets_the_adaptive_share(method: str) -> None:
    asked = []

    def ask(state: Any, pod: Any, node: Any) -> int | None:
        asked.append(node.name)
        return None if method == "filter" else 0

    scheduler = make_scheduler([Everywhere, plugin("Slow", **{method: ask})], NODES)
    names, _ = searched(scheduler, make_pod())
    # 50 - 300 // 125 = 48 percent.
    assert names == ORDER[:144]
    assert asked == names


def test_a_profiles_own_percentage_wins() -> None:
    scheduler = make_scheduler([Everywhere], NODES, percentage=40)
    profile = scheduler.profiles["default-scheduler"]
    profile.percentage_of_nodes_to_score = 50
    assert len(searched(scheduler, make_pod())[0]) == 150


def test_without_score_plugins_the_first_node_that_passes_is_taken() -> None:
    only_filter = type("Even", (Plugin,), {"filter": Even.filter})
    scheduler = make_scheduler([only_filter], make_nodes("n1", "n2", "n3", "n4"))
    names, decision = searched(scheduler, make_pod())
    assert names == ["n2"]
    assert decision.evaluated_nodes == 2
    assert scheduler.cycle.search.next_start_node_index == 2
    assert searched(scheduler, make_pod())[0] == ["n4"]


def test_nodes_named_by_pre_filter_are_searched_in_the_same_order() -> None:
    wanted = {name for name in ORDER if not name.startswith("b")}
    names_only = plugin("Names", pre_filter=lambda state, pod, nodes: wanted)
    scheduler = make_scheduler([names_only, Everywhere], NODES, percentage=60)
    names, _ = searched(scheduler, make_pod())
    assert names == [name for name in ORDER if name in wanted][:120]


def test_an_error_beyond_the_last_node_taken_does_not_count() -> None:
    def fails(state: Any, pod: Any, node: Any) -> Status | None:
        return Status.error("lost") if node.name == "n3" else None

    scheduler = make_scheduler([plugin("A", filter=fails)], make_nodes("n1", "n2", "n3"))
    assert [searched(scheduler, make_pod())[1].node_name for _ in range(2)] == ["n1", "n2"]
    decision = scheduler.cycle.run_sync(make_pod())
    assert decision.message == 'running "A" filter plugin: lost'


def test_a_search_for_one_node_asks_sixteen_at_a_time() -> None:
    shown: list[int] = []

    def filter_nodes(state: Any, pod: Any, nodes: Any) -> Any:
        shown.append(len(nodes))
        refused = [int(name[1:]) < 40 for name in nodes.names]
        yield Status.unschedulable("low"), np.array(refused, dtype=np.bool_)

    names = [f"n{number:02}" for number in range(60)]
    scheduler = make_scheduler([plugin("High", filter_nodes=filter_nodes)], make_nodes(*names))
    found, decision = searched(scheduler, make_pod())
    assert (found, shown, decision.evaluated_nodes) == (["n40"], [16, 16, 16], 41)


def test_a_search_for_many_nodes_asks_as_many_as_are_missing() -> None:
    shown: list[int] = []

    class Counts(Even):
        def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
            shown.append(len(nodes))
            return super().filter_nodes(state, pod, nodes)

    scheduler = make_scheduler([Counts], NODES, percentage=34)
    names, _ = searched(scheduler, make_pod())
    assert (len(names), shown[:2]) == (102, [102, 51])
