"""Decoding of custom resources: drops unknown fields and sets defaults by their schema."""

# apiextensions-apiserver: pkg/apiserver/customresource_handler.go, pkg/apiserver/schema/pruning,
# pkg/apiserver/schema/defaulting

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from mooring.apiserver.schema.canonical import DecodeError, Object, decode, plain
from mooring.apiserver.schema.custom_schema import CustomKind
from mooring.apiserver.schema.decoding import duplicates
from mooring.controlplane.type_table import types

Schema = Mapping[str, Any]

_META = ("apiVersion", "kind", "metadata")
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_WRONG_VERSION = "the API version in the data ({}) does not match the expected API version ({})"


def decode_custom(kind: CustomKind, value: Any) -> tuple[Object, list[str]]:
    """Return a custom resource without unknown fields and with defaults, and its strict errors.

    Raise DecodeError, with kube-apiserver's complete message, if its apiVersion is not the kind's.
    Its `kind` is checked later, by validation.
    """
    if not isinstance(value, dict) or not value.get("kind"):
        raise DecodeError("Object 'Kind' is missing")
    version = value.get("apiVersion") or ""
    if version != kind.group_version:
        raise DecodeError(_WRONG_VERSION.format(version, kind.group_version))
    errors = duplicates(value)
    obj: Object = plain(value)
    try:
        metadata, unknown = decode(types().get("meta.v1.ObjectMeta"), obj.get("metadata") or {})
    except DecodeError as error:
        text = str(error).replace("Go struct field .", "Go struct field ObjectMeta.")
        refusal = f'{obj["kind"]} in version "{kind.version}" cannot be handled as a {obj["kind"]}'
        raise DecodeError(f"{refusal}: {text}") from None
    obj["metadata"] = metadata
    errors += [text.replace('field "', 'field "metadata.', 1) for text in unknown]
    if kind.schema is not None and not kind.preserve:
        pruned: list[str] = []
        for key in [key for key in obj if key not in _META]:
            known = (kind.schema.get("properties") or {}).get(key)
            if known is not None:
                _prune(known, obj[key], key, pruned)
            elif not kind.schema.get("x-kubernetes-preserve-unknown-fields"):
                pruned.append(f'unknown field "{key}"')
                del obj[key]
        errors += sorted(pruned)
    if kind.schema is not None:
        set_custom_defaults(kind.schema, obj)
    return obj, errors


def _prune(schema: Schema, value: Any, path: str, errors: list[str]) -> None:
    """Drop fields that are not in the schema."""
    if isinstance(value, list):
        items = schema.get("items")
        for i, item in enumerate(value):
            # If the schema expects no list, every field in it is unknown.
            if isinstance(items, Mapping) or not schema.get(_PRESERVE):
                _prune(items if isinstance(items, Mapping) else {}, item, f"{path}[{i}]", errors)
        return
    if not isinstance(value, dict):
        return
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    if embedded:
        _prune_metadata(value, path, errors)
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    keep = schema.get(_PRESERVE) or additional is True
    for key in list(value):
        where = f"{path}.{key}"
        if embedded and key in _META:
            continue
        if key in properties:
            _prune(properties[key], value[key], where, errors)
        elif isinstance(additional, Mapping):
            _prune(additional, value[key], where, errors)
        elif not keep:
            errors.append(f'unknown field "{where}"')
            del value[key]


def _prune_metadata(value: Object, path: str, errors: list[str]) -> None:
    metadata = value.get("metadata")
    if isinstance(metadata, dict):
        try:
            kept, unknown = decode(types().get("meta.v1.ObjectMeta"), metadata)
        except DecodeError:
            return  # validation reports the problem
        value["metadata"] = kept
        errors += [text.replace('field "', f'field "{path}.metadata.', 1) for text in unknown]


def set_custom_defaults(schema: Schema, value: Any) -> None:
    """Set the defaults of a structural schema; null counts as absent unless it is nullable."""
    if isinstance(value, list):
        items = schema.get("items")
        if isinstance(items, Mapping):
            for item in value:
                set_custom_defaults(items, item)
        return
    if not isinstance(value, dict):
        return
    for key, known in (schema.get("properties") or {}).items():
        if key in value and value[key] is None and not known.get("nullable"):
            del value[key]
        if key not in value and known.get("default") is not None:
            value[key] = copy.deepcopy(known["default"])
        if key in value:
            set_custom_defaults(known, value[key])
    additional = schema.get("additionalProperties")
    if isinstance(additional, Mapping):
        properties = schema.get("properties") or {}
        for key in [key for key in value if key not in properties]:
            if value[key] is None and not additional.get("nullable"):
                del value[key]
            else:
                set_custom_defaults(additional, value[key])
