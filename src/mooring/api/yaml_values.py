"""The values of YAML scalars as Kubernetes reads them.

Kubernetes converts YAML to JSON with a YAML 1.1 parser that does not support base 60 and leaves
dates as text. `y`, `no` and `on` are booleans, `0644` is octal, `1e3` is a number.
"""

# go.yaml.in/yaml/v2: resolve.go

from __future__ import annotations

import math
import re
from functools import lru_cache

from mooring.errors import ObjectError

Scalar = str | int | float | bool | None

_TAG_PREFIX = "tag:yaml.org,2002:"
_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), False),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BASES = (16, 2, 8, 10)


@lru_cache(maxsize=65536, typed=True)
def read_plain(text: str) -> Scalar:
    """Return the value of an unquoted scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    plain = text.replace("_", "")
    integer = _INTEGER.fullmatch(plain)
    if integer is not None:
        sign, *digits = integer.groups()
        number = next(int(d, base) for d, base in zip(digits, _BASES, strict=True) if d is not None)
        number = -number if sign == "-" else number
        if -(2**63) <= number < 2**64:
            return number
    if _FLOAT.fullmatch(plain) is not None:
        value = float(plain)
        if not math.isinf(value):
            return value
    return text


def read_tagged(text: str, tag: str) -> Scalar:
    """Return the value of a scalar with an explicit tag such as `!!int`."""
    name = tag.removeprefix(_TAG_PREFIX)
    if name == "str":
        return text
    value = read_plain(text)
    if name == "float" and type(value) is int:
        return float(value)
    found = {str: "str", bool: "bool", int: "int", float: "float", type(None): "null"}[type(value)]
    if name != found:
        raise ObjectError(f"not valid YAML: cannot read {text!r} as {name}")
    return value


def is_collection_tag(tag: str | None) -> bool:
    """Return whether a tag is allowed on a map or a list."""
    return tag in (None, f"{_TAG_PREFIX}map", f"{_TAG_PREFIX}seq")
