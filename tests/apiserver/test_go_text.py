from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.go_text import go_text

VALUES: dict[str, tuple[Any, str]] = {
    "a text": ("a b", "a b"),
    "a number": (5, "5"),
    "truth": (True, "true"),
    "falsehood": (False, "false"),
    "nothing": (None, "<nil>"),
    "an empty list": ([], "[]"),
    "a list": (["a", 1, None], "[a 1 <nil>]"),
    "a tuple": ((1, 2), "[1 2]"),
    "a map, sorted by its keys": ({"b": 1, "a": {"c": [True]}}, "map[a:map[c:[true]] b:1]"),
}


@pytest.mark.parametrize(("value", "text"), VALUES.values(), ids=VALUES)
def test_values_as_go_prints_them(value: Any, text: str) -> None:
    assert go_text(value) == text
