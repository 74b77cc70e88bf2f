"""JSON patch (RFC 6902), with kube-apiserver's error messages."""

# apiserver: pkg/endpoints/handlers/patch.go (jsonPatcher), gopkg.in/evanphx/json-patch.v4

from __future__ import annotations

import copy
from typing import Any

from mooring.api.go_format import json_type
from mooring.apiserver.refusals import Refusal, bad_request, unprocessable
from mooring.apiserver.schema.canonical import DecodeError, Duplicated
from mooring.apiserver.schema.decoding import parse_json

MOST_OPERATIONS = 10_000

_KNOWN = ("op", "path", "from", "value")
_OPERATIONS = "[]handlers.jsonPatchOp"


def read_json_patch(data: bytes) -> tuple[list[dict[str, Any]], list[str]]:
    """Parse a JSON patch; return its operations and their strict errors."""
    try:
        operations = parse_json(data)
    except DecodeError as error:
        raise bad_request(f"error decoding patch: {error}") from None
    if not isinstance(operations, list):
        what = json_type(operations)
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {what} into Go value of type "
            f"{_OPERATIONS}"
        )
    errors: list[str] = []
    for i, operation in enumerate(operations):
        _check(i, operation, errors)
    if len(operations) > MOST_OPERATIONS:
        raise Refusal(
            413,
            "RequestEntityTooLarge",
            f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, "
            f"got {len(operations)}",
        )
    return operations, errors


def _check(i: int, operation: Any, errors: list[str]) -> None:
    if not isinstance(operation, dict):
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {json_type(operation)} into Go value of "
            f"type {_OPERATIONS[2:]}"
        )
    for name in _KNOWN[:3]:
        if name in operation and not isinstance(operation[name], str):
            what = json_type(operation[name])
            raise bad_request(
                f"error decoding patch: json: cannot unmarshal {what} into Go struct field "
                f"jsonPatchOp.{name} of type string"
            )
    seen: set[str] = set()
    pairs = operation.pairs if isinstance(operation, Duplicated) else list(operation.items())
    for key, _ in pairs:
        if key in seen:
            errors.append(f'json patch duplicate field "[{i}].{key}"')
        elif key not in _KNOWN:
            errors.append(f'json patch unknown field "[{i}].{key}"')
        seen.add(key)


def apply_json_patch(document: Any, operations: list[dict[str, Any]]) -> Any:
    """Return a patched copy of a document; refuse the patch if an operation fails."""
    document = copy.deepcopy(document)
    for operation in operations:
        document = _apply(document, operation)
    return document


def _apply(document: Any, operation: dict[str, Any]) -> Any:
    name, path = operation.get("op"), _pointer(operation.get("path"))
    if name == "add":
        return _add(document, path, copy.deepcopy(operation.get("value")))
    if name == "replace":
        return _replace(document, path, copy.deepcopy(operation.get("value")))
    if name == "remove":
        return _remove(document, path)
    if name == "test":
        if not _equal(_get(document, path, missing=True), operation.get("value")):
            raise unprocessable()
        return document
    if name in ("move", "copy"):
        source = _pointer(operation.get("from"))
        value = copy.deepcopy(_get(document, source, missing=True))
        if name == "move":
            document = _remove(document, source)
        return _add(document, path, value)
    raise unprocessable()


def _pointer(text: Any) -> list[str]:
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise unprocessable()
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _index(container: list[Any], key: str, end: int) -> int:
    if not key.lstrip("-").isdigit() or not key.isascii():
        raise unprocessable()
    index = int(key) if len(key) < 12 else end + 1
    index = index + len(container) if index < 0 else index
    if not 0 <= index < end:
        raise unprocessable()
    return index


def _child(container: Any, key: str) -> Any:
    if isinstance(container, dict) and key in container:
        return container[key]
    if isinstance(container, list):
        return container[_index(container, key, len(container))]
    raise unprocessable()


def _parent(document: Any, path: list[str]) -> Any:
    for key in path[:-1]:
        document = _child(document, key)
    return document


def _get(document: Any, path: list[str], *, missing: bool = False) -> Any:
    if not path:
        return document
    parent = _parent(document, path)
    if missing and isinstance(parent, dict):
        return parent.get(path[-1])
    return _child(parent, path[-1])


def _add(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent, key = _parent(document, path), path[-1]
    if isinstance(parent, dict):
        parent[key] = value
    elif isinstance(parent, list):
        at = len(parent) if key == "-" else _index(parent, key, len(parent) + 1)
        parent.insert(at, value)
    else:
        raise unprocessable()
    return document


def _replace(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent, key = _parent(document, path), path[-1]
    if isinstance(parent, dict):
        parent[key] = value  # even if the key was absent, as in kube-apiserver
    elif isinstance(parent, list):
        parent[_index(parent, key, len(parent))] = value
    else:
        raise unprocessable()
    return document


def _remove(document: Any, path: list[str]) -> Any:
    if not path:
        raise unprocessable()
    parent, key = _parent(document, path), path[-1]
    if isinstance(parent, dict) and key in parent:
        del parent[key]
    elif isinstance(parent, list):
        del parent[_index(parent, key, len(parent))]
    else:
        raise unprocessable()
    return document


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)
