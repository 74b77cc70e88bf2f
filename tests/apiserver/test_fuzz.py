"""Corrupted objects and patches are refused and never cause a failure."""

from __future__ import annotations

import contextlib
import copy
import json
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.defaults import set_defaults
from mooring.apiserver.patch import apply as applying
from mooring.apiserver.patch import managed
from mooring.apiserver.patch.patching import MERGE_PATCH, STRATEGIC_PATCH, patch_object
from mooring.apiserver.refusals import Refusal
from mooring.apiserver.schema.canonical import DecodeError
from mooring.apiserver.schema.decoding import decode_object
from mooring.apiserver.schema.structural import decode_custom
from mooring.apiserver.validation import check_create, check_update
from mooring.apiserver.validation.custom_objects import check_custom
from mooring.apiserver.validation.warnings import warnings
from mooring.controlplane.strategic_patch import apply_strategic_patch
from mooring.controlplane.type_table import types
from mooring.errors import ApiError
from tests.apiserver.schema.test_custom_schema import KIND

HERE = Path(__file__).parent
OBJECTS = list(yaml.safe_load_all((HERE / "defaults/accepted.yaml").read_text()))
OBJECTS += list(yaml.safe_load_all((HERE / "validation/refused.yaml").read_text()))

JUNK: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from(
        [
            None,
            True,
            0,
            -1,
            1.5,
            2**70,
            "",
            "x",
            "A b",
            "1Gi",
            "25%",
            "None",
            "*",
            [],
            {},
            "/..",
            "é",
        ]
    ),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["name", "key", "a", "$patch", "$retainKeys", "spec", ""]),
            inner,
            max_size=2,
        )
    ),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key, item in value.items():
            found += places(item, (*path, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            found += places(item, (*path, i))
    return found


@st.composite
def spoilt(draw: st.DrawFn) -> dict[str, Any]:
    obj: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(OBJECTS)))
    for _ in range(draw(st.integers(1, 3))):
        every = [one for one in places(obj) if one[0] not in ("apiVersion", "kind")]
        if not every:
            break
        path = draw(st.sampled_from(every))
        at: Any = obj
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = draw(JUNK)
    return obj


def completed(manifest: dict[str, Any]) -> dict[str, Any]:
    version, kind = manifest["apiVersion"], manifest["kind"]
    found = types().find(version, kind)
    assert found is not None
    obj = decode_object(manifest, found, kind, version).object
    set_defaults(version, kind, obj)
    return obj


@given(spoilt(), spoilt())
def test_objects(one: dict[str, Any], other: dict[str, Any]) -> None:
    with contextlib.suppress(DecodeError):
        obj = completed(one)
        version, kind = one["apiVersion"], one["kind"]
        problems = check_create(version, kind, obj)
        assert all(problem.reason and problem.message for problem in problems)
        warnings(version, kind, obj)
        found = types().find(version, kind)
        assert found is not None
        managed.update_managers(found, None, obj, manager="m", version=version, now="t")
        if other["kind"] == kind and other["apiVersion"] == version:
            old = completed(other)
            check_update(version, kind, obj, old)
            warnings(version, kind, obj, old)
            managed.update_managers(found, old, obj, manager="n", version=version, now="t")


@given(spoilt(), JUNK, st.booleans())
def test_patches(manifest: dict[str, Any], patch: Any, whole: bool) -> None:
    with contextlib.suppress(DecodeError, Refusal, ApiError):
        live = completed(manifest)
        found = types().find(manifest["apiVersion"], manifest["kind"])
        assert found is not None
        change = {"spec": patch} if whole else {"spec": {"template": patch}, "metadata": patch}
        apply_strategic_patch(found, live, change)
        for media in (MERGE_PATCH, STRATEGIC_PATCH):
            patch_object(found, live, json.dumps(change).encode(), media)


@given(spoilt(), spoilt(), st.booleans())
def test_applies(live: dict[str, Any], patch: dict[str, Any], force: bool) -> None:
    version, kind = patch["apiVersion"], patch["kind"]
    found = types().find(version, kind)
    assert found is not None
    stored = None
    with contextlib.suppress(DecodeError, Refusal):
        if live["kind"] == kind and live["apiVersion"] == version:
            stored = completed(live)
        applying.apply(
            found, stored, patch, manager="m", version=version, kind=kind, now="t", force=force
        )


@given(JUNK, JUNK)
def test_custom_resources(spec: Any, metadata: Any) -> None:
    value = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": metadata,
        "spec": {"size": spec, "tasks": spec, "limits": spec, "free": spec},
    }
    with contextlib.suppress(DecodeError):
        obj, _ = decode_custom(KIND, value)
        check_custom(KIND, obj)
        managed.update_managers(KIND.type, None, obj, manager="m", version="v", now="t")
