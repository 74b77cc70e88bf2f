"""Definitions with invalid patterns."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api.field_errors import FieldError
from mooring.apiserver.validation.definitions import check_definition


def _definition(spec: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    return {
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": names,
            "versions": [version],
        },
        "status": {"storedVersions": ["v1"]},
    }


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("^(a+)+$", ""),
        ("(", "missing closing ): `(`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
    ],
)
def test_a_pattern_is_checked_when_it_is_defined(pattern: str, why: str) -> None:
    found = check_definition(_definition({"type": "string", "pattern": pattern}))
    text = (
        f'Invalid value: "{pattern}": must be a valid regular expression, but isn\'t: '
        f"error parsing regexp: {why}"
    )
    path = "spec.validation.openAPIV3Schema.properties[spec].pattern"
    assert found == ([FieldError(path, text, "FieldValueInvalid")] if why else [])
