"""Times as API objects carry them: RFC 3339 text, in UTC.

`format_time` writes a metav1.Time (whole seconds), `format_micro_time` a metav1.MicroTime (six
digits). `parse_time` reads both. The canonical functions read a time from a request body and return
it as kube-apiserver stores it; they raise ValueError with the message of Go's parser.
"""

# apimachinery: pkg/apis/meta/v1/time.go, micro_time.go; Go: time/format.go (Parse)

from __future__ import annotations

import datetime
import math
import re
from calendar import monthrange, timegm
from functools import lru_cache

from mooring.errors import ObjectError

TIME_LAYOUT = "2006-01-02T15:04:05Z07:00"
MICRO_TIME_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"

_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)
_EPOCH = datetime.datetime(1970, 1, 1)
#: The seconds since the epoch that can be written: the years 1 to 9999.
_SECONDS = range(-62_135_596_800, 253_402_300_800)
_MICRO_DIGITS = 6

#: The parts of a layout with the patterns they match, in order.
_TIME_PARTS = (
    *(("2006", r"\d{4}"), ("-", "-"), ("01", r"\d\d"), ("-", "-"), ("02", r"\d\d"), ("T", "T")),
    *(("15", r"\d\d"), (":", ":"), ("04", r"\d\d"), (":", ":"), ("05", r"\d\d(?:[.,]\d+)?")),
    ("Z07:00", r"Z|[+-]\d\d:\d\d"),
)
_MICRO_TIME_PARTS = (
    *_TIME_PARTS[:-2],
    *(("05", r"\d\d"), (".000000", r"[.,]\d{6}")),
    _TIME_PARTS[-1],
)


def format_time(seconds: float) -> str:
    """Write seconds since the epoch as a metav1.Time.

    >>> format_time(1700000000.25)
    '2023-11-14T22:13:20Z'
    """
    return f"{_second(math.floor(seconds))}Z"


def format_micro_time(seconds: float) -> str:
    """Write seconds since the epoch as a metav1.MicroTime.

    >>> format_micro_time(1700000000.25)
    '2023-11-14T22:13:20.250000Z'
    """
    return _micro_text(round(seconds * 1e6))


def format_time_ns(nanoseconds: int) -> str:
    """Write nanoseconds since the epoch as a metav1.Time."""
    return f"{_second(nanoseconds // 10**9)}Z"


def format_micro_time_ns(nanoseconds: int) -> str:
    """Write nanoseconds since the epoch as a metav1.MicroTime."""
    return _micro_text(nanoseconds // 1000)


@lru_cache(maxsize=65536)
def parse_time_ns(text: str) -> int:
    """Parse an RFC 3339 time into whole nanoseconds since the epoch."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ObjectError(f'time must look like "2006-01-02T15:04:05Z", got {text!r}')
    try:
        return _nanoseconds(match)
    except _RangeError:
        raise ObjectError(f"time is out of range: {text!r}") from None


@lru_cache(maxsize=65536)
def parse_time(text: str) -> float:
    """Parse an RFC 3339 time into seconds since the epoch."""
    return parse_time_ns(text) / 1e9


@lru_cache(maxsize=4096)
def canonical_time(text: str) -> str:
    """Return a metav1.Time as kube-apiserver stores it.

    >>> canonical_time("2024-01-01T02:00:00.5+02:00")
    '2024-01-01T00:00:00Z'
    """
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(_syntax_error(text, TIME_LAYOUT, _TIME_PARTS))
    return format_time_ns(_in_go_words(text, match))


@lru_cache(maxsize=4096)
def canonical_micro_time(text: str) -> str:
    """Return a metav1.MicroTime, which must have six digits, as kube-apiserver stores it."""
    match = _TIME.fullmatch(text)
    if match is None or len(match[7] or "") != _MICRO_DIGITS:
        raise ValueError(_syntax_error(text, MICRO_TIME_LAYOUT, _MICRO_TIME_PARTS))
    return format_micro_time_ns(_in_go_words(text, match))


# Most times are the present one, and formatting one takes several times as long as a lookup.
@lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    return (_EPOCH + datetime.timedelta(seconds=seconds)).isoformat()


def _micro_text(micros: int) -> str:
    return f"{_second(micros // 1_000_000)}.{micros % 1_000_000:06}Z"


class _RangeError(ValueError):
    """A part of a time is out of range; the text is the name of the part."""


def _in_go_words(text: str, match: re.Match[str]) -> int:
    try:
        return _nanoseconds(match)
    except _RangeError as part:
        raise ValueError(f'parsing time "{text}": {part} out of range') from None


def _nanoseconds(match: re.Match[str]) -> int:
    # Go's parser checks the day last.
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    fraction, sign, off_hours, off_minutes = match.groups()[6:]
    if not 1 <= month <= 12:
        raise _RangeError("month")
    if hour > 23:
        raise _RangeError("hour")
    if minute > 59:
        raise _RangeError("minute")
    if second > 59:
        raise _RangeError("second")
    offset = 0
    if sign:
        if int(off_hours) > 24:
            raise _RangeError("time zone offset hour")
        if int(off_minutes) > 60:
            raise _RangeError("time zone offset minute")
        offset = int(off_hours) * 3600 + int(off_minutes) * 60
    if year == 0:
        raise _RangeError("year")
    if not 1 <= day <= 28 and not 1 <= day <= monthrange(year, month)[1]:
        raise _RangeError("day")
    seconds = timegm((year, month, day, hour, minute, second))
    seconds -= offset if sign == "+" else -offset
    if seconds not in _SECONDS:
        raise _RangeError("year")
    return seconds * 10**9 + int(((fraction or "") + "000000000")[:9])


def _syntax_error(text: str, layout: str, parts: tuple[tuple[str, str], ...]) -> str:
    rest = text
    for part, pattern in parts:
        match = re.match(pattern, rest, re.ASCII)
        if match is None:
            found = f'{_quote(text)} as "{layout}": cannot parse {_quote(rest)} as "{part}"'
            return f"parsing time {found}"
        rest = rest[match.end() :]
    return f"parsing time {_quote(text)}: extra text: {_quote(rest)}"


def _quote(text: str) -> str:
    """Quote a text as Go's errors about times do: characters outside of ASCII as bytes."""
    shown = "".join(
        f"\\{one}" if one in '"\\' else one if " " <= one < "\x80" else _bytes_in_hex(one)
        for one in text
    )
    return f'"{shown}"'


def _bytes_in_hex(character: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))
