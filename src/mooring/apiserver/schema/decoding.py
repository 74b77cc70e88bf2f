"""Decoding of request bodies in JSON, YAML or protobuf, with Go's error messages."""

# apimachinery: pkg/runtime/serializer/json/json.go, apiserver: pkg/endpoints/handlers/rest.go

from __future__ import annotations

import json
from typing import Any

import msgspec

from mooring.api.go_format import json_type
from mooring.api.yaml_documents import load_documents
from mooring.apiserver.schema import protobuf_decoding
from mooring.apiserver.schema.canonical import DecodeError, Duplicated, Object, decode
from mooring.controlplane.type_table import StructType, types
from mooring.errors import ObjectError

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"

_END = "unexpected end of JSON input"
_UNRECOGNIZED = "the object provided is unrecognized (must be of type {}): {} ({})"
_PARSE = "couldn't get version/kind; json parse error: "
_META = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)


class Body(msgspec.Struct):
    """A decoded body."""

    object: Object
    #: Its strict errors: unknown and duplicate fields, in order.
    errors: list[str]


def parse_json(data: bytes | str) -> Any:
    """Parse JSON; raise DecodeError with Go's message.

    An object with duplicate keys becomes a `Duplicated`.
    """
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    try:
        value = _JSON.decode(text)
    except json.JSONDecodeError as error:
        raise DecodeError(_syntax(text, error)) from None
    except _Constant as error:
        raise DecodeError(
            f"invalid character {str(error)!r} looking for beginning of value"
        ) from None
    except RecursionError:
        raise DecodeError("exceeded max depth") from None
    except ValueError:  # a number with thousands of digits
        raise DecodeError("json: cannot unmarshal number into Go value of type float64") from None
    return _mend(value) if "\\ud" in text or "\\uD" in text else value


def parse_yaml(data: bytes | str) -> Any:
    """Parse the first document of a YAML text; raise DecodeError if it is malformed."""
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    try:
        for document in load_documents(text):
            return document.value
    except (ObjectError, RecursionError, ValueError) as error:
        raise DecodeError(f"yaml: {str(error).rpartition('not valid YAML: ')[2]}") from None
    return None


def read_body(data: bytes, content_type: str, expected: str = "") -> Any:
    """Parse a body by its media type, without a schema.

    `expected` is the kind named in error messages. A protobuf body is returned as the equivalent
    JSON. Raise DecodeError with kube-apiserver's message.
    """
    media = content_type.partition(";")[0].strip().lower()
    try:
        if media == PROTOBUF:
            return protobuf_decoding.decode(data, types())
        if media == YAML:
            value = parse_yaml(data)
        else:
            try:
                value = parse_json(data)
            except DecodeError as error:
                raise DecodeError(f"{_PARSE}{error}") from None
        value = {} if value is None else value
        _check_meta(value)
    except (DecodeError, protobuf_decoding.ProtobufError) as error:
        raise DecodeError(_UNRECOGNIZED.format(expected, error, _excerpt(data))) from None
    return value


def decode_body(
    data: bytes, content_type: str, type: StructType, kind: str, group_version: str
) -> Body:
    """Decode a body that must be of a kind; `group_version` is that of the request's path.

    Raise DecodeError with the complete message of kube-apiserver's 400 response.
    """
    value = read_body(data, content_type, kind)
    return decode_object(value, type, kind, group_version)


def decode_object(value: Any, type: StructType, kind: str, group_version: str) -> Body:
    """Decode a parsed body that must be of a kind."""
    there = value.get("kind") or kind
    version = value.get("apiVersion") or group_version
    short = version.rpartition("/")[2]
    refusal = f'{there} in version "{short}" cannot be handled as a {kind}: '
    if (there, version) != (kind, group_version):
        if types().find(version, there) is None:
            raise DecodeError(
                f'{refusal}no kind "{there}" is registered for version "{version}" '
                'in scheme "pkg/runtime/scheme.go:111"'
            )
        raise DecodeError(
            f"{refusal}converting ({short}.{there}) to ({_internal(group_version)}.{kind}): "
            "unknown conversion"
        )
    try:
        decoded, errors = decode(type, value)
    except DecodeError as error:
        raise DecodeError(f"{refusal}{error}") from None
    decoded["kind"], decoded["apiVersion"] = kind, group_version
    return Body(decoded, errors)


def strict_refusal(errors: list[str], kind: str, version: str) -> str:
    """Return the message for a body with strict errors; `version` has no group."""
    return f'{kind} in version "{version}" cannot be handled as a {kind}: {strict_error(errors)}'


def strict_error(errors: list[str]) -> str:
    """Return one message for all strict errors."""
    return f"strict decoding error: {', '.join(errors)}"


