"""What calls can cost at most, by the sizes of their arguments."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.cel.call_estimates import Argument, CallEstimate, estimate_call
from mooring.cel.estimates import UNKNOWN, Range, fixed
from mooring.cel.types import read_type


def of(type: str, low: int, high: int, literal: Any = None) -> Argument:
    return Argument((), read_type(type), Range(low, high), literal)


def text(low: int, high: int) -> Argument:
    return of("string", low, high)


def items(low: int, high: int, element: str = "int") -> Argument:
    return of(f"list({element})", low, high)


def number(value: int) -> Argument:
    return of("int", 1, 1, value)


def estimate(
    function: str, id: str, target: Argument | None, *args: Argument
) -> CallEstimate | None:
    return estimate_call(lambda path: None, function, id, target, [*args])


ADDRESS, ROUTE = of("net.IP", 1, 1), of("net.CIDR", 1, 1)


@pytest.mark.parametrize(
    ("function", "id", "target", "args", "cost", "size"),
    [
        ("sets.contains", "list_sets_contains_list", None, [items(1, 3), items(0, 4)], (1, 13), 0),
        ("sets.equivalent", "list_sets_equivalent_list", None, [items(1, 3)] * 2, (3, 19), 0),
        ("lists.range", "lists_range", None, [number(5)], (16, 16), (5, 5)),
        ("slice", "list_slice", items(0, 9), [number(2), number(6)], (15, 15), (4, 4)),
        ("reverse", "list_reverse", items(0, 9), [], (11, 20), (0, 9)),
        ("flatten", "list_flatten", items(0, 9), [], (11, 20), (0, 9)),
        ("flatten", "list_flatten_int", items(0, 9), [number(3)], (11, 38), (0, 9)),
        ("flatten", "list_flatten_int", items(0, 9), [number(-3)], (11, 11), (0, 9)),
        ("distinct", "list_distinct", items(0, 9), [], (11, 173), (0, 81)),
        ("sort", "list_int_sort", items(0, 10), [], (11, 211), (0, 100)),
        ("sort", "list_string_sort", items(0, 10, "string"), [], (11, 221), (0, 100)),
        ("includes", "dra_includes_dyn_dyn", of("dyn", 0, 9), [of("dyn", 0, 9)], (0, 48), 0),
        ("family", "ip_family", ADDRESS, [], (1, 1), 0),
        ("ip", "cidr_ip", ROUTE, [], (1, 1), 0),
        ("isIP", "is_ip", None, [text(0, 41)], (0, 5), 0),
        ("url", "string_to_url", None, [text(0, 41)], (0, 5), (0, 41)),
        ("ip.isCanonical", "ip_is_canonical", None, [text(0, 41)], (0, 9), 0),
        ("containsIP", "cidr_contains_ip_ip", ROUTE, [ADDRESS], (1, 4), 0),
        ("containsIP", "cidr_contains_ip_string", ROUTE, [text(0, 41)], (1, 9), 0),
        ("containsCIDR", "cidr_contains_cidr", ROUTE, [ROUTE], (3, 7), 0),
        ("containsCIDR", "cidr_contains_cidr_string", ROUTE, [text(0, 41)], (3, 12), 0),
        ("validate", "format-validate", of("dyn", 1, 1), [text(0, 10)], (0, 32), 0),
        ("indexOf", "list_indexOf", items(0, 9), [number(1)], (0, 9), 0),
        ("indexOf", "string_index_of_string", text(0, 41), [text(1, 1)], (0, 5), 0),
        ("trim", "string_trim", text(0, 41), [], (0, 5), (0, 41)),
        ("join", "list_join", of("dyn", 1, 3), [], (0, 0), (0, 0)),
        ("find", "string_find_string", text(0, 19), [text(8, 8)], (2, 4), (0, 19)),
        ("split", "string_split_string", text(0, 41), [text(1, 1)], (0, 9), (0, 41)),
        ("split", "string_split_string_int", text(0, 41), [text(1, 1), number(2)], (0, 9), (0, 2)),
        ("format", "string_format", text(0, 41), [], (0, 5), 0),
        ("bytes", "string_to_bytes", None, [text(1, 41)], (1, 5), (1, 164)),
        ("string", "bytes_to_string", None, [of("bytes", 8, 41)], (1, 5), (2, 41)),
        ("strings.quote", "strings_quote", None, [text(1, 41)], (1, 5), (3, 84)),
        ("startsWith", "starts_with_string", text(0, 9), [text(0, 41)], (0, 5), 0),
        ("@in", "in_list", None, [number(1), items(0, 9)], (0, 9), 0),
        ("matches", "matches_string", text(0, 19), [text(8, 8)], (2, 4), 0),
        ("contains", "contains_string", text(0, 19), [text(11, 11)], (0, 4), 0),
        ("_<_", "less_string", None, [text(0, 41), text(0, 11)], (1, 2), 0),
        ("_==_", "equals", None, [text(0, 41), text(0, 0)], (0, 0), 0),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_call_can_cost_and_how_large_its_result_can_be(
    function: str, id: str, target: Argument | None, args: list[Argument], cost: Any, size: Any
) -> None:
    found = estimate(function, id, target, *args)
    assert found == CallEstimate(Range(*cost), Range(*size) if size else None)


@pytest.mark.parametrize(
    ("old", "new", "size"),
    [
        pytest.param((1, 1), (1, 1), Range(10, 20), id="as long as what it replaces"),
        pytest.param((1, 1), (3, 3), Range(10, 60), id="longer than what it replaces"),
        pytest.param((4, 4), (1, 1), Range(3, 20), id="shorter than what it replaces"),
        pytest.param((0, 0), (2, 2), Range(32, 62), id="put between all characters"),
    ],
)
def test_how_large_a_text_can_be_after_a_replacement(
    old: tuple[int, int], new: tuple[int, int], size: Range
) -> None:
    found = estimate("replace", "string_replace", text(10, 20), text(*old), text(*new))
    assert found == CallEstimate(Range(2, 4), size)


@pytest.mark.parametrize(
    ("type", "cost"),
    [
        ("kubernetes.Quantity", Range(1, 1)),
        ("net.IP", Range(1, 1)),
        ("kubernetes.NamedFormat", Range(1, 7)),
        ("kubernetes.URL", Range(1, 1)),
    ],
)
def test_values_of_kubernetes_types_compare_at_their_own_cost(type: str, cost: Range) -> None:
    found = estimate("_==_", "equals", None, of(type, 0, 1000), of(type, 0, 1000))
    assert found == CallEstimate(cost)


def test_a_size_that_is_not_given_is_asked_for_by_path() -> None:
    asked = []

    def sizes(path: tuple[str, ...]) -> Range | None:
        asked.append(path)
        return fixed(30) if path == ("self", "tags", "@items") else None

    tags = Argument(("self", "tags"), read_type("list(string)"), Range(0, 2))
    found = estimate_call(sizes, "indexOf", "list_indexOf", tags, [text(1, 1)])
    assert found == CallEstimate(Range(0, 8))
    assert asked == [("self", "tags", "@items")]


def test_a_joined_text_has_its_elements_and_what_is_between_them() -> None:
    tags = Argument(("self", "tags"), read_type("list(string)"), Range(1, 3))
    found = estimate_call(lambda path: Range(4, 9), "join", "list_join", tags, [text(2, 2)])
    assert found == CallEstimate(Range(1, 4), Range(4, 31))


def test_a_size_that_nobody_knows_is_unlimited() -> None:
    unknown = Argument((), read_type("string"), None)
    found = estimate("trim", "string_trim", unknown)
    assert found is not None
    assert (found.cost.high, found.size) == (1844674407370955264, UNKNOWN)


def test_a_list_of_unknown_length_is_sliced_to_its_end() -> None:
    found = estimate("slice", "list_slice", items(0, 9), number(2), of("int", 1, 1))
    assert found is not None
    assert found.size == fixed(7)


@pytest.mark.parametrize("id", ["add_int64", "list_size", ""])
def test_other_calls_have_no_special_cost(id: str) -> None:
    assert estimate("_+_", id, None, number(1), number(2)) is None
