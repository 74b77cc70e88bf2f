"""Unquoted values in YAML."""

from __future__ import annotations

import math

import pytest

from mooring.api.yaml_values import read_plain, read_tagged
from mooring.errors import ObjectError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("y", True),
        ("off", False),
        ("True", True),
        ("nothing", "nothing"),
        ("12", 12),
        ("-12", -12),
        ("+12", 12),
        ("1_000", 1000),
        ("0644", 420),
        ("0o644", 420),
        ("0x1F", 31),
        ("0b101", 5),
        ("08", 8.0),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1e999", "1e999"),
        ("1:30", "1:30"),
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("100m", "100m"),
        ("-", "-"),
        ("18446744073709551616", 18446744073709551616.0),
        ("1.2.3", "1.2.3"),
        (".inf", math.inf),
    ],
)
def test_a_word_means_what_it_means_to_kubernetes(text, value):
    assert read_plain(text) == value
    assert type(read_plain(text)) is type(value)


def test_tags_are_obeyed():
    assert read_tagged("1", "tag:yaml.org,2002:str") == "1"
    assert read_tagged("1", "tag:yaml.org,2002:float") == 1.0
    for text, tag in (("x", "tag:yaml.org,2002:int"), ("x", "!mine"), ("x", "!!binary")):
        with pytest.raises(ObjectError, match="cannot read 'x' as"):
            read_tagged(text, tag)
