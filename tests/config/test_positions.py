from __future__ import annotations

from typing import Any

import pytest

from mooring.config.positions import MAX_DEPTH, Mark, field_path, parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("y", True, id="y is true, as Go's parser has it"),
        pytest.param("off", False, id="off is false"),
        pytest.param("'y'", "y", id="a quoted word is text"),
        pytest.param("!!str 5", "5", id="a tag makes text of a number"),
        pytest.param("!!int '5'", 5, id="a tag makes a number of text"),
        pytest.param("2020-01-01", "2020-01-01", id="a date is text"),
        pytest.param("1:30", "1:30", id="sixties are text"),
        pytest.param("012", 10, id="a leading zero is octal"),
        pytest.param("08", 8, id="unless it cannot be"),
        pytest.param("0x1f", 31, id="hexadecimal"),
        pytest.param("0o17", 15, id="octal the new way"),
        pytest.param("0b11", 3, id="binary"),
        pytest.param("1_000", 1000, id="underscores in numbers"),
        pytest.param("-5", -5, id="negative"),
        pytest.param("1e3", 1000, id="an exponent makes a number"),
        pytest.param("1.0", 1, id="a whole float is an integer"),
        pytest.param(".5", 0.5, id="a fraction"),
        pytest.param("1e400", "1e400", id="a number that no float holds is text"),
        pytest.param("~", None, id="tilde is null"),
        pytest.param("", None, id="nothing is null"),
        pytest.param("15s", "15s", id="a duration is text"),
    ],
)
def test_scalars_mean_what_they_mean_to_go(text: str, value: Any) -> None:
    document = parse(f"key: {text}\n")
    assert document.errors == []
    assert document.data == {"key": value}
    assert type(document.data["key"]) is type(value)


def test_every_key_and_value_has_a_place() -> None:
    positions = parse("a:\n  - b: 1\n    c.d: [x, y]\n").positions
    assert positions.keys["a[0].b"] == Mark(2, 5)
    assert positions.values["a[0].b"] == Mark(2, 8)
    assert positions.values["a[0][c.d][1]"] == Mark(3, 14)
    assert positions.find("a[0].missing.deep") == Mark(2, 5)
    assert positions.find("a[0].b", key=True) == Mark(2, 5)


def test_json_indented_with_tabs_is_read() -> None:
    document = parse('{\n\t"a": {\n\t\t"b": "c\\/d"\n\t}\n}')
    assert document.data == {"a": {"b": "c/d"}}
    assert document.positions.values["a.b"] == Mark(3, 8)


def test_json_escapes_of_two_halves_are_one_character() -> None:
    document = parse(r'{"a": "\ud83d\ude00 \\ud83d\\ude00 \u00e9"}')
    assert document.data == {"a": "\U0001f600 \\ud83d\\ude00 é"}


def test_anchors_and_merge_keys_are_expanded() -> None:
    document = parse("a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\ne: {<<: [*x, {f: 4}]}\n")
    assert document.data["d"] == {"b": 1, "c": 3}
    assert document.data["e"] == {"b": 1, "c": 2, "f": 4}


@pytest.mark.parametrize(
    ("text", "path", "message", "mark"),
    [
        pytest.param(
            "a: 1\nb: 2\na: 3\n", "a", 'key "a" already set in map', Mark(3, 1), id="a key twice"
        ),
        pytest.param("a: [", "", "not valid YAML: ", Mark(2, 1), id="an unfinished list"),
        pytest.param("a: \x07", "", "not valid YAML: ", Mark(1, 4), id="a control character"),
        pytest.param(
            "a: *b", "", "not valid YAML: found undefined", Mark(1, 4), id="no such anchor"
        ),
        pytest.param(
            "a: !x b", "a", "must not carry the tag !x", Mark(1, 4), id="a tag of one's own"
        ),
        pytest.param("a: .inf", "a", "must be a finite number", Mark(1, 4), id="an infinity"),
        pytest.param("? [a]\n: b", "", "must have plain keys", Mark(1, 3), id="a list as key"),
        pytest.param(
            "a: {<<: 1}", "a", "map merge requires map", Mark(1, 9), id="merging a number"
        ),
        pytest.param("a: &a [*a]", "a[0]", "must not contain itself", Mark(1, 4), id="a loop"),
        pytest.param(
            "[" * 5000, "", "must nest at most", Mark(1, MAX_DEPTH + 1), id="deep nesting"
        ),
        pytest.param("\ud800", "", "not valid YAML: ", None, id="half a character"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    text: str, path: str, message: str, mark: Mark | None
) -> None:
    ((error, found),) = parse(text).errors
    assert error.path == path
    assert error.message.startswith(message)
    assert found == mark


def test_aliases_that_multiply_are_stopped() -> None:
    lines = [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 9)]
    ((error, _),) = parse("\n".join(["a0: &a0 [x]", *lines])).errors
    assert "aliases expanded" in error.message


def test_a_second_document_is_warned_about_and_an_empty_one_is_not() -> None:
    assert parse("a: 1\n---\n").warnings == []
    (warning,) = parse("a: 1\n---\nb: 2\n").warnings
    assert "first YAML document" in warning


def test_a_key_that_is_no_plain_word_stands_in_brackets() -> None:
    assert field_path("a", "b") == "a.b"
    assert field_path("", "b") == "b"
    assert field_path("a", "example.com/x[1]") == "a[example.com/x(1)]"
