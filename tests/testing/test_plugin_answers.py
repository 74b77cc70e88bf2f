"""Answers of a plugin, compared."""

from __future__ import annotations

from typing import Any

import pytest

from mooring import Plugin, PluginError, Status
from mooring.testing import make_node, make_pod
from mooring.testing.bench import Workbench
from mooring.testing.plugin_answers import Case, Said, ask, describe, feasible_nodes, verdict

CASE = Case("P", make_pod("p"), 7)
NO = Status.unschedulable("no", "never")


class Even(Plugin):
    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return NO if node.name == "b" else None

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return 10 if node.name == "a" else 30

    def normalize_score(self, state: Any, pod: Any, scores: Any) -> Any:
        return scores * 2


def test_everything_a_plugin_says_about_a_pod() -> None:
    bench = Workbench(Even).place([make_node(name) for name in "abc"])
    said = ask(bench, make_pod("p"))
    assert said.filter == {"a": None, "b": ("Unschedulable", ("no", "never")), "c": None}
    assert said.raw == {"a": 10, "c": 30}
    assert said.normalized == {"a": 20, "c": 60}
    assert feasible_nodes(bench, [None, NO, None]).names == ["a", "c"]


def test_a_plugin_that_does_not_score_says_nothing_of_scores() -> None:
    class Filters(Plugin):
        def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
            return None

    assert ask(Workbench(Filters).place([make_node("a")]), make_pod("p")) == Said(
        {"a": None}, {}, {}
    )


@pytest.mark.parametrize(
    ("found", "text"),
    [(None, "passes"), (verdict(NO), 'Unschedulable "no, never"'), (7, "7")],
)
def test_an_answer_as_text(found: Any, text: str) -> None:
    assert describe(found) == text


def test_a_failure_names_the_check_the_place_and_the_seed() -> None:
    error = CASE.fail("both agree", "1 here, 2 there", point="Score", node="n")
    assert str(error) == (
        "plugin P, point Score, node n: both agree: 1 here, 2 there\n"
        "(pod default/p; the same again: seed=7, rounds=1)"
    )


def test_filters_differ_by_code_or_reasons() -> None:
    CASE.compare_filter("same", ["a", "b"], [None, NO], [None, NO.by("Q")], "{} {}")
    with pytest.raises(PluginError, match=r'node b: same: Unschedulable "no, never" or passes'):
        CASE.compare_filter("same", ["a", "b"], [None, NO], [None, None], "{} or {}")


def test_scores_differ_by_number() -> None:
    CASE.compare_scores("same", ["a"], [1], [1], "{} {}")
    with pytest.raises(PluginError, match="point Score, node b: same: 2 or 3"):
        CASE.compare_scores("same", ["a", "b"], [1, 2], [1, 3], "{} or {}")


@pytest.mark.parametrize(
    ("other", "point", "text"),
    [
        (Said({"a": verdict(NO)}, {"a": 1}, {"a": 2}), "Filter", "passes or Unschedulable"),
        (Said({"a": None}, {}, {"a": 2}), "Score", "1 or no answer"),
        (Said({"a": None}, {"a": 1}, {"a": 3}), "NormalizeScore", "2 or 3"),
    ],
)
def test_all_that_is_said_is_compared(other: Said, point: str, text: str) -> None:
    said = Said({"a": None}, {"a": 1}, {"a": 2})
    CASE.compare_said("same", said, said, "{} {}")
    with pytest.raises(PluginError, match=f"point {point}, node a: same: {text}"):
        CASE.compare_said("same", said, other, "{} or {}")


def test_a_method_that_raises_is_named() -> None:
    def reserve(number: int) -> int:
        return 10 // number

    assert CASE.call("Reserve", "n", reserve, 5) == 2
    with pytest.raises(PluginError, match="node n: reserve raises nothing: ZeroDivisionError"):
        CASE.call("Reserve", "n", reserve, 0)
    with pytest.raises(KeyboardInterrupt):
        CASE.call("Reserve", "n", lambda: (_ for _ in ()).throw(KeyboardInterrupt()))
