"""Operators on values."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mooring.api.quantity import Quantity
from mooring.cel.meter import CostExceeded, Frame
from mooring.cel.operators import OPERATORS, Growing, GrowingMap, truth
from mooring.cel.values import EvaluationError, Semver

LEAST, MOST = -(2**63), 2**63 - 1


def apply(operator: str, *values: Any) -> Any:
    return OPERATORS[operator](Frame({}, 0, 100), *values)


@pytest.mark.parametrize(
    ("operator", "values", "result"),
    [
        ("_+_", (1, 2), 3),
        ("_+_", (1.5, 2.0), 3.5),
        ("_+_", ("a", "b"), "ab"),
        ("_+_", ([1], [2]), [1, 2]),
        ("_-_", (1, 2), -1),
        ("_-_", (1.5, 1.0), 0.5),
        ("_*_", (3, -2), -6),
        ("_*_", (1.5, 2.0), 3.0),
        ("_/_", (7, 2), 3),
        ("_/_", (-7, 2), -3),
        ("_/_", (7, -2), -3),
        ("_/_", (7.0, 2.0), 3.5),
        ("_/_", (1.0, 0.0), math.inf),
        ("_/_", (-1.0, 0.0), -math.inf),
        ("_/_", (1.0, -0.0), -math.inf),
        ("_%_", (7, 3), 1),
        ("_%_", (-7, 3), -1),
        ("_%_", (7, -3), 1),
        ("-_", (5,), -5),
        ("-_", (1.5,), -1.5),
        ("!_", (True,), False),
        ("_<_", (1, 2), True),
        ("_>_", (1, 2), False),
        ("_<=_", (2, 2), True),
        ("_>=_", (2, 3), False),
        ("_!=_", (1, "1"), True),
        ("@in", (1, [1.0]), True),
        ("@in", ("a", {"b": 1}), False),
    ],
)
def test_the_value_of_an_operator(operator: str, values: tuple[Any, ...], result: Any) -> None:
    found = apply(operator, *values)
    assert found == result
    assert type(found) is type(result)


@pytest.mark.parametrize("number", [0.0, math.nan])
def test_no_number_divided_by_zero_is_no_number(number: float) -> None:
    assert math.isnan(apply("_/_", number, 0.0))


@pytest.mark.parametrize(
    ("operator", "values", "message"),
    [
        ("_+_", (MOST, 1), "integer overflow"),
        ("_-_", (LEAST, 1), "integer overflow"),
        ("_*_", (MOST, 2), "integer overflow"),
        ("_/_", (LEAST, -1), "integer overflow"),
        ("_%_", (LEAST, -1), "integer overflow"),
        ("-_", (LEAST,), "integer overflow"),
        ("_/_", (1, 0), "division by zero"),
        ("_%_", (1, 0), "modulus by zero"),
        ("_+_", (1, 1.0), "no such overload"),
        ("_+_", (True, True), "no such overload"),
        ("_-_", (True, 1), "no such overload"),
        ("_*_", ("a", 2), "no such overload"),
        ("_/_", (1, 1.0), "no such overload"),
        ("_%_", (1.0, 1.0), "no such overload"),
        ("-_", (True,), "no such overload"),
        ("!_", (1,), "no such overload"),
        ("_<=_", (None, None), "no such overload"),
        ("_==_", (Quantity("1"), 1), "no such overload"),
        ("_==_", (Semver("1.2.3"), "1.2.3"), "no such overload"),
    ],
)
def test_an_operator_without_a_value(operator: str, values: tuple[Any, ...], message: str) -> None:
    with pytest.raises(EvaluationError) as failed:
        apply(operator, *values)
    assert str(failed.value) == message


def test_quantities_compare_with_their_own_kind_and_with_null() -> None:
    assert apply("_==_", Quantity("1"), Quantity("1000m")) is True
    assert apply("_==_", Quantity("1"), None) is False
    assert apply("_!=_", Quantity("1"), 1) is True


def test_the_result_of_a_comprehension_grows_in_place() -> None:
    growing = Growing([1])
    assert apply("_+_", growing, [2]) is growing
    assert growing == [1, 2]
    made = GrowingMap(a=1)
    assert apply("cel.@mapInsert", made, "b", 2) is made
    assert apply("cel.@mapInsert", made, {"c": 3}) == {"a": 1, "b": 2, "c": 3}


def test_other_lists_and_maps_are_copied() -> None:
    values, entries = [1], {"a": 1}
    apply("_+_", values, [2])
    assert apply("cel.@mapInsert", entries, "b", 2) == {"a": 1, "b": 2}
    assert (values, entries) == ([1], {"a": 1})


def test_a_key_is_inserted_once() -> None:
    with pytest.raises(EvaluationError, match="insert failed: key a already exists"):
        apply("cel.@mapInsert", GrowingMap(a=1), "a", 2)


@pytest.mark.parametrize("values", [("a" * 6_000_000,) * 2, ([1] * 6_000_000,) * 2])
def test_what_is_joined_counts_as_work(values: tuple[Any, Any]) -> None:
    with pytest.raises(CostExceeded):
        apply("_+_", *values)


@pytest.mark.parametrize("value", [0, 1, "true", None, []])
def test_only_booleans_are_true_or_false(value: Any) -> None:
    assert (truth(True), truth(False)) == (True, False)
    with pytest.raises(EvaluationError, match="no such overload"):
        truth(value)
