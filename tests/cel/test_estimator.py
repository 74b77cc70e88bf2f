"""The most that expressions can cost."""

from __future__ import annotations

import pytest

from mooring.cel.declared import Declared, declared_list, declared_map, declared_object, sizes_below
from mooring.cel.environment import Environment
from mooring.cel.estimates import MAX, Range
from mooring.cel.estimator import estimate
from mooring.cel.types import INT, STRING
from tests.cel.expressions import checked

ROOT = declared_object(
    "Root",
    {
        "name": Declared(STRING, 40),
        "tags": declared_list(Declared(STRING, 20), 5),
        "labels": declared_map(Declared(STRING, 10), Declared(STRING, 30), 6),
        "count": Declared(INT),
        "grid": declared_list(declared_list(Declared(INT), 4), 3),
    },
)
ENVIRONMENT = Environment({"self": ROOT.type}, ROOT)


def most(source: str) -> int:
    return ENVIRONMENT.compile(source).max_cost(sizes_below(ROOT))


@pytest.mark.parametrize(
    ("source", "cost"),
    [
        pytest.param("true", 0, id="a constant is free"),
        pytest.param("self.count", 2, id="a variable and a field"),
        pytest.param("self.count > 1", 3, id="and a comparison"),
        pytest.param("has(self.name)", 1, id="a test for presence"),
        pytest.param("[self.count]", 12, id="a list"),
        pytest.param("{'a': self.count}", 32, id="a map"),
        pytest.param("self.name == 'abc'", 3, id="the shorter text decides"),
        pytest.param("self.name.startsWith('abc')", 3, id="the start of a text"),
        pytest.param("self.name.trim()", 6, id="a text that is read whole"),
        pytest.param("self.count > 1 ? self.name : 'a'", 5, id="the more expensive branch"),
        pytest.param("self.tags[0]", 3, id="an element"),
        pytest.param("self.labels['a']", 3, id="a value"),
        pytest.param("self.tags.all(t, true)", 18, id="a loop over a list"),
        pytest.param("self.tags.all(t, t == 'a')", 28, id="a loop that compares"),
        pytest.param("self.labels.all(k, k == 'a')", 33, id="a loop over a map"),
        pytest.param("self.grid.all(r, r.all(c, c > 0))", 78, id="a loop in a loop"),
        pytest.param("cel.bind(a, self.name, a + a)", 22, id="a name for a value"),
    ],
)
def test_the_most_that_an_expression_can_cost(source: str, cost: int) -> None:
    assert most(source) == cost


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("self.tags.exists(t, t.contains('a'))", "self.tags.exists(t, t.contains(self.name))"),
        ("self.name.matches('a')", "self.name.matches('aaaaaaaaaaaaaaa')"),
        ("[1].map(a, a)", "[1, 2].map(a, a)"),
        ("self.tags.map(t, t)", "(self.tags + self.tags).map(t, t)"),
        ("[1].transformList(i, a, i)", "self.labels.transformList(k, v, v + k)"),
    ],
)
def test_more_work_costs_more(less: str, more: str) -> None:
    assert most(less) < most(more)


def test_a_range_has_a_least_cost_too() -> None:
    node, found = checked("n ? 1 : [1].map(a, a)[0]", n="dyn")
    cost = estimate(node, found, lambda path: None)
    assert cost.low < cost.high


def test_what_has_no_known_size_costs_all() -> None:
    node, found = checked("n.all(a, a == 'b')", n="list(dyn)")
    assert estimate(node, found, lambda path: None).high == MAX
    assert estimate(node, found, lambda path: Range(0, 2)).high < 100
