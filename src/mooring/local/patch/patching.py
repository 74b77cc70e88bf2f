"""Carry out a patch request on an object: read the patch, apply it, decode what comes of it."""

# apiserver: pkg/endpoints/handlers/patch.go

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from mooring.local.go_text import go_text
from mooring.local.patch.field_set import compact
from mooring.local.patch.json_patch import apply_json_patch, read_json_patch
from mooring.local.patch.merge_patch import apply_merge_patch, read_merge_patch
from mooring.local.patch.strategic import apply_strategic_patch
from mooring.local.refusals import Refusal, invalid
from mooring.local.schema.canonical import DecodeError, Object, convert, decode
from mooring.local.schema.decoding import strict_error
from mooring.local.schema.table import Type

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

STRICT, WARN, IGNORE = "Strict", "Warn", "Ignore"

Decoder = Callable[[Object], tuple[Object, list[str]]]
"""Turns a patched object into a canonical one and its strict errors; raises DecodeError."""


def patch_object(
    type: Type | None,
    live: Object,
    data: bytes,
    media_type: str,
    directive: str = WARN,
    decoder: Decoder | None = None,
) -> tuple[Object, list[str]]:
    """Return a live object with a patch applied, canonical, and the warnings to give.

    `directive` is the request's fieldValidation. `decoder` replaces the decoding by `type`, for
    custom resources, which know no strategic patches.
    """
    shown: Any
    if media_type == JSON_PATCH:
        operations, errors = read_json_patch(data)
        patched = apply_json_patch(live, operations)
        shown = patched
    elif media_type == STRATEGIC_PATCH:
        patch, errors = read_merge_patch(data, prefix="")
        patched = apply_strategic_patch(type, live, patch)
        shown = go_text(patch)
    else:
        patch, errors = read_merge_patch(data)
        patched = apply_merge_patch(live, patch)
        shown = patched
    if directive == IGNORE:
        errors = []
    if decoder is None:
        assert type is not None
        found = type
        reader = convert if media_type == STRATEGIC_PATCH else decode
        decoder = lambda value: reader(found, value)  # noqa: E731
    try:
        if not isinstance(patched, dict):
            raise DecodeError("Object 'Kind' is missing")
        result, unknown = decoder(patched)
    except DecodeError as error:
        raise _refuse(shown, str(error)) from None
    if directive != IGNORE:
        errors = errors + unknown
    if errors and directive == STRICT:
        raise _refuse(shown, strict_error(errors))
    return result, errors


def _refuse(shown: Any, why: str) -> Refusal:
    text = shown if isinstance(shown, str) else compact(shown)
    message = f"Invalid value: {compact(text)}: {why}"
    return invalid("", "", "", [("FieldValueInvalid", "patch", message)])
