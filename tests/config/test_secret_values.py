"""Secrets of a configuration."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.config.secret_values import LEFT_OUT, without_secrets


@pytest.mark.parametrize(
    ("field", "value", "left"),
    [
        ("token", "s3cret", LEFT_OUT),
        ("keyData", "s3cret", LEFT_OUT),
        ("clientSecret", "s3cret", LEFT_OUT),
        ("bearerToken", "", ""),
        ("tokenBudget", "12", "12"),
        ("password", 3, 3),
        ("address", "http://me:s3cret@host:9090/x", "http://host:9090/x"),
        ("watcherAddress", "me:s3cret@host:9090", "host:9090"),
        ("urlPrefix", "https://host/a?key=s3cret", "https://host/a?key=…"),
        ("anything", "https://me@host", "https://host"),
        ("owner", "me@example.com", "me@example.com"),
        ("tokens", ["kept"], ["kept"]),
        ("secret", ["s3cret"], [LEFT_OUT]),
    ],
)
def test_secrets_are_left_out_and_addresses_shortened(field: str, value: Any, left: Any) -> None:
    assert without_secrets({"args": [{field: value}]}) == {"args": [{field: left}]}
