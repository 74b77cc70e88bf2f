"""JSON merge patch, RFC 7386."""

from __future__ import annotations

from typing import Any

from mooring.api.go_format import json_type
from mooring.apiserver.refusals import bad_request
from mooring.apiserver.schema.canonical import DecodeError, plain
from mooring.apiserver.schema.decoding import duplicates, parse_json

_MAP = "map[string]interface {}"


def read_merge_patch(data: bytes, prefix: str = "error decoding patch: ") -> tuple[Any, list[str]]:
    """Parse a patch that must be an object; return it and its strict errors."""
    try:
        patch = parse_json(data)
    except DecodeError as error:
        raise bad_request(f"{prefix}{error}") from None
    if not isinstance(patch, dict):
        what = json_type(patch)
        raise bad_request(f"{prefix}json: cannot unmarshal {what} into Go value of type {_MAP}")
    return patch, duplicates(patch)


def apply_merge_patch(document: Any, patch: Any) -> Any:
    """Return a document with a merge patch applied; neither argument is changed."""
    if not isinstance(patch, dict):
        return plain(patch)
    result = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = apply_merge_patch(result.get(key), value)
    return result
