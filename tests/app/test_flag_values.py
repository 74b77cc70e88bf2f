"""The values of flags, as Go reads and prints them."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api.durations import Duration
from mooring.api.quantity import Quantity
from mooring.app import flag_values
from mooring.app.flag_values import ValueKind, go_quote
from mooring.serve.serving_options import CertKey


@pytest.mark.parametrize(
    ("kind", "text", "value", "shown"),
    [
        (flag_values.BOOL, "T", True, "true"),
        (flag_values.BOOL, "0", False, "false"),
        (flag_values.STRING, "a,b", "a,b", "a,b"),
        (flag_values.STRINGS, 'a,"b,c"', ("a", "b,c"), "[a,b,c]"),
        (flag_values.STRINGS, "", (), "[]"),
        (flag_values.INT, "-9223372036854775808", -(2**63), "-9223372036854775808"),
        (flag_values.INT32, "+7", 7, "7"),
        (flag_values.INT32S, "1,-2", (1, -2), "[1,-2]"),
        (flag_values.FLOAT32, "50", 50.0, "50"),
        (flag_values.FLOAT32, "0.5", 0.5, "0.5"),
        (flag_values.DURATION, "1m30s", Duration.from_seconds(90), "1m30s"),
        (flag_values.IP, " ::1 ", "::1", "::1"),
        (flag_values.IP, "", "0.0.0.0", "0.0.0.0"),
        (flag_values.STRING_MAP, "a=1,b=2", {"a": "1", "b": "2"}, "[a=1,b=2]"),
        (flag_values.STRING_MAP, "a=1,2", {"a": "1,2"}, "[a=1,2]"),
        (flag_values.LEVEL, "5", 5, "5"),
        (flag_values.VMODULE, "a=1,,b*=2", ("a=1", "b*=2"), "a=1,b*=2"),
        (flag_values.QUANTITY, "1Gi", Quantity("1Gi"), "1Gi"),
        (flag_values.CERT_KEYS, "a.crt, a.key", (CertKey("a.crt", "a.key"),), "[a.crt,a.key]"),
        (
            flag_values.CERT_KEYS,
            "a,b:x,y",
            (CertKey("a", "b", ("x", "y")),),
            "[a,b:x,y]",
        ),
        (flag_values.GATES, "A=true,,B=false", ("A=true", "B=false"), "A=true,B=false"),
        (flag_values.VERSION, "raw", "raw", "raw"),
        (flag_values.VERSION, "v1.2", "v1.2", "v1.2"),
        (flag_values.VERSION, "1", "true", "true"),
    ],
)
def test_a_value_is_read_and_shown(kind: ValueKind, text: str, value: Any, shown: str) -> None:
    found = kind.parse(text)
    assert found == value
    assert kind.show(found) == shown


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (flag_values.BOOL, "yes", 'strconv.ParseBool: parsing "yes": invalid syntax'),
        (flag_values.INT, "1.5", 'strconv.ParseInt: parsing "1.5": invalid syntax'),
        (flag_values.INT, "", 'strconv.ParseInt: parsing "": invalid syntax'),
        (flag_values.INT, "\u0663", 'strconv.ParseInt: parsing "\u0663": invalid syntax'),
        (flag_values.INT32, "2147483648", "value out of range"),
        (flag_values.LEVEL, "-1", 'strconv.ParseUint: parsing "-1": invalid syntax'),
        (flag_values.FLOAT32, "fast", 'strconv.ParseFloat: parsing "fast": invalid syntax'),
        (flag_values.FLOAT32, "1_0", "invalid syntax"),
        (flag_values.FLOAT32, "1e39", "value out of range"),
        (flag_values.IP, "here", 'failed to parse IP: "here"'),
        (flag_values.STRINGS, 'a,"b', 'extraneous or missing " in quoted-field'),
        (flag_values.STRING_MAP, "a", "a must be formatted as key=value"),
        (flag_values.STRING_MAP, "a=1,b=2,c", "c must be formatted as key=value"),
        (flag_values.VMODULE, "a", '"a" does not have the pattern=N format'),
        (flag_values.VMODULE, "a=b=1", '"a=b=1" does not have the pattern=N format'),
        (flag_values.VMODULE, "a=x", 'parsing verbosity in "a=x": strconv.ParseUint'),
        (flag_values.QUANTITY, "much", "quantities must match the regular expression"),
        (flag_values.CERT_KEYS, "a", "expected comma separated certificate and key file paths"),
        (flag_values.CERT_KEYS, "a,", "expected comma separated certificate and key file paths"),
        (flag_values.CERT_KEYS, "a,b:", "empty names list is not allowed"),
        (flag_values.VERSION, "maybe", 'strconv.ParseBool: parsing "maybe": invalid syntax'),
    ],
)
def test_a_value_that_cannot_be_read_is_told_in_gos_words(
    kind: ValueKind, text: str, message: str
) -> None:
    with pytest.raises(ValueError) as refused:
        kind.parse(text)
    assert message in str(refused.value)


def test_texts_are_quoted_as_go_quotes_them() -> None:
    assert go_quote('a"b\\c') == '"a\\"b\\\\c"'


def test_a_boolean_needs_no_value() -> None:
    assert flag_values.BOOL.bare == "true"
    assert flag_values.STRING.bare is None
