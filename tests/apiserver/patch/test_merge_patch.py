"""Merge patches."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.patch.merge_patch import apply_merge_patch, read_merge_patch
from mooring.apiserver.refusals import Refusal


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": [1]}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        ({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
    ],
)
def test_patches_apply(document: Any, patch: Any, expected: Any) -> None:
    assert apply_merge_patch(document, patch) == expected


@pytest.mark.parametrize(("data", "what"), [(b"[]", "array"), (b"5", "number"), (b'"x"', "string")])
def test_what_is_no_object_is_refused(data: bytes, what: str) -> None:
    with pytest.raises(Refusal, match=f"json: cannot unmarshal {what} into Go value"):
        read_merge_patch(data)
