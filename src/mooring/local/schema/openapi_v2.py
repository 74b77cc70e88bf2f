"""The OpenAPI v2 document, which kubectl takes as protobuf alone.

It is asked for kinds that the v3 documents say nothing about how to validate: those that cannot be
patched. Only they are in it; for all others the v3 documents answer first.
"""

# gnostic-models: openapiv2/OpenAPIv2.proto

from __future__ import annotations

import json
from functools import cache
from typing import Any

from mooring.local.schema.openapi import Schema, document
from mooring.local.schema.table import types

MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

_REF = "#/components/schemas/"


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _bytes(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _text(number: int, text: str) -> bytes:
    return _bytes(number, text.encode())


@cache
def document_v2() -> bytes:
    """Return the document."""
    schemas: dict[str, Schema] = {}
    table = types()
    for group_version in table.group_versions:
        wanted = {
            resource.kind
            for resource in table.resources(group_version)
            if "create" in resource.verbs and "patch" not in resource.verbs
        }
        if wanted:
            every = document(group_version)["components"]["schemas"]
            for schema in list(every.values()):
                for gvk in schema.get("x-kubernetes-group-version-kind", ()):
                    if gvk["kind"] in wanted:
                        _collect(schema, every, schemas)
    definitions = b"".join(
        _bytes(1, _text(1, name) + _bytes(2, _schema(schema)))
        for name, schema in sorted(schemas.items())
    )
    info = _text(1, "Kubernetes") + _text(2, "v1.36.4")
    return _text(1, "2.0") + _bytes(2, info) + _bytes(8, b"") + _bytes(9, definitions)


def _collect(schema: Schema, every: dict[str, Schema], found: dict[str, Schema]) -> None:
    """Add a schema and all that it refers to."""
    pending = [name for name, one in every.items() if one is schema]
    while pending:
        name = pending.pop()
        if name not in found:
            found[name] = every[name]
            pending += _references(every[name])


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        found = [name for item in value.values() for name in _references(item)]
        if isinstance(reference := value.get("$ref"), str):
            found.append(reference.removeprefix(_REF))
        return found
    if isinstance(value, list):
        return [name for item in value for name in _references(item)]
    return []


def _schema(schema: Schema) -> bytes:
    if "allOf" in schema:
        schema = schema["allOf"][0]
    out = b""
    if "$ref" in schema:
        return _text(1, schema["$ref"].replace(_REF, "#/definitions/"))
    if "format" in schema:
        out += _text(2, schema["format"])
    for name in schema.get("required", ()):
        out += _text(19, name)
    if isinstance(additional := schema.get("additionalProperties"), dict):
        out += _bytes(21, _bytes(1, _schema(additional)))
    kind = schema.get("type") or ("string" if "oneOf" in schema else "")
    if kind:
        out += _bytes(22, _text(1, kind))
    if "items" in schema:
        out += _bytes(23, _bytes(1, _schema(schema["items"])))
    if properties := schema.get("properties"):
        named = (_text(1, name) + _bytes(2, _schema(one)) for name, one in properties.items())
        out += _bytes(25, b"".join(_bytes(1, one) for one in named))
    for key, value in schema.items():
        if key.startswith("x-kubernetes-"):
            out += _bytes(31, _text(1, key) + _bytes(2, _text(2, json.dumps(value))))
    return out
