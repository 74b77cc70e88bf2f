from __future__ import annotations

import pytest

from mooring.apiserver.validation.schedules import schedule_problems


@pytest.mark.parametrize(
    "schedule",
    [
        "* * * * *",
        "*/5 0-23/2 1,15 jan-DEC sun",
        "? ? ? ? ?",
        "0 0 1 1 0",
        "59 23 31 12 6",
        "10/5 * * * *",
        "1,,2 * * * *",
        "@hourly",
        "@every 1h30m",
        "TZ=Europe/Berlin 0 0 * * *",
        "CRON_TZ=UTC @daily",
    ],
)
def test_schedules(schedule: str) -> None:
    assert schedule_problems(schedule) == []


REFUSED = {
    "four fields": ("* * * *", ["expected exactly 5 fields, found 4: [* * * *]"]),
    "six fields": ("* * * * * *", ["expected exactly 5 fields, found 6: [* * * * * *]"]),
    "nothing": ("", ["expected exactly 5 fields, found 0: []"]),
    "a minute above 59": ("60 * * * *", ["end of range (60) above maximum (59): 60"]),
    "an hour above 23": ("* 24 * * *", ["end of range (24) above maximum (23): 24"]),
    "a day below 1": ("* * 0 * *", ["beginning of range (0) below minimum (1): 0"]),
    "a month above 12": ("* * * 13 *", ["end of range (13) above maximum (12): 13"]),
    "a weekday above 6": ("* * * * 7", ["end of range (7) above maximum (6): 7"]),
    "a range that ends before it begins": (
        "5-3 * * * *",
        ["beginning of range (5) beyond end of range (3): 5-3"],
    ),
    "a range of three parts": ("1-2-3 * * * *", ["too many hyphens: 1-2-3"]),
    "two steps": ("*/1/2 * * * *", ["too many slashes: */1/2"]),
    "a step of zero": ("*/0 * * * *", ["step of range should be a positive number: */0"]),
    "a name that is no month": (
        "* * * foo *",
        ['failed to parse int from foo: strconv.Atoi: parsing "foo": invalid syntax'],
    ),
    "a month's name in another field": (
        "* jan * * *",
        ['failed to parse int from jan: strconv.Atoi: parsing "jan": invalid syntax'],
    ),
    "a negative number": (
        "-1 * * * *",
        ['failed to parse int from : strconv.Atoi: parsing "": invalid syntax'],
    ),
    "a negative step": ("*/-1 * * * *", ["negative number (-1) not allowed: -1"]),
    "digits that are not ASCII": (
        "٣ * * * *",
        ['failed to parse int from ٣: strconv.Atoi: parsing "٣": invalid syntax'],
    ),
    "a number too large for Go": (
        "9999999999999999999 * * * *",
        [
            "failed to parse int from 9999999999999999999: strconv.Atoi: parsing "
            '"9999999999999999999": value out of range'
        ],
    ),
    "an unknown descriptor": ("@noon", ["unrecognized descriptor: @noon"]),
    "a bad duration": (
        "@every x",
        ['failed to parse duration @every x: time: invalid duration "x"'],
    ),
}


@pytest.mark.parametrize(("schedule", "expected"), REFUSED.values(), ids=REFUSED)
def test_texts_that_are_not_schedules(schedule: str, expected: list[str]) -> None:
    assert schedule_problems(schedule) == expected
