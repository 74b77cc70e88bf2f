"""Quantities: parsed, compared and printed as Kubernetes does."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.api.quantity import MAX_INT64, MIN_INT64, Quantity, milli_value, parse_nanos, value
from mooring.errors import MooringError, ObjectError

RECORDED = [
    json.loads(line)
    for line in (Path(__file__).parent / "data/quantities.jsonl").read_text().splitlines()
]


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: repr(row[0]))
def test_every_text_is_read_as_go_reads_it(row):
    if row[1] is None:
        with pytest.raises(ObjectError):
            Quantity(row[0])
        return
    text, canonical, whole, milli = row
    assert str(Quantity(text)) == canonical
    if whole is not None:
        assert value(text) == whole
    if milli is not None:
        assert milli_value(text) == milli


@pytest.mark.parametrize(
    ("text", "whole", "milli"),
    [
        pytest.param(1, 1, 1000, id="a JSON integer"),
        pytest.param(0.5, 1, 500, id="a JSON fraction rounds away from zero"),
        pytest.param(-0.5, -1, -500, id="a negative fraction rounds away from zero"),
        pytest.param(1e20, MAX_INT64, MAX_INT64, id="what does not fit stops at the end of int64"),
        pytest.param("-9e30", MIN_INT64, MIN_INT64, id="and at its other end"),
        pytest.param("10E", MAX_INT64, MAX_INT64, id="never wraps around to nothing"),
        pytest.param(" 1Gi ", 2**30, 2**30 * 1000, id="blanks around it do not matter"),
    ],
)
def test_numbers_and_ends(text, whole, milli):
    assert value(text) == whole
    assert milli_value(text) == milli


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1GiB", "'1GiB' is malformed"),
        ("-", "it has no digits"),
        ("Ki", "it has no digits"),
        ("1K", "unknown suffix 'K'"),
        ("1e999999999", "out of range"),
        ("1e99999999999999999999", "out of range"),
        (True, "it is a bool"),
        (None, "it is a NoneType"),
        (float("inf"), "'inf' is malformed"),
    ],
)
def test_a_malformed_quantity_says_what_was_expected(text, says):
    with pytest.raises(ObjectError) as caught:
        Quantity(text)
    assert says in str(caught.value)
    assert 'such as "100m", "1.5Gi" or "1e3"' in str(caught.value)


@given(st.text(alphabet="0123456789.+-eEinumkKMGTP ", max_size=12) | st.text(max_size=6))
def test_only_our_errors_escape(text):
    try:
        quantity = Quantity(text)
    except MooringError:
        return
    assert Quantity(str(quantity)) == quantity


suffixes = st.sampled_from(["", "n", "u", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "e-6"])
texts = st.builds(
    lambda whole, part, suffix: f"{whole}{'.' + part if part else ''}{suffix}",
    st.integers(0, 10**6),
    st.text(alphabet="0123456789", max_size=4),
    suffixes,
)


@given(texts)
def test_printing_and_reading_again_changes_nothing(text):
    quantity = Quantity(text)
    again = Quantity(str(quantity))
    assert again == quantity
    assert str(again) == str(quantity)


@given(texts, texts)
def test_order_sum_and_difference_are_those_of_the_amounts(left, right):
    a, b = Quantity(left), Quantity(right)
    x, y = Fraction(a.nanos), Fraction(b.nanos)
    assert (a < b, a == b, a > b) == (x < y, x == y, x > y)
    assert (a + b).nanos == x + y
    assert (a - b).nanos == x - y
    if a == b:
        assert hash(a) == hash(b)


@given(st.integers(-(10**30), 10**30))
def test_values_round_away_from_zero(nanos):
    quantity = Quantity.from_nanos(nanos)
    exact = Fraction(nanos, 10**9)
    if abs(exact) < MAX_INT64:
        assert 0 <= abs(quantity.value()) - abs(exact) < 1
        assert quantity.value() * exact >= 0
    else:
        assert quantity.value() in (MAX_INT64, MIN_INT64)


def test_a_sum_is_printed_like_its_first_part_and_zero_takes_the_other():
    assert str(Quantity("1Gi") + Quantity("1G")) == "2073741824"
    assert str(Quantity("1Ki") * 3) == "3Ki"
    assert str(Quantity(0) + Quantity("2Mi")) == "2Mi"
    assert str(-Quantity("100m")) == "-100m"
    assert not Quantity("0")
    assert repr(Quantity("0.5")) == "Quantity('500m')"


def test_amounts_finer_than_a_billionth_round_up():
    assert parse_nanos("0.0000000001") == 1
    assert parse_nanos("-0.0000000001") == -1
