"""Explanations as text."""

from __future__ import annotations

from typing import Any

from mooring.explain.text import MAX_ROWS, explanation_text
from mooring.framework.plugin import Plugin
from mooring.framework.status import Status
from mooring.testing.builders import make_node, make_pod
from tests.explain.runs import explain


def section(lines: list[str], title: str) -> list[str]:
    """Return the lines below a title."""
    begin = next(i for i, line in enumerate(lines) if line.startswith(title))
    rest = lines[begin + 1 :]
    return rest[: rest.index("")] if "" in rest else rest


def test_a_pod_that_fits_nowhere() -> None:
    nodes = [
        make_node("n1", cpu="1", taints=["a=b:NoSchedule"]),
        make_node("n2", cpu="3"),
        make_pod("other", cpu="2", node="n2"),
    ]
    lines = explanation_text(explain([*nodes, make_pod(cpu="2")]))
    assert lines[0] == "default/pod, profile default-scheduler, attempt 1: unschedulable"
    assert lines[1].startswith("  0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had")
    assert "Filter: 0 of 2 nodes pass" in lines
    assert section(lines, "Filter")[:4] == [
        "  NODE  Taint       Node          REASONS",
        "        Toleration  ResourcesFit",
        "  n2    ok          no            Insufficient cpu",
        "  n1    never       never         node(s) had untolerated taint(s), Insufficient cpu",
    ]
    assert section(lines, "Nearest misses") == [
        "  NODE  PLUGIN            REASONS",
        "  n2    NodeResourcesFit  Insufficient cpu",
    ]


def test_scores_weights_and_totals() -> None:
    class Doubled(Plugin):
        def score(self, state: Any, pod: Any, node: Any) -> int:
            return 20 if node.name == "n1" else 5

        def normalize_score(self, state: Any, pod: Any, scores: Any) -> Any:
            return scores * 2

    lines = explanation_text(
        explain([make_node("n2"), make_node("n1"), make_pod()], plugins=[Doubled])
    )
    rows = section(lines, "Score")
    header = rows[0]
    begin = next(i for i, row in enumerate(rows) if row.startswith("  (weight)"))
    weights, first, second = rows[begin : begin + 3]
    column = header.index("Doubled")
    assert weights.startswith("  (weight)  3")
    assert weights[column:].startswith("1")
    assert first.startswith("  n1        0 → 100")
    assert first[column:].startswith("20 → 40")
    assert second[column:].startswith("5 → 10")
    totals = [int(row.split()[-1]) for row in (first, second)]
    assert totals[0] - totals[1] == 30
    assert f"Chosen: n1: the highest total, {totals[0]}" in lines


def test_where_everyone_agrees_there_is_no_table_of_verdicts() -> None:
    lines = explanation_text(explain([make_node("n1"), make_pod()]))
    assert section(lines, "Filter: 1 of 1 nodes pass")[0].startswith("  no objection: ")


def test_long_tables_are_cut_after_the_best() -> None:
    nodes = [make_node(f"n{i:03}", cpu="4") for i in range(MAX_ROWS + 10)]
    lines = explanation_text(explain([*nodes, make_node("zz", cpu="8"), make_pod(cpu="1")]))
    rows = section(lines, "Score")
    begin = next(i for i, row in enumerate(rows) if row.startswith("  (weight)"))
    assert rows[begin + 1].startswith("  zz ")
    assert "  … and 11 more; -o json has all of them" in rows
    assert len(rows) < MAX_ROWS + 10


def test_earlier_attempts_and_victims_are_told() -> None:
    lines = explanation_text(
        explain(
            [
                make_node("n1", cpu="2"),
                make_pod("low", cpu="2", node="n1"),
                make_pod("pod", cpu="2", priority=9),
            ]
        )
    )
    assert lines[:3] == [
        "default/pod, profile default-scheduler, attempt 2: scheduled to n1",
        "  attempt 1: unschedulable: 0/1 nodes are available: 1 Insufficient cpu. preemption: "
        "found a potential placement for pod on node n1, preempting 1 victims",
        "  nominated to n1, preempting default/low",
    ]


def test_refusals_before_filter() -> None:
    gated = explanation_text(explain([make_node("n1"), make_pod(gates=["a/b"])]))
    assert gated[-1] == "PreEnqueue: SchedulingGates: waiting for scheduling gates: [a/b]"
    refused = explanation_text(explain([make_node("n1"), make_pod(claims=["absent"])]))
    assert refused[-1].startswith("PreFilter: VolumeRestrictions: persistentvolumeclaim")


def test_a_failing_plugin_is_named_with_its_traceback() -> None:
    class Fails(Plugin):
        def filter(self, state: Any, pod: Any, node: Any) -> None:
            raise KeyError(node.name)

    lines = explanation_text(
        explain([make_node("n1", unschedulable=True), make_pod()], plugins=[Fails])
    )
    assert "  KeyError: 'n1'" in lines
    assert any(line.startswith('  failed: running "Fails" filter plugin') for line in lines)
    assert not any("no objection" in line and "Fails" in line for line in lines)


def test_nodes_that_were_not_needed_say_so() -> None:
    objects = [make_node("n1"), make_node("n2"), make_node("n3", unschedulable=True)]
    lines = explanation_text(explain([*objects, make_pod(nominated_node="n2")]))
    rows = section(lines, "Filter: 2 of 3 nodes pass")
    assert "  n1    ok             not needed: enough nodes were found" in rows


def test_nodes_that_pre_filter_left_out_say_so() -> None:
    class Narrow(Plugin):
        def pre_filter(self, state: Any, pod: Any, nodes: Any) -> set[str]:
            return {"n1"}

        def filter(self, state: Any, pod: Any, node: Any) -> Status:
            return Status.unschedulable("no")

    lines = explanation_text(
        explain([make_node("n1"), make_node("n2"), make_pod()], plugins=[Narrow])
    )
    rows = section(lines, "Filter")
    assert any(row.startswith("  n1") and row.endswith(" no") for row in rows)
    assert any(row.startswith("  n2") and row.endswith("left out by PreFilter") for row in rows)
