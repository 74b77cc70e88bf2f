from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.api.durations import Duration

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("15s", 15 * SECOND),
        ("1h30m", 5400 * SECOND),
        ("1.5s", 1_500_000_000),
        (".5s", 500_000_000),
        ("5.s", 5 * SECOND),
        ("100ms", 100_000_000),
        ("2us3µs4μs", 9_000),
        ("-2m", -120 * SECOND),
        ("+7ns", 7),
        ("0.0000000001s", 0),
    ],
)
def test_gos_notation_is_read(text: str, nanoseconds: int) -> None:
    assert Duration.parse(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        ("s", 'time: invalid duration "s"'),
        (".s", 'time: invalid duration ".s"'),
        ("5", 'time: missing unit in duration "5"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("1 s", 'time: unknown unit " s" in duration "1 s"'),
        ("5s3", 'time: missing unit in duration "5s3"'),
        ("99999999999h", 'time: invalid duration "99999999999h"'),
    ],
)
def test_anything_else_is_refused_in_gos_words(text: str, error: str) -> None:
    with pytest.raises(ValueError) as raised:
        Duration.parse(text)
    assert str(raised.value) == error


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1_500, "1.5µs"),
        (2_000_000, "2ms"),
        (SECOND, "1s"),
        (90 * SECOND, "1m30s"),
        (600 * SECOND, "10m0s"),
        (3600 * SECOND, "1h0m0s"),
        (-1_500_000_000, "-1.5s"),
    ],
)
def test_a_duration_prints_as_go_prints_it(nanoseconds: int, text: str) -> None:
    assert str(Duration(nanoseconds)) == text


@given(st.integers(min_value=-(2**63) + 1, max_value=2**63 - 1))
def test_what_is_printed_reads_back(nanoseconds: int) -> None:
    assert Duration.parse(str(Duration(nanoseconds))) == nanoseconds


def test_seconds_are_for_clocks() -> None:
    assert Duration.from_seconds(2.5).seconds == 2.5
    assert repr(Duration.from_seconds(2)) == "Duration.parse('2s')"
