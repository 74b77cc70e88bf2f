"""The OpenAPI v2 document, which kubectl accepts only as protobuf.

kubectl requests it for kinds that cannot be patched, as the v3 documents do not say whether the
server validates these, and for `kubectl explain --output=plaintext-openapiv2`. Its only path is the
one by which kubectl detects that the server validates fields.
"""

# gnostic-models: openapiv2/OpenAPIv2.proto

from __future__ import annotations

import json
from functools import cache

from mooring.api.kubernetes_version import MAJOR, MINOR
from mooring.apiserver.schema.openapi import Schema, document
from mooring.client.protobuf import field
from mooring.controlplane.type_table import types

_REF = "#/components/schemas/"


def _text(number: int, text: str) -> bytes:
    return field(number, text.encode())


@cache
def document_v2() -> bytes:
    """Return the OpenAPI v2 document in protobuf."""
    schemas: dict[str, Schema] = {}
    for group_version in types().group_versions:
        schemas |= document(group_version)["components"]["schemas"]
    definitions = b"".join(
        field(1, _text(1, name) + field(2, _schema(schema)))
        for name, schema in sorted(schemas.items())
    )
    info = _text(1, "Kubernetes") + _text(2, f"{MAJOR}.{MINOR}")
    return _text(1, "2.0") + field(2, info) + field(8, _paths()) + field(9, definitions)


def _paths() -> bytes:
    """Return the PATCH of a namespace, with the parameter fieldValidation."""
    # cli-runtime: pkg/resource/query_param_verifier.go
    parameter = _text(2, "query") + _text(4, "fieldValidation")
    gvk = json.dumps({"group": "", "kind": "Namespace", "version": "v1"})
    operation = field(8, field(1, field(2, field(3, parameter))))
    operation += field(9, b"") + field(13, _extension("x-kubernetes-group-version-kind", gvk))
    item = _text(1, "/api/v1/namespaces/{name}") + field(2, field(8, operation))
    return field(2, item)


def _extension(name: str, value: str) -> bytes:
    return _text(1, name) + field(2, _text(2, value))


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
        out += field(21, field(1, _schema(additional)))
    kind = schema.get("type") or ("string" if "oneOf" in schema else "")
    if kind:
        out += field(22, _text(1, kind))
    if "items" in schema:
        out += field(23, field(1, _schema(schema["items"])))
    if properties := schema.get("properties"):
        named = (_text(1, name) + field(2, _schema(one)) for name, one in properties.items())
        out += field(25, b"".join(field(1, one) for one in named))
    for key, value in schema.items():
        if key.startswith("x-kubernetes-"):
            out += field(31, _extension(key, json.dumps(value)))
    return out
