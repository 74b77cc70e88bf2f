from __future__ import annotations

import pytest

from mooring.apiserver.validation.rule_names import escape

NAMES = {
    "a plain name": ("spec", "spec"),
    "two underscores": ("a__b", "a__underscores__b"),
    "one underscore stays": ("_a_b", "_a_b"),
    "a dot": ("a.b", "a__dot__b"),
    "a dash": ("my-name", "my__dash__name"),
    "a slash": ("a/b", "a__slash__b"),
    "a word that CEL reserves": ("namespace", "__namespace__"),
    "a name that contains a reserved word": ("inner", "inner"),
    "a digit may follow": ("a1", "a1"),
    "a digit may not be first": ("1a", None),
    "a space": ("a b", None),
    "an empty name": ("", None),
    "a letter beyond ASCII": ("é", None),
}


@pytest.mark.parametrize(("name", "expected"), NAMES.values(), ids=NAMES)
def test_names_of_properties(name: str, expected: str | None) -> None:
    assert escape(name) == expected


def test_escaped_names_stay_different() -> None:
    names = ["a__b", "a.b", "a-b", "a/b", "a_b", "ab", "in", "a.__b"]
    assert len({escape(name) for name in names}) == len(names)
