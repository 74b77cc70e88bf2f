"""The kinds of flag values: how each is parsed and printed, as Go's flags do."""

# kube-scheduler: github.com/spf13/pflag, component-base cli/flag

from __future__ import annotations

import csv
import io
import ipaddress
import re
import struct
from collections.abc import Callable
from typing import Any

import msgspec

from mooring.api import go_numbers
from mooring.api.durations import Duration
from mooring.api.go_format import go_float, go_quote, go_text
from mooring.api.go_numbers import parse_bool, parse_integer
from mooring.api.quantity import Quantity
from mooring.errors import ObjectError
from mooring.serve.serving_options import CertKey

_QUANTITY = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_CERT_KEY = "expected comma separated certificate and key file paths"


class ValueKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of value; `parse` raises ValueError with Go's message."""

    #: The word that help shows after the flag's name.
    word: str
    parse: Callable[[str], Any]
    show: Callable[[Any], str] = str
    #: The value of a flag that is given without one; None if a value is required.
    bare: str | None = None
    #: Whether repeating the flag extends a tuple or map; other values are replaced.
    grows: bool = False


def _integer(within: range, function: str = "ParseInt") -> Callable[[str], int]:
    return lambda text: parse_integer(text, within, function)


def _parse_float32(text: str) -> float:
    problem = f"strconv.ParseFloat: parsing {go_quote(text)}"
    try:
        # Python also accepts blanks and underscores, Go does not.
        value = float("" if re.search(r"[\s_]", text) else text)
    except ValueError:
        raise ValueError(f"{problem}: invalid syntax") from None
    try:
        # Only the standard sizes refuse what does not fit; the native ones make it infinite.
        packed: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        raise ValueError(f"{problem}: value out of range") from None
    return packed


def _parse_ip(text: str) -> str:
    text = text.strip()
    if not text:
        # pflag: ip.go keeps the default, which is this address for every flag of this kind.
        return "0.0.0.0"
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise ValueError(f"failed to parse IP: {go_quote(text)}") from None


def _split(text: str) -> list[str]:
    """Split at commas; an item that contains a comma is in double quotes."""
    if not text:
        return []
    try:
        return next(csv.reader(io.StringIO(text), strict=True))
    except (csv.Error, StopIteration):
        column = len(text) + 1
        raise ValueError(
            f'parse error on line 1, column {column}: extraneous or missing " in quoted-field'
        ) from None


def _parse_strings(text: str) -> tuple[str, ...]:
    return tuple(_split(text))


def _show_strings(values: tuple[Any, ...]) -> str:
    return f"[{','.join(str(value) for value in values)}]"


def _parse_map(text: str) -> dict[str, str]:
    # pflag: string_to_string.go: a single pair may contain commas, several are split.
    pairs = [text.strip('"')] if text.count("=") == 1 else _split(text)
    values = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"{pair} must be formatted as key=value")
        values[key] = value
    return values


def _show_map(values: dict[str, str]) -> str:
    return _show_strings(tuple(f"{key}={value}" for key, value in values.items()))


def _parse_vmodule(text: str) -> tuple[str, ...]:
    level = _integer(range(2**31), "ParseUint")
    for item in filter(None, text.split(",")):
        pattern, equals, number = item.partition("=")
        if not equals or not pattern or "=" in number:
            raise ValueError(f"{go_quote(item)} does not have the pattern=N format")
        try:
            level(number)
        except ValueError as error:
            raise ValueError(f"parsing verbosity in {go_quote(item)}: {error}") from None
    return tuple(filter(None, text.split(",")))


def _parse_quantity(text: str) -> Quantity:
    try:
        return Quantity(text)
    except ObjectError:
        raise ValueError(_QUANTITY) from None


def _parse_cert_key(text: str) -> tuple[CertKey, ...]:
    # component-base: cli/flag/namedcertkey_flag.go
    files, colon, names = text.partition(":")
    parts = [part.strip() for part in files.split(",")]
    if len(parts) != 2 or not all(parts):
        raise ValueError(_CERT_KEY)
    wanted = tuple(name.strip() for name in names.split(",")) if colon else ()
    if colon and not all(wanted):
        raise ValueError("empty names list is not allowed")
    return (CertKey(parts[0], parts[1], wanted),)


def _parse_version(text: str) -> str:
    if text == "raw":
        return text
    if text.startswith("v"):
        return text
    return go_text(parse_bool(text))


BOOL = ValueKind(word="", parse=parse_bool, show=go_text, bare="true")
STRING = ValueKind(word="string", parse=str)
STRINGS = ValueKind(word="strings", parse=_parse_strings, show=_show_strings, grows=True)
INT = ValueKind(word="int", parse=_integer(go_numbers.INT64))
INT32 = ValueKind(word="int32", parse=_integer(go_numbers.INT32))
INT32S = ValueKind(
    word="int32Slice",
    parse=lambda text: tuple(INT32.parse(item) for item in text.split(",")),
    show=_show_strings,
    grows=True,
)
FLOAT32 = ValueKind(
    word="float32", parse=_parse_float32, show=lambda value: go_float(value, bits=32)
)
DURATION = ValueKind(word="duration", parse=Duration.parse)
IP = ValueKind(word="ip", parse=_parse_ip)
STRING_MAP = ValueKind(word="stringToString", parse=_parse_map, show=_show_map, grows=True)
LEVEL = ValueKind(word="Level", parse=_integer(range(2**31), "ParseUint"))
VMODULE = ValueKind(word="pattern=N,...", parse=_parse_vmodule, show=",".join, grows=True)
QUANTITY = ValueKind(word="quantity", parse=_parse_quantity)
CERT_KEYS = ValueKind(
    word="namedCertKey", parse=_parse_cert_key, show=lambda keys: _show_keys(keys), grows=True
)
GATES = ValueKind(
    word="colonSeparatedMultimapStringString",
    parse=lambda text: tuple(filter(None, text.split(","))),
    show=",".join,
    grows=True,
)
VERSION = ValueKind(word="version[=true]", parse=_parse_version, bare="true")


def _show_keys(keys: tuple[CertKey, ...]) -> str:
    return f"[{';'.join(str(key) for key in keys)}]"


def check_livez_timeout(timeout: Duration) -> str:
    """Return what is wrong with a value of --livez-scheduling-cycle-timeout; "" if nothing is."""
    name = "livez-scheduling-cycle-timeout"
    return "" if timeout.seconds > 0 else f"--{name} {timeout} must be greater than 0"


def check_response_size(size: Quantity) -> str:
    """Return what is wrong with a value of --extender-max-response-size; "" if nothing is."""
    if 1 <= size.value() <= 2**30:
        return ""
    return f"--extender-max-response-size must be from 1 byte to 1Gi, got {size}"


def check_explain_memory(size: Quantity) -> str:
    """Return what is wrong with a value of --explain-memory; "" if nothing is."""
    if size.value() >= 0:
        return ""
    return f"--explain-memory must be a size, or 0 to keep nothing, got {size}"
