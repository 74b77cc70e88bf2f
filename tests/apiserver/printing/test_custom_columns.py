from __future__ import annotations

import pytest

from mooring.apiserver.printing.custom_columns import follow


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.size", [3]),
        (".spec.missing", []),
        (".items[1].name", ["b"]),
        (".items[*].name", ["a", "b"]),
        ('.items[?(@.name=="b")].value', [2]),
    ],
)
def test_a_column_follows_its_path(path: str, found: list[object]) -> None:
    items = [{"name": "a", "value": 1}, {"name": "b", "value": 2}]
    assert follow({"spec": {"size": 3}, "items": items}, path) == found
