"""Types, and which of them fit together."""

from __future__ import annotations

import pytest

from mooring.cel.types import (
    DYN,
    INT,
    STRING,
    Substitutions,
    TypeFault,
    list_type,
    map_type,
    most_general,
    optional_type,
    read_type,
    split_types,
    type_parameter,
    unwrap_optional,
)


@pytest.mark.parametrize(
    "text",
    [
        "int",
        "null",
        "list(int)",
        "map(string, list(A))",
        "optional_type(list(dyn))",
        "kubernetes.Quantity",
        "net.IP",
        "type(A)",
    ],
)
def test_a_type_is_shown_as_it_is_written(text: str) -> None:
    assert read_type(text).text == text
    assert repr(read_type(text)) == text


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("net.IP", "opaque"),
        ("kubernetes.URL", "struct"),
        ("A", "param"),
        ("null_type", "null_type"),
    ],
)
def test_the_kind_of_a_type(text: str, kind: str) -> None:
    assert read_type(text).kind == kind


def test_a_list_of_types_is_split_outside_parentheses() -> None:
    assert split_types("int, map(A, B), list(map(A, B))") == [
        "int",
        "map(A, B)",
        "list(map(A, B))",
    ]
    assert split_types("  ") == []


def test_an_optional_type_is_unwrapped() -> None:
    assert unwrap_optional(optional_type(INT)) == (INT, True)
    assert unwrap_optional(list_type(INT)) == (list_type(INT), False)


def test_types_of_the_same_text_are_equal() -> None:
    assert map_type(STRING, INT) == read_type("map(string, int)")
    assert len({read_type("list(int)"), list_type(INT), INT}) == 2
    assert INT != "int"


@pytest.mark.parametrize(
    ("given", "wanted", "fits"),
    [
        pytest.param("int", "int", True, id="a type and itself"),
        pytest.param("int", "string", False, id="two types"),
        pytest.param("int", "dyn", True, id="anything may be dynamic"),
        pytest.param("dyn", "int", True, id="what is dynamic may be anything"),
        pytest.param("null", "kubernetes.Quantity", True, id="null for an object"),
        pytest.param("duration", "null", True, id="a duration for null"),
        pytest.param("null", "int", False, id="null for a number"),
        pytest.param("list(int)", "list(dyn)", True, id="lists by their elements"),
        pytest.param("list(int)", "list(string)", False, id="lists of other elements"),
        pytest.param("map(string, int)", "map(string, A)", True, id="maps with a parameter"),
        pytest.param("list(int)", "map(int, int)", False, id="a list for a map"),
        pytest.param("net.IP", "net.CIDR", False, id="two opaque types"),
        pytest.param("type(int)", "type(string)", True, id="types are of one type"),
        pytest.param("type(int)", "int", False, id="a type is no value"),
        pytest.param("A", "A", True, id="a parameter and itself"),
        pytest.param("list(A)", "A", False, id="a parameter within itself"),
        pytest.param("A", "int", True, id="a parameter for a type"),
    ],
)
def test_what_fits(given: str, wanted: str, fits: bool) -> None:
    assert Substitutions().assignable([read_type(given)], [read_type(wanted)]) is fits


def test_a_parameter_keeps_its_first_type() -> None:
    known = Substitutions()
    a = type_parameter("A")
    assert known.assignable([INT, INT], [a, a])
    assert known.apply(list_type(a)) == list_type(INT)
    assert not known.assignable([STRING], [a])


def test_a_parameter_becomes_more_general() -> None:
    known = Substitutions()
    a = type_parameter("A")
    assert known.assignable([INT, DYN], [a, a])
    assert known.apply(a) == DYN


def test_an_attempt_that_fails_leaves_no_trace() -> None:
    known = Substitutions()
    a, b = type_parameter("A"), type_parameter("B")
    assert known.assignable([INT], [a])
    assert not known.assignable([DYN, STRING, INT], [a, b, STRING])
    assert known.apply(a) == INT
    assert known.apply(b) == b
    assert known.apply(b, unknown_is_dyn=True) == DYN
    assert not known.assignable([INT], [INT, INT])


def test_parameters_are_followed_and_never_circular() -> None:
    known = Substitutions()
    a, b = type_parameter("A"), type_parameter("B")
    assert known.assignable([b], [a])
    assert known.assignable([list_type(INT)], [b])
    assert known.apply(a) == list_type(INT)
    assert not known.assignable([list_type(type_parameter("C"))], [type_parameter("C")])


@pytest.mark.parametrize(
    ("one", "other", "general"),
    [
        ("int", "dyn", "dyn"),
        ("dyn", "int", "dyn"),
        ("list(dyn)", "list(int)", "list(dyn)"),
        ("list(int)", "list(dyn)", "list(dyn)"),
        ("int", "A", "A"),
        ("type(int)", "type(A)", "type(int)"),
        ("null", "net.IP", "net.IP"),
    ],
)
def test_the_more_general_of_two_types(one: str, other: str, general: str) -> None:
    assert most_general(read_type(one), read_type(other)).text == general


def test_a_type_has_a_largest_size() -> None:
    found = map_type(STRING, STRING)
    with pytest.raises(TypeFault, match="too large"):
        for _ in range(20):
            found = map_type(found, found)
