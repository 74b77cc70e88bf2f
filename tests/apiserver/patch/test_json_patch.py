"""JSON patches."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.patch.json_patch import apply_json_patch, read_json_patch
from mooring.apiserver.refusals import Refusal

DOCUMENT = {"spec": {"replicas": 1, "list": ["a", "b"], "a/b": {"~": 1}}}


def op(name: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": name, "path": path, **more}


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([op("add", "/spec/new", value=2)], {"new": 2}),
        ([op("replace", "/spec/replicas", value=3)], {"replicas": 3}),
        ([op("replace", "/spec/absent", value=3)], {"absent": 3}),
        ([op("add", "/spec/list/-", value="c")], {"list": ["a", "b", "c"]}),
        ([op("add", "/spec/list/0", value="z")], {"list": ["z", "a", "b"]}),
        ([op("remove", "/spec/list/1")], {"list": ["a"]}),
        ([op("replace", "/spec/a~1b/~0", value=2)], {"a/b": {"~": 2}}),
        ([op("copy", "/spec/twin", **{"from": "/spec/list"})], {"twin": ["a", "b"]}),
        ([op("test", "/spec/replicas", value=1), op("add", "/spec/x", value=1)], {"x": 1}),
    ],
)
def test_operations_apply(operations: list[dict[str, Any]], expected: dict[str, Any]) -> None:
    found = apply_json_patch(DOCUMENT, operations)
    assert found == {"spec": {**DOCUMENT["spec"], **expected}}


def test_moving_removes_the_source() -> None:
    found = apply_json_patch(DOCUMENT, [op("move", "/spec/moved", **{"from": "/spec/list"})])
    assert found["spec"]["moved"] == ["a", "b"]
    assert "list" not in found["spec"]
    assert "list" in DOCUMENT["spec"], "the document itself is not changed"


@pytest.mark.parametrize(
    "operation",
    [
        op("test", "/spec/replicas", value=5),
        op("test", "/spec/replicas", value=True),
        op("remove", "/spec/absent"),
        op("remove", "/spec/absent/below"),
        op("add", "/spec/list/9", value=1),
        op("add", "/spec/list/x", value=1),
        op("dance", "/spec/replicas"),
        op("add", "spec", value=1),
        op("move", "/x", **{"from": "/spec/absent"}),
        {"op": "add", "value": 1},
    ],
)
def test_an_operation_that_fails_refuses_the_whole(operation: dict[str, Any]) -> None:
    with pytest.raises(Refusal, match="the server rejected our request") as raised:
        apply_json_patch(DOCUMENT, [operation])
    assert raised.value.code == 422


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (
            '{"not":"a list"}',
            "cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        ("[1]", "cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        ("not", "invalid character 'o' in literal null (expecting 'u')"),
    ],
)
def test_what_is_no_patch_is_refused(data: str, text: str) -> None:
    with pytest.raises(Refusal) as raised:
        read_json_patch(data.encode())
    assert raised.value.code == 400
    assert str(raised.value).endswith(text)


def test_unknown_fields_of_operations_are_named() -> None:
    _, errors = read_json_patch(b'[{"op":"add","path":"/a","value":1,"foo":2}]')
    assert errors == ['json patch unknown field "[0].foo"']


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_no_patch_does_harm(document: Any, patch: Any) -> None:
    with contextlib.suppress(Refusal):
        operations, _ = read_json_patch(json.dumps(patch).encode())
        apply_json_patch(document, operations)