def duplicates(value: Any) -> list[str]:
    """Return the strict errors of an object without a schema: its duplicate fields."""
    return _duplicates(value, "") if _is_doubled(value) else []


def _is_doubled(value: Any) -> bool:
    """Return whether there is any duplicate field, which is rare."""
    if value.__class__ is dict:
        return any(map(_is_doubled, value.values()))
    if value.__class__ is list:
        return any(map(_is_doubled, value))
    return isinstance(value, Duplicated)


def _duplicates(value: Any, path: str) -> list[str]:
    found: list[str] = []
    if isinstance(value, list):
        for i, item in enumerate(value):
            found += _duplicates(item, f"{path}[{i}]")
    elif isinstance(value, dict):
        pairs = value.pairs if isinstance(value, Duplicated) else list(value.items())
        seen: set[str] = set()
        for key, item in pairs:
            where = f"{path}.{key}" if path else key
            text = f'duplicate field "{where}"'
            if key in seen and text not in found:
                found.append(text)
            seen.add(key)
            found += _duplicates(item, where)
    return found


def _internal(group_version: str) -> str:
    group = group_version.rpartition("/")[0].partition(".")[0]
    return group or "core"


def _check_meta(value: Any) -> None:
    if not isinstance(value, dict):
        what = json_type(value)
        raise DecodeError(f"{_PARSE}json: cannot unmarshal {what} into Go value of type {_META}")
    for name in ("kind", "apiVersion"):
        one = value.get(name)
        if one is not None and not isinstance(one, str):
            what = json_type(one)
            raise DecodeError(
                f"{_PARSE}json: cannot unmarshal {what} into Go struct field .{name} of type string"
            )


def _excerpt(data: bytes) -> str:
    """Return the start of a body as kube-apiserver's messages show it."""
    if not data:
        return "<empty>"
    if data[:1] == b"{":
        return data.decode("utf-8", "replace") if len(data) <= 30 else _cut(data)
    return data.hex() if len(data) <= 30 else f"{data[:30].hex()} ..."


def _cut(data: bytes) -> str:
    return f"{data[:30].decode('utf-8', 'replace')} ..."


class _Constant(Exception):
    """NaN or Infinity, which are not valid JSON."""


def _constant(name: str) -> Any:
    raise _Constant(name[0])


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        marked = Duplicated(result)
        marked.pairs = pairs
        return marked
    return result


_JSON = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant)


def _mend(value: Any) -> Any:
    """Replace lone surrogates, which UTF-8 cannot encode, as Go does."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_mend(item) for item in value]
    if isinstance(value, dict):
        return {_mend(key): _mend(item) for key, item in value.items()}
    return value


def _syntax(text: str, error: json.JSONDecodeError) -> str:
    """Translate Python's syntax error into Go's."""
    at = error.pos
    if error.msg.startswith("Expecting") or error.msg.startswith("Illegal trailing"):
        while at < len(text) and text[at] in " \t\r\n":
            at += 1
    if at >= len(text) or error.msg.startswith("Unterminated string"):
        return _END
    if error.msg.startswith("Illegal trailing"):
        at += 1
        while at < len(text) and text[at] in " \t\r\n":
            at += 1
    where = {
        "Expecting value": "looking for beginning of value",
        "Expecting property name enclosed in double quotes": (
            "looking for beginning of object key string"
        ),
        "Illegal trailing comma before end of object": "looking for beginning of object key string",
        "Illegal trailing comma before end of array": "looking for beginning of value",
        "Expecting ':' delimiter": "after object key",
        "Extra data": "after top-level value",
        "Expecting ',' delimiter": (
            "after array element" if _inside(text[:at]) == "[" else "after object key:value pair"
        ),
    }.get(error.msg, "in string literal")
    for literal in ("true", "false", "null"):
        if error.msg == "Expecting value" and text[at] == literal[0]:
            same = 1
            while text[at + same : at + same + 1] == literal[same]:
                same += 1
            if at + same >= len(text):
                return _END
            at, where = at + same, f"in literal {literal} (expecting '{literal[same]}')"
    character = text[at : at + 1]
    shown = {"'": "'\\''", '"': "'\"'"}.get(character, f"'{character}'")
    return f"invalid character {shown} {where}"


def _inside(text: str) -> str:
    """Return the innermost bracket that is open at the end of a text."""
    stack: list[str] = []
    quoted = escaped = False
    for character in text:
        if escaped:
            escaped = False
        elif quoted:
            escaped = character == "\\"
            quoted = character != '"'
        elif character == '"':
            quoted = True
        elif character in "[{":
            stack.append(character)
        elif character in "]}" and stack:
            stack.pop()
    return stack[-1] if stack else ""
