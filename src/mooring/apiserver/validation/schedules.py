"""The schedules of cron jobs, with the messages of the library that parses them."""

# robfig/cron: parser.go

from __future__ import annotations

from mooring.api.durations import Duration
from mooring.api.go_format import go_text
from mooring.api.go_numbers import INT64, parse_integer

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_FIELDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: i + 1 for i, name in enumerate(_MONTHS)}),
    (0, 6, {name: i for i, name in enumerate(_DAYS)}),
)
_DESCRIPTORS = frozenset(
    {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)
_EVERY = "@every "


def schedule_problems(schedule: str) -> list[str]:
    """Return why a text is not a schedule."""
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        schedule = schedule.partition(" ")[2].strip()
    try:
        if schedule.startswith("@"):
            _check_descriptor(schedule)
        else:
            _check_fields(schedule.split())
    except ValueError as error:
        return [str(error)]
    return []


def _check_descriptor(schedule: str) -> None:
    if schedule in _DESCRIPTORS:
        return
    if not schedule.startswith(_EVERY):
        raise ValueError(f"unrecognized descriptor: {schedule}")
    given = schedule[len(_EVERY) :]
    try:
        Duration.parse(given)
    except ValueError as why:
        raise ValueError(f"failed to parse duration {schedule}: {why}") from None


def _check_fields(fields: list[str]) -> None:
    if len(fields) != len(_FIELDS):
        raise ValueError(f"expected exactly 5 fields, found {len(fields)}: {go_text(fields)}")
    for field, bounds in zip(fields, _FIELDS, strict=True):
        for expression in filter(None, field.split(",")):
            _check_range(expression, *bounds)


def _check_range(expression: str, least: int, most: int, names: dict[str, int]) -> None:
    whole, *steps = expression.split("/")
    bounds = whole.split("-")
    if bounds[0] in ("*", "?"):
        start, end = least, most
    else:
        start = _number(bounds[0], names)
        if len(bounds) > 2:
            raise ValueError(f"too many hyphens: {expression}")
        end = _number(bounds[1], names) if len(bounds) == 2 else start
    if len(steps) > 1:
        raise ValueError(f"too many slashes: {expression}")
    step = _number(steps[0], {}) if steps else 1
    if steps and len(bounds) == 1:
        end = most
    if start < least:
        raise ValueError(f"beginning of range ({start}) below minimum ({least}): {expression}")
    if end > most:
        raise ValueError(f"end of range ({end}) above maximum ({most}): {expression}")
    if start > end:
        why = f"beginning of range ({start}) beyond end of range ({end})"
        raise ValueError(f"{why}: {expression}")
    if step == 0:
        raise ValueError(f"step of range should be a positive number: {expression}")


def _number(text: str, names: dict[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    try:
        number = parse_integer(text, INT64, "Atoi")
    except ValueError as error:
        raise ValueError(f"failed to parse int from {text}: {error}") from None
    if number < 0:
        raise ValueError(f"negative number ({number}) not allowed: {text}")
    return number
