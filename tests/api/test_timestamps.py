"""Times as API objects carry them."""

from __future__ import annotations

import pytest

from mooring.api.timestamps import (
    canonical_micro_time,
    canonical_time,
    format_micro_time,
    format_micro_time_ns,
    format_time,
    format_time_ns,
    parse_time,
    parse_time_ns,
)
from mooring.errors import ObjectError


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        pytest.param(0.0, "1970-01-01T00:00:00Z", id="the epoch"),
        pytest.param(1_700_000_000.75, "2023-11-14T22:13:20Z", id="the fraction is dropped"),
        pytest.param(-0.5, "1969-12-31T23:59:59Z", id="before the epoch"),
        pytest.param(-62_135_596_800, "0001-01-01T00:00:00Z", id="a year of four digits"),
    ],
)
def test_times_are_written_to_the_second(seconds: float, text: str) -> None:
    assert format_time(seconds) == text
    assert format_time_ns(int(seconds * 10**9)) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "1970-01-01T00:00:00.000000Z"),
        (1_700_000_000.9999999, "2023-11-14T22:13:21.000000Z"),
        (951_782_400.000001, "2000-02-29T00:00:00.000001Z"),
    ],
)
def test_micro_times_carry_microseconds(seconds: float, text: str) -> None:
    assert format_micro_time(seconds) == text


def test_nanoseconds_are_cut_to_microseconds() -> None:
    assert format_micro_time_ns(999_999) == "1970-01-01T00:00:00.000999Z"
    assert format_micro_time_ns(-1) == "1969-12-31T23:59:59.999999Z"


@pytest.mark.parametrize("write", [format_time_ns, format_micro_time_ns])
def test_a_year_of_five_digits_cannot_be_written(write) -> None:
    with pytest.raises(OverflowError):
        write(253_402_300_800 * 10**9)


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        pytest.param("1970-01-01T00:00:00Z", 0, id="the epoch"),
        pytest.param("2024-02-29T12:00:00Z", 1709208000 * 10**9, id="a leap day"),
        pytest.param("1970-01-01T00:00:00.000001Z", 1000, id="a MicroTime"),
        pytest.param("1970-01-01T00:00:00,5Z", 500_000_000, id="a comma, as Go accepts it"),
        pytest.param("1970-01-01T00:00:00.123456789123Z", 123456789, id="finer than a nanosecond"),
        pytest.param("1970-01-01T02:00:00+02:00", 0, id="an offset to the east"),
        pytest.param("1969-12-31T19:00:00-05:00", 0, id="an offset to the west"),
    ],
)
def test_times_are_read(text, nanos):
    assert parse_time_ns(text) == nanos
    assert parse_time(text) == nanos / 1e9


@pytest.mark.parametrize(
    "text",
    [
        *("", "yesterday", "2024-01-01", "2024-13-01T00:00:00Z", "24", "0000-01-01T00:00:00Z"),
        *("2024-01-01t00:00:00z", "2023-02-29T00:00:00Z", "٢٠٢٤-01-01T00:00:00Z"),
    ],
)
def test_a_malformed_time_is_refused(text):
    with pytest.raises(ObjectError, match="time"):
        parse_time(text)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("2024-01-01T00:00:00.999Z", "2024-01-01T00:00:00Z"),
        ("2024-01-01T00:00:00-01:30", "2024-01-01T01:30:00Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    ],
)
def test_a_time_is_stored_in_utc_to_the_second(text: str, canonical: str) -> None:
    assert canonical_time(text) == canonical


def test_a_micro_time_is_stored_in_utc() -> None:
    assert canonical_micro_time("2024-01-01T01:00:00.500000+01:00") == "2024-01-01T00:00:00.500000Z"


LAYOUT = "2006-01-02T15:04:05Z07:00"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'é"',
            rf'parsing time "\xc3\xa9\"" as "{LAYOUT}": cannot parse "\xc3\xa9\"" as "2006"',
        ),
        ("soon", f'parsing time "soon" as "{LAYOUT}": cannot parse "soon" as "2006"'),
        (
            "2024-01-01",
            f'parsing time "2024-01-01" as "{LAYOUT}": cannot parse "" as "T"',
        ),
        (
            "2024-01-01T00:00:00",
            f'parsing time "2024-01-01T00:00:00" as "{LAYOUT}": cannot parse "" as "Z07:00"',
        ),
        (
            "2024-01-01T00:00:00Z!",
            'parsing time "2024-01-01T00:00:00Z!": extra text: "!"',
        ),
    ],
)
def test_a_malformed_time_gets_the_message_of_go(text: str, message: str) -> None:
    with pytest.raises(ValueError) as error:
        canonical_time(text)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("2024-13-01T24:00:00Z", "month"),
        ("2024-01-32T24:00:00Z", "hour"),
        ("2024-01-01T00:60:60Z", "minute"),
        ("2024-01-32T00:00:60Z", "second"),
        ("2024-01-32T00:00:00+25:00", "time zone offset hour"),
        ("2024-01-32T00:00:00+00:61", "time zone offset minute"),
        ("2023-02-29T00:00:00Z", "day"),
        ("0001-01-01T00:00:00+00:01", "year"),
    ],
)
def test_the_first_part_out_of_range_is_named(text: str, part: str) -> None:
    with pytest.raises(ValueError) as error:
        canonical_time(text)
    assert str(error.value) == f'parsing time "{text}": {part} out of range'


@pytest.mark.parametrize(
    ("fraction", "rest", "part"),
    [(".5Z", ".5Z", ".000000"), ("Z", "Z", ".000000"), (".1234567Z", "7Z", "Z07:00")],
    ids=["too few digits", "none", "too many digits"],
)
def test_a_micro_time_needs_six_digits(fraction: str, rest: str, part: str) -> None:
    text = f"2024-01-01T00:00:00{fraction}"
    with pytest.raises(ValueError) as error:
        canonical_micro_time(text)
    layout = "2006-01-02T15:04:05.000000Z07:00"
    assert str(error.value) == (
        f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{part}"'
    )
