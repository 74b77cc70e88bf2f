"""Tables with a row per node."""

from __future__ import annotations

from mooring.explain.node_table import filter_rows, score_table
from mooring.testing.builders import make_node, make_pod
from tests.explain.runs import explain


def test_the_best_nodes_come_first() -> None:
    nodes = [
        make_node("n1", cpu="1", unschedulable=True),
        make_node("n2", cpu="1"),
        make_node("n3", cpu="8"),
    ]
    (found,) = explain([*nodes, make_pod(cpu="2")])
    lines = list(filter_rows(found, 2))
    assert [line.split()[0] for line in lines[2:4]] == ["n3", "n2"]
    assert "  … and 1 more; --nodes all shows them" in lines


def test_without_refusals_there_is_no_table() -> None:
    (found,) = explain([make_node("n1"), make_pod()])
    assert list(filter_rows(found, 5)) == []
    assert list(score_table(found, 5)) == []


def test_the_chosen_node_is_the_first_row_of_the_scores() -> None:
    nodes = [make_node(f"n{i}") for i in range(4)]
    (found,) = explain([*nodes, make_pod()])
    lines = list(score_table(found, 3))
    begin = next(i for i, line in enumerate(lines) if line.startswith("  (weight)"))
    names = [line.split()[0] for line in lines[begin + 1 : begin + 4]]
    assert names[0] == found.chosen
    assert names[1:] == sorted(set(found.decision.best) - {found.chosen})[:2]
    assert lines[-1] == "  … and 1 more; --nodes all shows them"
