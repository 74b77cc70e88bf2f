"""JSON as Go reads it into its types."""

from __future__ import annotations

import pytest

from mooring.errors import ExtenderError
from mooring.extenders.go_json import GoValue, read


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(b"", "EOF", id="nothing"),
        pytest.param(b"  \n", "EOF", id="blanks"),
        pytest.param(b'{"a": ', "unexpected EOF", id="a value that is missing"),
        pytest.param(b'"abc', "unexpected EOF", id="a text without an end"),
        pytest.param(b"<html>", "invalid character '<' looking for beginning of value", id="html"),
        pytest.param(
            b"{a: 1}",
            "invalid character 'a' looking for beginning of object key string",
            id="a key without quotes",
        ),
        pytest.param(b'{"a" 1}', "invalid character '1' after object key", id="no colon"),
        pytest.param(b"[1 2]", "invalid character '2' after a value", id="no comma"),
        pytest.param(b'"a\nb"', "invalid character '\\n' in string literal", id="a raw newline"),
        pytest.param(b"NaN", "invalid character 'N' looking for beginning of value", id="NaN"),
        pytest.param(b"[" * 100_000, "exceeded max depth", id="very deep"),
        pytest.param(b"1" * 5_000, "json: cannot unmarshal number", id="a very long number"),
    ],
)
def test_what_is_no_json_is_said_in_gos_words(body: bytes, message: str) -> None:
    with pytest.raises(ExtenderError) as failed:
        read(body)
    assert str(failed.value).startswith(message)


def test_what_follows_the_first_value_is_ignored() -> None:
    assert read(b'  "a" and more').text() == "a"


def test_the_fields_of_a_struct_whatever_their_case() -> None:
    value = read(b'{"NODENAMES": ["a"], "error": "bad", "other": 1}')
    found = [(name, one.is_null) for name, one in value.fields("v1.Result", "NodeNames", "Error")]
    assert found == [("NodeNames", False), ("Error", False)]


def test_null_is_empty_whatever_the_type() -> None:
    null = GoValue(None)
    assert null.is_null
    assert (null.text(), null.int64()) == ("", 0)
    assert list(null.fields("T", "a")) == list(null.entries("map")) == list(null.items("[]T")) == []


def test_maps_and_slices() -> None:
    value = read(b'{"a": [1, 2]}')
    ((key, numbers),) = value.entries("map[string][]int64")
    assert (key, [one.int64() for one in numbers.items("[]int64")]) == ("a", [1, 2])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("7", "json: cannot unmarshal number into Go value of type v1.Result"),
        ("[]", "json: cannot unmarshal array into Go value of type v1.Result"),
        (
            '{"score": "high"}',
            "json: cannot unmarshal string into Go struct field Result.score of type int64",
        ),
        (
            '{"score": 1.5}',
            "json: cannot unmarshal number 1.5 into Go struct field Result.score of type int64",
        ),
        (
            '{"score": 9223372036854775808}',
            "json: cannot unmarshal number 9223372036854775808 into Go struct field "
            "Result.score of type int64",
        ),
        (
            '{"score": true}',
            "json: cannot unmarshal bool into Go struct field Result.score of type int64",
        ),
        (
            '{"host": {}}',
            "json: cannot unmarshal object into Go struct field Result.host of type string",
        ),
    ],
)
def test_a_value_of_another_type_is_said_with_its_field(body: str, message: str) -> None:
    with pytest.raises(ExtenderError) as failed:
        for name, value in read(body.encode()).fields("v1.Result", "score", "host"):
            value.int64() if name == "score" else value.text()
    assert str(failed.value) == message


@pytest.mark.parametrize(
    ("method", "go_type"), [("entries", "map[string]string"), ("items", "[]string")]
)
def test_a_text_is_neither_a_map_nor_a_slice(method: str, go_type: str) -> None:
    with pytest.raises(ExtenderError) as failed:
        list(getattr(read(b'"a"'), method)(go_type))
    assert str(failed.value) == f"json: cannot unmarshal string into Go value of type {go_type}"


def test_the_path_of_a_field_of_a_field() -> None:
    ((_, inner),) = read(b'{"meta": {"name": 7}}').fields("v1.Pod", "meta")
    ((_, name),) = inner.fields("v1.Meta", "name")
    with pytest.raises(ExtenderError, match=r"Go struct field Meta\.meta\.name of type string"):
        name.text()
