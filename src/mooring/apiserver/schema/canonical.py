"""The canonical form of an object: the one it has after Go decoded and encoded it.

A real API server decodes a body into a Go struct: unknown fields are dropped (and reported if the
request says so), values of the wrong type are refused, quantities and times are printed
canonically, empty optional fields disappear and others appear with their zero value. This module
does the same on dicts, by the field tree.
"""

# sigs.k8s.io/json: internal/golang/encoding/json/decode.go

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mooring.api.durations import Duration
from mooring.api.go_format import json_type
from mooring.api.timestamps import canonical_micro_time, canonical_time
from mooring.apiserver.schema import scalars
from mooring.controlplane.type_table import (
    ANY,
    FLOATS,
    INTEGERS,
    LIST,
    MAP,
    STRUCT,
    Field,
    StructType,
    TypeKind,
    types,
)

Object = dict[str, Any]

_RANGES = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}
_SCHEMA = "apiextensions.v1.JSONSchemaProps"
_MOST_STRICT_ERRORS = 100
_ZEROS: dict[str, Any] = {
    "string": "",
    "bool": False,
    "int32": 0,
    "int64": 0,
    "uint64": 0,
    "float32": 0,
    "float64": 0,
    "quantity": "0",
    "intOrString": 0,
    "duration": "0s",
}
_RAW = frozenset({"object", "fields", "json", ANY})


class DecodeError(Exception):
    """The error for a body that does not fit its type, with the message of Go's decoder."""


class Duplicated(dict[str, Any]):
    """A JSON object with duplicate fields; `pairs` has all fields in order."""

    pairs: list[tuple[str, Any]]


def decode(type: StructType, value: Any) -> tuple[Object, list[str]]:
    """Return the canonical object and the strict errors: unknown and duplicate fields.

    Raise DecodeError if a value has the wrong type.
    """
    decoder = _Decoder()
    decoder.root = type.name
    if not isinstance(value, dict):
        what = json_type(value)
        raise DecodeError(f"json: cannot unmarshal {what} into Go value of type {_go_struct(type)}")
    try:
        decoded = decoder.struct(type, value)
    except RecursionError:
        raise DecodeError("exceeded max depth") from None
    return decoded, decoder.errors


def convert(type: StructType, value: Object) -> tuple[Object, list[str]]:
    """Return what `decode` does, but with the error messages of Go's conversion from maps.

    Go applies a strategic merge patch to maps, and converts the result instead of decoding it.
    """
    converter = _Converter()
    try:
        converted = converter.struct(type, value)
    except RecursionError:
        raise DecodeError("exceeded max depth") from None
    return converted, converter.errors


def canonical(type: StructType, value: Object) -> Object:
    """Return the canonical form of an object; unknown fields are dropped."""
    return decode(type, value)[0]


def zero(kind: TypeKind) -> Any:
    """Return the JSON of Go's zero value of a kind."""
    if kind.pointer:
        return None
    if kind.form == STRUCT and kind.type is not None:
        return {field.name: zero(field.kind) for field in kind.type.always}
    return _ZEROS.get(kind.form)


