"""Carry out a patch request on an object: read the patch, apply it, decode what comes of it."""

# apiserver: pkg/endpoints/handlers/patch.go

from __future__ import annotations

from collections.abc import Callable, Collection
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

Decoded = tuple[Object, list[str]]
Decoder = Callable[[Object], Decoded]
"""Turns a patched object into a canonical one and its strict errors; raises DecodeError."""


def patch_object(
    type: Type | None,
    live: Object,
    data: bytes,
    media_type: str,
    directive: str = WARN,
    decoder: Decoder | None = None,
    kept: Collection[str] = (),
) -> tuple[Object, list[str]]:
    """Return a live object with a patch applied, canonical, and the warnings to give.

    `directive` is the request's fieldValidation. `decoder` replaces the decoding by `type`, for
    custom resources, which know no strategic patches. `kept` are the fields that the write cannot
    change: where the patch leaves one alone, the result has it as it is in the live object, shared.
    """
    patch: Any = None
    if media_type == JSON_PATCH:
        operations, errors = read_json_patch(data)
        patched = apply_json_patch(live, operations)
    elif media_type == STRATEGIC_PATCH:
        patch, errors = read_merge_patch(data, prefix="")
        patched = apply_strategic_patch(type, live, patch)
    else:
        patch, errors = read_merge_patch(data)
        patched = apply_merge_patch(live, patch)
    if directive == IGNORE:
        errors = []
    if decoder is None:
        assert type is not None
        found = type
        reader = convert if media_type == STRATEGIC_PATCH else decode
        decoder = lambda value: _around(lambda rest: reader(found, rest), value, live, kept)  # noqa: E731

    def refuse(why: str) -> Refusal:
        return _refuse(go_text(patch) if media_type == STRATEGIC_PATCH else patched, why)

    try:
        if not isinstance(patched, dict):
            raise DecodeError("Object 'Kind' is missing")
        result, unknown = decoder(patched)
    except DecodeError as error:
        raise refuse(str(error)) from None
    if directive != IGNORE:
        errors = errors + unknown
    if errors and directive == STRICT:
        raise refuse(strict_error(errors))
    return result, errors


def _around(decoder: Decoder, value: Object, live: Object, kept: Collection[str]) -> Decoded:
    """Decode all but the fields that are kept and still those of the live object."""
    shared = {name: live[name] for name in kept if name in live and value.get(name) is live[name]}
    if not shared:
        return decoder(value)
    decoded, errors = decoder({key: item for key, item in value.items() if key not in shared})
    decoded |= shared
    return {key: decoded[key] for key in value if key in decoded} | decoded, errors


def _refuse(shown: Any, why: str) -> Refusal:
    text = shown if isinstance(shown, str) else compact(shown)
    message = f"Invalid value: {compact(text)}: {why}"
    return invalid("", "", "", [("FieldValueInvalid", "patch", message)])
