"""Values as Go prints them, for messages that are Kubernetes' own.

Each function names the verb of Go's fmt package that it follows. Values are those of decoded JSON:
None, booleans, numbers, texts, lists, and dicts for Go's maps; a set stands for a Go set.
"""

# Go: fmt/print.go, fmt/format.go, strconv/quote.go, strconv/ftoa.go

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

_ESCAPES = {
    "\\": "\\\\",
    '"': '\\"',
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}
#: From this value on, and below 1e-4, Go writes an exponent.
_PLAIN = 1e6
_TYPES: dict[type, str] = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    dict: "map[string]interface {}",
    list: "[]interface {}",
}


def go_quote(text: str) -> str:
    r"""Quote a text as %q and strconv.Quote do.

    >>> print(go_quote('say "é"\n'))
    "say \"é\"\n"
    """
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(_escape, text))}"'


def go_quote_all(texts: Iterable[str]) -> str:
    """Quote a list of texts as %q does.

    >>> go_quote_all(["a", "b c"])
    '["a" "b c"]'
    """
    return f"[{' '.join(map(go_quote, texts))}]"


def go_text(value: Any) -> str:
    """Return a value as %v prints it.

    >>> go_text({"b": [1, None], "a": True, "c": {"x", "w"}})
    'map[a:true b:[1 <nil>] c:map[w:{} x:{}]]'
    """
    if isinstance(value, Mapping):
        return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
    if isinstance(value, set | frozenset):
        return f"map[{' '.join(f'{item}:{{}}' for item in sorted(value))}]"
    if isinstance(value, list | tuple):
        return f"[{' '.join(map(go_text, value))}]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    return go_float(value) if isinstance(value, float) else str(value)


def go_struct(fields: Mapping[str, Any]) -> str:
    """Return a struct as %+v prints it.

    >>> go_struct({"Name": "web", "Port": 80})
    '{Name:web Port:80}'
    """
    return f"{{{' '.join(f'{name}:{go_text(value)}' for name, value in fields.items())}}}"


def go_syntax(value: Any) -> str:
    """Return a value in Go's syntax, as %#v prints it.

    >>> go_syntax({"a": [1, None]})
    'map[string]interface {}{"a":[]interface {}{1, interface {}(nil)}}'
    """
    if isinstance(value, dict):
        inner = ", ".join(f"{go_quote(key)}:{go_syntax(value[key])}" for key in sorted(value))
        return f"{go_type(value)}{{{inner}}}"
    if isinstance(value, list):
        return f"{go_type(value)}{{{', '.join(map(go_syntax, value))}}}"
    if value is None:
        return "interface {}(nil)"
    return go_quote(value) if isinstance(value, str) else go_text(value)


def go_type(value: Any) -> str:
    """Return the Go type of a decoded value that is not null, as %T prints it."""
    return next(_TYPES[kind] for kind in type(value).__mro__ if kind in _TYPES)


def go_float(number: float, bits: int = 64) -> str:
    """Return a number of 32 or 64 bits with the fewest digits that identify it, as %g does.

    >>> go_float(1.5), go_float(1e6), go_float(0.1, bits=32)
    ('1.5', '1e+06', '0.1')
    """
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "+Inf" if number > 0 else "-Inf"
    if bits == 64 and abs(number) < _PLAIN:
        # Up to here Python prints the same digits, and is much faster.
        return repr(number).removesuffix(".0")
    shortest = Decimal(repr(number) if bits == 64 else _shortest_32(number))
    digits, _, exponent = f"{shortest.normalize():e}".partition("e")
    power = int(exponent)
    if -4 <= power < 6:
        return f"{shortest.normalize():f}"
    return f"{digits}e{'-' if power < 0 else '+'}{abs(power):02d}"


def go_json(value: Any) -> str:
    """Return a decoded value as JSON without spaces, in the order of its keys.

    >>> go_json({"b": "<é>", "a": [1, None]})
    '{"b":"<é>","a":[1,null]}'
    """
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def json_type(value: Any) -> str:
    """Return what errors of encoding/json call a value: "number", "object"."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    if value is None:
        return "null"
    return "object" if isinstance(value, dict) else "array"


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    if char < "\x80":
        return f"\\x{ord(char):02x}"
    return f"\\u{ord(char):04x}" if char <= "\uffff" else f"\\U{ord(char):08x}"


def _shortest_32(number: float) -> str:
    rounded = _float_32(number)
    texts = (f"{number:.{digits}g}" for digits in range(1, 10))
    return next(text for text in texts if _float_32(float(text)) == rounded)


def _float_32(number: float) -> float:
    try:
        rounded: float = struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return math.inf
    return rounded
