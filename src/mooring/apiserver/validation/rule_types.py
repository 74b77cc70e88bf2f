"""The types of the values that validation rules see, from the schema of a definition."""

# apiserver: pkg/cel/common/schemas.go

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mooring.apiserver.validation.rule_names import escape
from mooring.cel import types
from mooring.cel.declared import Declared, declared_list, declared_map, declared_object

Schema = Mapping[str, Any]

#: The largest size of a request, in bytes.
MAX_REQUEST = 3 * 1024 * 1024
_TEXT: Schema = {"type": "string"}
_META: Schema = {"type": "object", "properties": {"name": _TEXT, "generateName": _TEXT}}
_STRING_SIZE = 2
#: String formats with a separate type: the type, the smallest and the largest size.
_FORMATS = {
    "duration": (types.DURATION, 3, 32),
    "date": (types.TIMESTAMP, 12, 12),
    "date-time": (types.TIMESTAMP, 21, 32),
}


def declare(schema: Schema, *, root: bool = False, name: str = "selfType") -> Declared | None:
    """Return the type of the values of a schema, or None if rules cannot see them.

    `root` marks objects that have a kind and a name: whole objects and embedded resources.
    """
    if schema.get("x-kubernetes-int-or-string"):
        longest = schema.get("maxLength")
        most = MAX_REQUEST - 2 if longest is None else max(longest, 0) * 4
        return Declared(types.DYN, most, 1)
    kind = schema.get("type")
    if kind == "array":
        return _list(schema, name)
    if kind == "object":
        return _object(schema, root, name)
    if kind == "string":
        return _string(schema)
    if kind == "boolean":
        return Declared(types.BOOL, 0, 4)
    if kind == "number":
        return Declared(types.DOUBLE, 0, 1)
    return Declared(types.INT, 0, 1) if kind == "integer" else None


def _embedded(schema: Schema) -> bool:
    return bool(schema.get("x-kubernetes-embedded-resource"))


def _list(schema: Schema, name: str) -> Declared | None:
    items = schema.get("items")
    if not isinstance(items, Mapping):
        return None
    element = declare(items, root=_embedded(items), name=f"{name}.@idx")
    if element is None:
        return None
    most = schema.get("maxItems")
    if most is None:
        most = (MAX_REQUEST - 2) // (element.min_size + 1)
    return declared_list(element, max(most, 0))


def _object(schema: Schema, root: bool, name: str) -> Declared | None:
    additional = schema.get("additionalProperties")
    if isinstance(additional, Mapping):
        element = declare(additional, root=_embedded(additional), name=f"{name}.@elem")
        if element is None:
            return None
        most = schema.get("maxProperties")
        if most is None:
            most = (MAX_REQUEST - 2) // (element.min_size + 6)
        return declared_map(Declared(types.STRING, 0, _STRING_SIZE), element, max(most, 0))
    properties: dict[str, Any] = dict(schema.get("properties") or {})
    if root:
        properties |= {"kind": _TEXT, "apiVersion": _TEXT, "metadata": _META}
    needed = frozenset(schema.get("required") or ())
    fields: dict[str, Declared] = {}
    least = 2
    for key, inner in properties.items():
        escaped = escape(key)
        found = declare(inner, root=_embedded(inner), name=f"{name}.{escaped or key}")
        if found is None:
            continue
        if escaped is not None:
            fields[escaped] = found
        if key in needed and inner.get("default") is None:
            least += len(key.encode()) + found.min_size + 4
    return declared_object(name, fields, least)


def _string(schema: Schema) -> Declared:
    form, longest = schema.get("format"), schema.get("maxLength")
    if form == "byte":
        most = MAX_REQUEST - 2 if longest is None else max(longest, 0)
        return Declared(types.BYTES, most, _STRING_SIZE)
    if form in _FORMATS:
        found, least, most = _FORMATS[form]
        return Declared(found, most, least)
    if longest is not None:
        # A character takes up to four bytes.
        return Declared(types.STRING, max(longest, 0) * 4, _STRING_SIZE)
    choices = [one for one in schema.get("enum") or () if isinstance(one, str)]
    if schema.get("enum"):
        most = max((len(one.encode()) for one in choices), default=0)
        return Declared(types.STRING, most, _STRING_SIZE)
    return Declared(types.STRING, MAX_REQUEST - 2, _STRING_SIZE)
