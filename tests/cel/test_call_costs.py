"""What calls cost, by their arguments and their result."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api.quantity import Quantity
from mooring.cel.call_costs import call_cost, size_of, traversal
from mooring.cel.meter import CostExceeded, Frame
from mooring.cel.values import NONE, Optional, Semver


def frame() -> Frame:
    return Frame({}, 0, 2**63)


@pytest.mark.parametrize(
    ("value", "size"),
    [
        pytest.param("abc", 3, id="a text has its characters"),
        pytest.param([1, 2], 2, id="a list has its elements"),
        pytest.param({"a": 1}, 1, id="a map has its entries"),
        pytest.param(b"ab", 2, id="bytes are counted"),
        pytest.param(7, 1, id="a number has no size"),
        pytest.param(None, 1, id="an argument that failed has no size"),
        pytest.param(Optional(True, "abcd"), 4, id="a present optional is as large as its value"),
        pytest.param(NONE, 1, id="an absent optional has no size"),
    ],
)
def test_the_size_of_a_value(value: Any, size: int) -> None:
    assert size_of(value) == size


@pytest.mark.parametrize(
    ("value", "cost"),
    [
        pytest.param(5, 1, id="a number costs 1"),
        pytest.param("a" * 25, 2, id="a text costs a tenth of its bytes, rounded down"),
        pytest.param("é" * 10, 2, id="bytes count, not characters"),
        pytest.param([1, [2, 3]], 3, id="a list costs what is in it"),
        pytest.param({"a" * 10: [1, 2]}, 3, id="a map costs its keys and values"),
    ],
)
def test_traversal_costs_all_that_is_inside(value: Any, cost: int) -> None:
    assert traversal(frame(), value) == cost


def test_shared_parts_are_visited_once_and_charged_each_time() -> None:
    value: Any = [1]
    for _ in range(50):
        value = [value, value]
    counted = frame()
    assert traversal(counted, value) == 2**50
    assert counted.work < 1_000


def test_a_traversal_of_too_many_parts_is_ended() -> None:
    with pytest.raises(CostExceeded):
        traversal(frame(), [1] * 10_000_001)


@pytest.mark.parametrize(
    ("function", "id", "args", "result", "cost"),
    [
        ("startsWith", "starts_with_string", ["a" * 11, "b"], True, 2),
        ("contains", "contains_string", ["a" * 20, "b" * 11], True, 4),
        ("matches", "matches_string", ["a" * 19, "b" * 5], True, 4),
        ("find", "string_find_string", ["a" * 19, "b" * 5], "", 4),
        ("_+_", "add_string", ["a" * 15, "b" * 6], "", 3),
        ("@in", "in_list", [1, [1, 2, 3]], True, 3),
        ("_<_", "less_string", ["a" * 30, "b" * 12], True, 2),
        ("_!=_", "not_equals", ["a" * 30, "b" * 12], True, 2),
        ("_==_", "equals", [[1] * 30, [1] * 11], False, 2),
        ("_==_", "equals", [Quantity("1"), Quantity("2")], False, 1),
        ("_==_", "equals", [Semver("1.2.3"), Semver("1.2.3")], True, 1),
        ("replace", "", ["a" * 10, "b", "c"], "", 2),
        ("join", "", [["a"], ","], "a" * 10, 2),
        ("lowerAscii", "", ["A" * 11], "", 2),
        ("sum", "", [[1, 2, 3]], 6, 3),
        ("sets.contains", "list_sets_contains_list", [[1, 2], [3]], True, 3),
        ("sets.equivalent", "list_sets_equivalent_list", [[1, 2], [3]], True, 5),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isidentifier() else None,
)
def test_the_cost_of_a_call(
    function: str, id: str, args: list[Any], result: Any, cost: int
) -> None:
    found = call_cost(function, id)
    assert found is not None
    assert found(frame(), args, result) == cost


@pytest.mark.parametrize(
    ("function", "id"),
    [
        pytest.param("_+_", "add_int64", id="numbers"),
        pytest.param("_+_", "", id="an overload that depends on the values"),
        pytest.param("size", "list_size", id="sizes"),
    ],
)
def test_other_calls_always_cost_1(function: str, id: str) -> None:
    assert call_cost(function, id) is None