class _Decoder:
    """One decoding walk, with the current path and the strict errors found."""

    def __init__(self) -> None:
        self.root = ""
        self.errors: list[str] = []
        self._path: list[Field | str | int] = []
        self._quiet = 0

    def struct(self, type: StructType, value: Mapping[str, Any]) -> Object:
        fields, path = type.fields, self._path
        result: Object = {}
        pairs: Iterable[tuple[str, Any]] = value.items()
        seen: set[str] | None = None
        if value.__class__ is Duplicated:
            pairs, seen = value.pairs, set()
        for key, item in pairs:
            if seen is not None:
                if key in seen:
                    self._report("duplicate", key)
                seen.add(key)
            field = fields.get(key)
            if field is None:
                if not type.preserve:
                    self._report("unknown", key)
                else:
                    result[key] = plain(item)
                continue
            path.append(field)
            found = self.value(field.kind, item)
            path.pop()
            if field.always or not _is_empty(field.kind, found):
                result[key] = found
            elif key == "managedFields" and item == []:
                result[key] = []  # an empty list asks the server to reset all owners
            else:
                result.pop(key, None)
        for field in type.always:
            if field.name not in result:
                result[field.name] = zero(field.kind)
        return result

    def value(self, kind: TypeKind, value: Any) -> Any:
        form = kind.form
        if value is None:
            return zero(kind)
        if form == "string":
            return value if value.__class__ is str else self._refuse(kind, value)
        if form == STRUCT:
            if not isinstance(value, dict) or kind.type is None:
                return self._refuse(kind, value)
            return self.struct(kind.type, value)
        if form == LIST:
            return self._list(kind, value)
        if form == MAP:
            return self._map(kind, value)
        if form in INTEGERS:
            return self._integer(kind, value, form)
        if form == "bool":
            return value if value.__class__ is bool else self._refuse(kind, value)
        if form in _RAW:
            return plain(value)
        return self._special(kind, form, value)

    def _list(self, kind: TypeKind, value: Any) -> Any:
        if not isinstance(value, list) or kind.item is None:
            return self._refuse(kind, value)
        result, path = [], self._path
        for i, item in enumerate(value):
            path.append(i)
            result.append(self.value(kind.item, item))
            path.pop()
        return result or None

    def _map(self, kind: TypeKind, value: Any) -> Any:
        if not isinstance(value, dict) or kind.item is None:
            return self._refuse(kind, value)
        if value.__class__ is Duplicated:
            seen: set[str] = set()
            for key, _ in value.pairs:
                if key in seen:
                    self._report("duplicate", key)
                seen.add(key)
        result, path = {}, self._path
        for key, item in value.items():
            path.append(key)
            found = self.value(kind.item, item)
            path.pop()
            result[key] = "" if found is None and kind.item.form == "bytes" else found
        return result or None

    def _integer(self, kind: TypeKind, value: Any, form: str) -> Any:
        if value.__class__ is not int:
            if value.__class__ is float:
                self._refuse(kind, value, f"number {value!r}")
            return self._refuse(kind, value)
        low, high = _RANGES[form]
        if not low <= value <= high:
            self._refuse(kind, value, f"number {value}")
        return value

    def _special(self, kind: TypeKind, form: str, value: Any) -> Any:
        if form in FLOATS:
            if value.__class__ not in (int, float):
                return self._refuse(kind, value)
            return int(value) if value == int(value) and abs(value) < 1e15 else value
        if form == "intOrString":
            if value.__class__ is str:
                return value
            return self._integer(TypeKind("int32"), value, "int32")
        if form.startswith("schemaOr"):
            return self._schema(kind, form, value)
        if form == "quantity":
            return self._scalar(scalars.quantity, value)
        if value.__class__ is not str:
            return self._refuse(kind if form == "bytes" else TypeKind("string"), value)
        return self._scalar(_TEXTS[form], value)

    def _scalar(self, parse: Any, value: Any) -> Any:
        try:
            return parse(value)
        except ValueError as error:
            raise DecodeError(str(error)) from None

    def _schema(self, kind: TypeKind, form: str, value: Any) -> Any:
        """Decode a value that may be a JSON schema, a list of them, a boolean or strings."""
        schema = types().get(_SCHEMA)
        # Go decodes these with a separate decoder, which reports no unknown fields.
        self._quiet += 1
        try:
            if isinstance(value, dict):
                return self.struct(schema, value)
            if isinstance(value, bool) and form == "schemaOrBool":
                return value
            if isinstance(value, list) and form != "schemaOrBool":
                inner = (
                    TypeKind("string")
                    if form == "schemaOrStrings"
                    else TypeKind(STRUCT, type=schema)
                )
                return self._list(TypeKind(LIST, item=inner), value)
        finally:
            self._quiet -= 1
        return self._refuse(kind, value)

    def _report(self, what: str, key: str) -> None:
        if self._quiet or len(self.errors) >= _MOST_STRICT_ERRORS:
            return
        text = f'{what} field "{self._strict_path(key)}"'
        if text not in self.errors:
            self.errors.append(text)

    def _strict_path(self, key: str) -> str:
        text = ""
        for part in (*self._path, key):
            if part.__class__ is int:
                text += f"[{part}]"
            else:
                name = part.name if isinstance(part, Field) else part
                text += f".{name}" if text else f"{name}"
        return text

    def _refuse(self, kind: TypeKind, value: Any, what: str = "") -> Any:
        names: list[str] = []
        for part in self._path:
            if isinstance(part, Field):
                names += [*part.via, part.name]
        what = what or json_type(value)
        raise DecodeError(
            f"json: cannot unmarshal {what} into Go struct field {self._struct_name()}"
            f"{'.'.join(names)} of type {_go_type(kind)}"
        )

    def _struct_name(self) -> str:
        """Return the struct that has the last field of the path."""
        owner = self.root
        for part in [one for one in self._path if isinstance(one, Field)][:-1]:
            kind: TypeKind | None = part.kind
            while kind is not None and kind.item is not None:
                kind = kind.item
            if kind is not None and kind.type is not None:
                owner = kind.type.name
        return f"{owner}."


