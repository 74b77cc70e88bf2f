"""Patch requests except server-side apply: reads a patch, applies it and decodes the result."""

# apiserver: pkg/endpoints/handlers/patch.go

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

from mooring.api.field_errors import invalid
from mooring.api.go_format import go_json, go_text
from mooring.apiserver import refusals
from mooring.apiserver.patch.json_patch import apply_json_patch, read_json_patch
from mooring.apiserver.patch.merge_patch import apply_merge_patch, read_merge_patch
from mooring.apiserver.refusals import Refusal
from mooring.apiserver.schema.canonical import DecodeError, Object, convert, decode, plain
from mooring.apiserver.schema.decoding import strict_error
from mooring.controlplane.strategic_patch import apply_strategic_patch
from mooring.controlplane.type_table import STRUCT, StructType, TypeKind
from mooring.errors import ApiError

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

STRICT, WARN, IGNORE = "Strict", "Warn", "Ignore"

Decoded = tuple[Object, list[str]]
#: Returns the canonical form of a patched object and its strict errors; raises DecodeError.
Decoder = Callable[[Object], Decoded]


def patch_object(
    type: StructType | None,
    live: Object,
    data: bytes,
    media_type: str,
    directive: str = WARN,
    decoder: Decoder | None = None,
    kept: Collection[str] = (),
) -> tuple[Object, list[str]]:
    """Return the canonical result of patching a live object, and its warnings.

    `directive` is the request's fieldValidation. `decoder` replaces the decoding by `type` for
    custom resources, which do not support strategic patches. `kept` are fields that the write
    cannot change: those that the patch does not touch are shared with the live object.
    """
    patch: Any = None
    custom = decoder is not None
    if media_type == JSON_PATCH:
        operations, errors = read_json_patch(data)
        patched = apply_json_patch(live, operations)
    elif media_type == STRATEGIC_PATCH:
        patch, errors = read_merge_patch(data, prefix="")
        try:
            patched = apply_strategic_patch(type, live, plain(patch))
        except ApiError as error:
            raise Refusal(error.status, error.reason, error.message) from None
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

    # To kube-apiserver custom resources are maps, so all their keys are sorted.
    kind = TypeKind(STRUCT, type=type) if type is not None and not custom else None

    def refuse(why: str) -> Refusal:
        strategic = media_type == STRATEGIC_PATCH
        return _refuse(go_text(patch) if strategic else _marshalled(kind, live, patched), why)

    try:
        if not isinstance(patched, dict):
            raise DecodeError("Object 'Kind' is missing")
        if not custom and media_type != STRATEGIC_PATCH:
            _check_kind(live, patched)
        result, unknown = decoder(patched)
    except DecodeError as error:
        raise refuse(str(error)) from None
    if directive != IGNORE:
        errors = errors + unknown
    if errors and directive == STRICT:
        raise refuse(strict_error(errors))
    return result, errors


def _check_kind(live: Object, patched: Object) -> None:
    """Refuse a patch that changes the kind or the API version of an object."""
    version, kind = (patched.get(name) for name in ("apiVersion", "kind"))
    if kind == live.get("kind") and version == live.get("apiVersion"):
        return
    if not kind:
        raise DecodeError("Object 'Kind' is missing")
    if not isinstance(version, str) or version != live.get("apiVersion"):
        scheme = 'in scheme "pkg/runtime/scheme.go:111"'
        raise DecodeError(f'no kind "{kind}" is registered for version "{version}" {scheme}')
    group, _, name = version.rpartition("/")
    target = f"{group or 'core'}.{live['kind']}"
    raise DecodeError(f"converting ({name}.{kind}) to ({target}): unknown conversion")


def _marshalled(kind: TypeKind | None, live: Any, patched: Any) -> Any:
    """Return a patched object as error messages show it: the keys of patched maps are sorted."""
    if patched == live:
        return _ordered(kind, patched)
    if isinstance(patched, dict):
        there = live if isinstance(live, dict) else {}
        return {
            key: _marshalled(_inner(kind, key), there.get(key), patched[key])
            for key in sorted(patched)
        }
    if isinstance(patched, list) and isinstance(live, list) and len(patched) == len(live):
        item = kind.item if kind is not None else None
        return [_marshalled(item, *pair) for pair in zip(live, patched, strict=True)]
    return patched


def _ordered(kind: TypeKind | None, value: Any) -> Any:
    """Return a value with struct fields in the order of their type, and map keys sorted."""
    if isinstance(value, list):
        return [_ordered(kind.item if kind is not None else None, item) for item in value]
    if not isinstance(value, dict):
        return value
    keys = sorted(value)
    if kind is not None and kind.form == STRUCT and kind.type is not None:
        known = [name for name in kind.type.fields if name in value]
        keys = list(dict.fromkeys((*known, *keys)))
    return {key: _ordered(_inner(kind, key), value[key]) for key in keys}


def _inner(kind: TypeKind | None, key: str) -> TypeKind | None:
    if kind is None:
        return None
    if kind.form == STRUCT and kind.type is not None:
        field = kind.type.fields.get(key)
        return field.kind if field is not None else None
    return kind.item


def _around(decoder: Decoder, value: Object, live: Object, kept: Collection[str]) -> Decoded:
    """Decode an object, but not the `kept` fields that it shares with the live object.

    An unchanged managedFields is not decoded either: it is most of the metadata, and is never
    changed in place.
    """
    shared = {name: live[name] for name in kept if name in live and value.get(name) is live[name]}
    rest = {key: item for key, item in value.items() if key not in shared}
    metadata = rest.get("metadata")
    owners = (live.get("metadata") or {}).get("managedFields")
    if metadata.__class__ is dict and owners and metadata.get("managedFields") is owners:
        rest["metadata"] = {key: metadata[key] for key in metadata if key != "managedFields"}
    else:
        owners = None
    decoded, errors = decoder(rest)
    decoded |= shared
    if owners is not None:
        decoded["metadata"]["managedFields"] = owners
    return {key: decoded[key] for key in value if key in decoded} | decoded, errors


def _refuse(shown: Any, why: str) -> Refusal:
    text = shown if isinstance(shown, str) else go_json(shown)
    return refusals.invalid("", "", "", [invalid("patch", text, why)])
