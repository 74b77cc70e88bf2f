"""The tree of an expression."""

from __future__ import annotations

import pytest

from mooring.cel.parser import parse
from mooring.cel.syntax import Comprehension, Literal, children, depth_of, qualified_name


@pytest.mark.parametrize(
    ("source", "values"),
    [
        pytest.param("f(1, 2)", [1, 2], id="the arguments of a function"),
        pytest.param("(1).f(2)", [1, 2], id="the target comes first"),
        pytest.param("[1, 2]", [1, 2], id="the elements of a list"),
        pytest.param("{1: 2, 3: 4}", [1, 2, 3, 4], id="the keys and values of a map"),
        pytest.param("(1).a", [1], id="the operand of a field"),
        pytest.param("1", [], id="a constant has none"),
        pytest.param("a", [], id="a name has none"),
    ],
)
def test_the_parts_of_a_node_in_the_order_of_evaluation(source: str, values: list[int]) -> None:
    found = children(parse(source))
    assert [part.value for part in found if isinstance(part, Literal)] == values
    assert len(found) == len(values)


def test_the_parts_of_a_comprehension() -> None:
    node = parse("[1].all(a, a > 0)")
    assert isinstance(node, Comprehension)
    assert children(node) == [node.range, node.init, node.condition, node.step, node.result]


@pytest.mark.parametrize(
    ("source", "depth"), [("1", 1), ("a.b.c", 3), ("[1, [2, [3]]]", 4), ("1 + 2 + 3", 3)]
)
def test_the_depth_of_a_tree(source: str, depth: int) -> None:
    assert depth_of(parse(source)) == depth


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("a", "a"),
        ("a.b.c", "a.b.c"),
        ("a.b[0].c", None),
        ("f().a", None),
        ("1", None),
        ("has(a.b)", None),
    ],
)
def test_a_dotted_name(source: str, name: str | None) -> None:
    assert qualified_name(parse(source)) == name


@pytest.mark.parametrize(
    ("source", "binds"),
    [("cel.bind(a, 1, a)", True), ("[1].all(a, true)", False), ("[].exists(a, a)", False)],
)
def test_a_bind_is_told_from_a_loop(source: str, binds: bool) -> None:
    node = parse(source)
    assert isinstance(node, Comprehension)
    assert node.binds() is binds
