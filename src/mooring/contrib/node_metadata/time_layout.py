"""Times written in a layout of Go's `time` package, such as "2006-01-02T15:04:05Z07:00"."""

# go: src/time/format.go

from __future__ import annotations

import re
from calendar import timegm

RFC3339 = "2006-01-02T15:04:05Z07:00"

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _names(names: tuple[str, ...], length: int | None = None) -> str:
    return "|".join(name[:length] for name in names)


#: The parts of a layout, longer ones before those that they begin with.
_PARTS: tuple[tuple[str, str], ...] = (
    ("January", f"(?P<month_name>{_names(_MONTHS)})"),
    ("Jan", f"(?P<month_short>{_names(_MONTHS, 3)})"),
    ("Monday", f"(?:{_names(_DAYS)})"),
    ("Mon", f"(?:{_names(_DAYS, 3)})"),
    ("MST", r"(?P<zone_name>[A-Z]{3,5}|[+-]\d\d)"),
    ("2006", r"(?P<year>\d{4})"),
    ("-07:00:00", r"(?P<offset>[+-]\d\d:\d\d:\d\d)"),
    ("-07:00", r"(?P<offset>[+-]\d\d:\d\d)"),
    ("-070000", r"(?P<offset>[+-]\d{6})"),
    ("-0700", r"(?P<offset>[+-]\d{4})"),
    ("-07", r"(?P<offset>[+-]\d\d)"),
    ("Z07:00:00", r"(?P<offset>Z|[+-]\d\d:\d\d:\d\d)"),
    ("Z07:00", r"(?P<offset>Z|[+-]\d\d:\d\d)"),
    ("Z070000", r"(?P<offset>Z|[+-]\d{6})"),
    ("Z0700", r"(?P<offset>Z|[+-]\d{4})"),
    ("Z07", r"(?P<offset>Z|[+-]\d\d)"),
    ("002", r"(?P<day_of_year>\d{3})"),
    ("01", r"(?P<month>\d\d)"),
    ("02", r"(?P<day>\d\d)"),
    ("03", r"(?P<hour12>\d\d)"),
    ("04", r"(?P<minute>\d\d)"),
    ("05", r"(?P<second>\d\d)"),
    ("06", r"(?P<year2>\d\d)"),
    ("15", r"(?P<hour>\d\d)"),
    ("_2", r" ?(?P<day>\d{1,2})"),
    ("PM", r"(?P<half>AM|PM)"),
    ("pm", r"(?P<half>am|pm)"),
    ("1", r"(?P<month>\d{1,2})"),
    ("2", r"(?P<day>\d{1,2})"),
    ("3", r"(?P<hour12>\d{1,2})"),
    ("4", r"(?P<minute>\d{1,2})"),
    ("5", r"(?P<second>\d{1,2})"),
)
_FRACTION = re.compile(r"[.,](0+|9+)(?!\d)")


class TimeLayout:
    """A layout, and the times that are written in it.

    >>> TimeLayout("2006-01-02 15:04").parse("1970-01-02 00:01")
    86460.0
    """

    def __init__(self, layout: str = RFC3339) -> None:
        """Raise ValueError for a layout that has a part twice."""
        try:
            self._pattern = re.compile(_pattern_of(layout), re.ASCII)
        except re.error as error:
            raise ValueError(f'"{layout}" is no layout of a time: {error}') from None

    def parse(self, text: str) -> float | None:
        """Return seconds since the epoch, or None if the text has another form."""
        match = self._pattern.fullmatch(text)
        if match is None:
            return None
        found = {name: value for name, value in match.groupdict().items() if value is not None}
        date = _date(found)
        hour = _hour(found)
        minute, second = int(found.get("minute", "0")), int(found.get("second", "0"))
        if date is None or hour is None or minute > 59 or second > 59:
            return None
        offset = _offset(found.get("offset", "Z"))
        if offset is None:
            return None
        digits = found.get("fraction", "")
        fraction = int(digits) / 10 ** len(digits) if digits else 0.0
        return timegm((*date, hour, minute, second)) - offset + fraction


def _pattern_of(layout: str) -> str:
    pattern: list[str] = []
    at = 0
    while at < len(layout):
        fraction = _FRACTION.match(layout, at)
        if fraction is not None and pattern and "second" in pattern[-1]:
            length = len(fraction[1])
            digits = rf"\d{{{length}}}" if fraction[1][0] == "0" else r"\d+"
            optional = "" if fraction[1][0] == "0" else "?"
            pattern.append(rf"(?:[.,](?P<fraction>{digits})){optional}")
            at = fraction.end()
            continue
        for part, expression in _PARTS:
            if layout.startswith(part, at):
                pattern.append(expression)
                if "second" in expression and _FRACTION.match(layout, at + len(part)) is None:
                    # A fraction of a second is read even if the layout has none.
                    pattern.append(r"(?:[.,](?P<fraction>\d+))?")
                at += len(part)
                break
        else:
            pattern.append(re.escape(layout[at]))
            at += 1
    return "".join(pattern)


def _date(found: dict[str, str]) -> tuple[int, int, int] | None:
    year = int(found.get("year", "0"))
    if "year2" in found:
        year = int(found["year2"])
        # Go: 69 to 99 mean 1969 to 1999, and 00 to 68 mean 2000 to 2068.
        year += 1900 if year >= 69 else 2000
    month = int(found.get("month", "1"))
    if "month_name" in found:
        month = _MONTHS.index(found["month_name"]) + 1
    elif "month_short" in found:
        month = [name[:3] for name in _MONTHS].index(found["month_short"]) + 1
    day = int(found.get("day", "1"))
    if "day_of_year" in found:
        length = 366 if _is_leap(year) else 365
        number = int(found["day_of_year"])
        return (year, 1, number) if 1 <= number <= length else None
    if not 1 <= month <= 12 or not 1 <= day <= _days_in(year, month):
        return None
    return year, month, day


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days_in(year: int, month: int) -> int:
    if month == 2:
        return 29 if _is_leap(year) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _hour(found: dict[str, str]) -> int | None:
    if "hour12" not in found:
        hour = int(found.get("hour", "0"))
        return hour if hour < 24 else None
    hour = int(found["hour12"])
    if hour > 12:
        return None
    half = found.get("half", "").upper()
    if half == "PM" and hour < 12:
        return hour + 12
    return 0 if half == "AM" and hour == 12 else hour


def _offset(text: str) -> int | None:
    """Return how many seconds a zone is ahead of UTC."""
    if text == "Z":
        return 0
    digits = text[1:].replace(":", "")
    hours, minutes, seconds = int(digits[:2]), int(digits[2:4] or "0"), int(digits[4:6] or "0")
    if hours > 24 or minutes > 59 or seconds > 59:
        return None
    total = hours * 3600 + minutes * 60 + seconds
    return -total if text[0] == "-" else total