class _Converter(_Decoder):
    """A decoder with the error messages of runtime.DefaultUnstructuredConverter."""

    # apimachinery: pkg/runtime/converter.go

    def _integer(self, kind: TypeKind, value: Any, form: str) -> Any:
        if value.__class__ is float and value.is_integer():
            value = int(value)
        return super()._integer(kind, value, form)

    def _refuse(self, kind: TypeKind, value: Any, what: str = "") -> Any:
        source = _go_kind(value)
        if kind.form == STRUCT:
            raise DecodeError(f"cannot restore struct from: {source}")
        if kind.form in (LIST, MAP, "bytes"):
            raise DecodeError(
                f"cannot restore {'map' if kind.form == MAP else 'slice'} from {source}"
            )
        target = _go_type(kind)
        if (source, target) == ("int64", "string") or (source == "float64" and target != "string"):
            raise DecodeError(f"cannot convert {source} to {target}")
        raise DecodeError(f"unrecognized type: {target}")


def _go_kind(value: Any) -> str:
    names = {str: "string", bool: "bool", dict: "map", list: "slice", float: "float64"}
    return names.get(value.__class__, "int64")


def _duration_text(text: str) -> str:
    return str(Duration.parse(text))


_TEXTS = {
    "time": canonical_time,
    "microTime": canonical_micro_time,
    "duration": _duration_text,
    "bytes": scalars.bytes_text,
}


def plain(value: Any) -> Any:
    """Return a deep copy of a JSON value, with plain dicts for `Duplicated` ones."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def _is_empty(kind: TypeKind, value: Any) -> bool:
    """Return whether Go omits a value that is marked `omitempty` or `omitzero`."""
    if value is None:
        return True
    if kind.pointer:
        return False
    form = kind.form
    if form in (LIST, MAP, "bytes"):
        return not value
    if form == STRUCT or form in _RAW:
        return bool(value == zero(kind))
    return bool(value == _ZEROS.get(form))


def _go_struct(type: StructType) -> str:
    return f"{type.package.rpartition('.')[2]}.{type.name}"


def _go_type(kind: TypeKind) -> str:
    if kind.form == STRUCT and kind.type is not None:
        return _go_struct(kind.type)
    if kind.item is not None:
        inner = _go_type(kind.item)
        return f"[]{inner}" if kind.form == LIST else f"map[string]{inner}"
    return {"bytes": "[]uint8"}.get(kind.form, kind.form)
