"""Values: which are equal, which come first, and what is found in them."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api.quantity import Quantity
from mooring.cel.values import (
    NONE,
    Domains,
    EvaluationError,
    Optional,
    Semver,
    TypeValue,
    contains,
    equal,
    find,
    find_optional,
    normalize_semver,
    ordered,
    text_of,
    type_name,
)


def test_versions_are_ordered_as_semver_orders_them() -> None:
    texts = ["1.0.0-1", "1.0.0-2", "1.0.0-11", "1.0.0-a", "1.0.0-a.b", "1.0.0", "1.0.1", "1.10.0"]
    versions = [Semver(text) for text in texts]
    assert sorted(reversed(versions)) == versions
    assert len({*versions, Semver("1.0.0+build")}) == len(texts)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("1.2", "No Major.Minor.Patch elements found", id="too few parts"),
        pytest.param("1.2.x", 'invalid semantic version "1.2.x"', id="a word"),
        pytest.param("01.2.3", 'invalid semantic version "01.2.3"', id="a leading zero"),
        pytest.param(f"{2**64}.0.0", "value out of range", id="more than 64 bits"),
        pytest.param("1.0.0-" + "9" * 30, "value out of range", id="a long pre-release number"),
    ],
)
def test_what_is_no_version_is_said(text: str, message: str) -> None:
    with pytest.raises(EvaluationError, match=message.replace(".", r"\.")):
        Semver(text)


@pytest.mark.parametrize(
    ("lax", "strict"),
    [
        ("v1", "1.0.0"),
        ("1.02", "1.2.0"),
        ("v01.002.0003", "1.2.3"),
        ("v1.2.3-a.b+c", "1.2.3-a.b+c"),
    ],
)
def test_a_lax_version_is_completed(lax: str, strict: str) -> None:
    assert normalize_semver(lax) == strict


@pytest.mark.parametrize("text", ["1.2-alpha", "v1+build"])
def test_a_short_version_has_no_pre_release_part(text: str) -> None:
    with pytest.raises(EvaluationError, match="short version cannot contain"):
        normalize_semver(text)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (True, "bool"),
        (1, "int"),
        (1.5, "double"),
        ("a", "string"),
        ([], "list"),
        ({}, "map"),
        (None, "null_type"),
        (Quantity("1"), "kubernetes.Quantity"),
        (Semver("1.2.3"), "kubernetes.Semver"),
        (NONE, "optional_type"),
        (TypeValue("int"), "type"),
    ],
)
def test_the_name_of_a_type(value: Any, name: str) -> None:
    assert type_name(value) == name


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        pytest.param(1, 1.0, True, id="numbers of two types"),
        pytest.param(1, True, False, id="a boolean is no number"),
        pytest.param(True, True, True, id="two booleans"),
        pytest.param([1, [2]], [1.0, [2]], True, id="lists, element by element"),
        pytest.param([1], [1, 2], False, id="lists of two lengths"),
        pytest.param([True], [1], False, id="a boolean in a list"),
        pytest.param({"a": [1]}, {"a": [1]}, True, id="maps, entry by entry"),
        pytest.param({"a": 1}, {"b": 1}, False, id="maps of other keys"),
        pytest.param({"a": 1}, {"a": 2}, False, id="maps of other values"),
        pytest.param([], {}, False, id="a list is no map"),
        pytest.param([1], 1, False, id="a list is no number"),
        pytest.param(1, [1], False, id="a number is no list"),
        pytest.param(Optional(True, [1]), Optional(True, [1]), True, id="optionals of one value"),
        pytest.param(Optional(True, 1), NONE, False, id="a value and none"),
        pytest.param(NONE, Optional(False), True, id="none and none"),
        pytest.param(None, None, True, id="null and null"),
        pytest.param(TypeValue("int"), TypeValue("int"), True, id="a type and itself"),
        pytest.param(TypeValue("int"), TypeValue("list"), False, id="two types"),
    ],
)
def test_equality(a: Any, b: Any, same: bool) -> None:
    assert equal(a, b) is same


def test_the_parts_that_are_compared_are_counted() -> None:
    counted: list[int] = []
    equal([[1, 2], {"a": 1}], [[1, 2], {"a": 1}], counted.append)
    assert sorted(counted) == [8, 16, 16]


@pytest.mark.parametrize(
    ("a", "b"), [(1, 2), (1, 1.5), ("a", "b"), (False, True)], ids=["int", "mixed", "text", "bool"]
)
def test_order(a: Any, b: Any) -> None:
    assert ordered(a, b) is True
    assert ordered(b, a) is False
    assert ordered(a, a) is False


@pytest.mark.parametrize(("a", "b"), [(1, "a"), ([1], [2]), (True, 1), (None, None)])
def test_what_has_no_order_is_refused(a: Any, b: Any) -> None:
    with pytest.raises(EvaluationError, match="no such overload"):
        ordered(a, b)


@pytest.mark.parametrize(
    ("holder", "key", "value"),
    [
        ({"a": 1}, "a", 1),
        ({1: 2}, 1, 2),
        ([5, 6], 1, 6),
        ([5, 6], 1.0, 6),
        (Domains({"d": {"a": 1}}), "other", {}),
    ],
)
def test_a_value_is_found_by_its_key(holder: Any, key: Any, value: Any) -> None:
    assert find(holder, key) == value


@pytest.mark.parametrize(
    ("holder", "key", "message"),
    [
        ({"a": 1}, "b", "no such key: b"),
        ({True: 1}, True, "no such key: true"),
        ({"a": 1}, [1], "no such key: [1]"),
        ([5], 1, "index out of bounds: 1"),
        ([5], -1, "index out of bounds: -1"),
        ([5], 0.5, "unsupported index type 'double' in list"),
        ([5], True, "unsupported index type 'bool' in list"),
        ([5], "a", "unsupported index type 'string' in list"),
        ("abc", 0, "no such overload"),
    ],
)
def test_a_key_that_is_missing_is_said(holder: Any, key: Any, message: str) -> None:
    with pytest.raises(EvaluationError) as failed:
        find(holder, key)
    assert str(failed.value) == message


def test_an_optional_is_looked_into() -> None:
    assert find(Optional(True, {"a": 1}), "a").value == 1
    assert find_optional(Optional(True, [5]), 0).value == 5
    assert not find_optional(NONE, "a").present
    assert not find_optional({"a": 1}, "b").present
    assert not find_optional([5], "a").present
    assert not find_optional(7, "a").present


@pytest.mark.parametrize(
    ("holder", "value", "found"),
    [
        ({"a": 1}, "a", True),
        ({1: 1}, True, False),
        ({"a": 1}, ["a"], False),
        ([1, [2]], [2.0], True),
        ([1], True, False),
    ],
)
def test_containing(holder: Any, value: Any, found: bool) -> None:
    assert contains(holder, value) is found


def test_only_lists_and_maps_contain_something() -> None:
    with pytest.raises(EvaluationError, match="no such overload"):
        contains("abc", "a")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (7, "7"),
        (7.0, "7"),
        (1.5, "1.5"),
        (Semver("1.2.3+b"), "1.2.3+b"),
        (Quantity("1Gi"), "1Gi"),
    ],
)
def test_values_as_text(value: Any, text: str) -> None:
    assert text_of(value) == text
