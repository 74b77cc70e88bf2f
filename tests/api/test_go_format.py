"""Values as Go prints them. The expected texts were printed by Go."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api.go_format import (
    go_float,
    go_json,
    go_quote,
    go_quote_all,
    go_struct,
    go_syntax,
    go_text,
    go_type,
    json_type,
)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        pytest.param("plain é 😀", '"plain é 😀"', id="printable"),
        pytest.param('a "b" \\', r'"a \"b\" \\"', id="quotes and backslashes"),
        pytest.param("\a\b\f\n\r\t\v", r'"\a\b\f\n\r\t\v"', id="escapes with a letter"),
        pytest.param("\x01\x7f", r'"\x01\x7f"', id="ASCII"),
        pytest.param("\u00a0\u200b\u2028", r'"\u00a0\u200b\u2028"', id="spaces and separators"),
        pytest.param("\U000e0001", r'"\U000e0001"', id="outside the basic plane"),
    ],
)
def test_a_text_is_quoted(text: str, quoted: str) -> None:
    assert go_quote(text) == quoted


def test_a_list_of_texts_is_quoted() -> None:
    assert go_quote_all(["a", 'b"']) == r'["a" "b\""]'
    assert go_quote_all([]) == "[]"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "<nil>"),
        (True, "true"),
        (3, "3"),
        (3.0, "3"),
        ("a b", "a b"),
        ((), "[]"),
        ({}, "map[]"),
        ({"b": [1, "x"], "a": {"c": False}}, "map[a:map[c:false] b:[1 x]]"),
        (frozenset({"us-b", "us-a"}), "map[us-a:{} us-b:{}]"),
    ],
)
def test_a_value_is_printed(value: Any, text: str) -> None:
    assert go_text(value) == text


def test_a_struct_is_printed_with_the_names_of_its_fields() -> None:
    assert go_struct({"Name": "", "Port": 80, "On": True}) == "{Name: Port:80 On:true}"


@pytest.mark.parametrize(
    ("value", "syntax"),
    [
        ('a"', r'"a\""'),
        (True, "true"),
        (
            {"c": ["x", True, 3], "a": 1.0, "b": None},
            'map[string]interface {}{"a":1, "b":interface {}(nil), '
            '"c":[]interface {}{"x", true, 3}}',
        ),
    ],
)
def test_a_value_is_printed_in_gos_syntax(value: Any, syntax: str) -> None:
    assert go_syntax(value) == syntax


class OtherDict(dict[str, Any]):
    """A dict that remembers something else, as decoders make them."""


@pytest.mark.parametrize(
    ("value", "go", "json"),
    [
        ("a", "string", "string"),
        (True, "bool", "bool"),
        (1, "int64", "number"),
        (1.5, "float64", "number"),
        ([], "[]interface {}", "array"),
        ({}, "map[string]interface {}", "object"),
        (OtherDict(), "map[string]interface {}", "object"),
    ],
)
def test_types_have_names(value: Any, go: str, json: str) -> None:
    assert (go_type(value), json_type(value)) == (go, json)


def test_null_has_a_name_in_json() -> None:
    assert json_type(None) == "null"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.5, "1.5"),
        (100000.0, "100000"),
        (1e6, "1e+06"),
        (123456789.125, "1.23456789125e+08"),
        (1e22, "1e+22"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (2.5e-5, "2.5e-05"),
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
        (float("nan"), "NaN"),
    ],
)
def test_a_float_is_printed_with_the_fewest_digits(number: float, text: str) -> None:
    assert go_float(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.10000000149011612, "0.1"),
        (50.0, "50"),
        (16777216.0, "1.6777216e+07"),
        (3.4028234663852886e38, "3.4028235e+38"),
    ],
)
def test_a_float_of_32_bits_needs_fewer_digits(number: float, text: str) -> None:
    assert go_float(number, bits=32) == text


def test_json_has_no_spaces_and_no_escapes() -> None:
    assert go_json({"b": ["é", None], "a": 1}) == '{"b":["é",null],"a":1}'
