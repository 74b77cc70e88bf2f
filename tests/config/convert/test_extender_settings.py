"""Extenders as older files wrote them."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.config.convert import convert


def policy(**fields: Any) -> dict[str, Any]:
    return {"kind": "Policy", "apiVersion": "v1", **fields}


def test_the_keys_of_an_extender_are_read_whatever_their_case() -> None:
    extender = {
        "URLPrefix": "https://e",
        "enableHTTPS": True,
        "TLSConfig": {"CAFile": "ca.crt", "Nonsense": 1},
        "managedResources": [{"Name": "example.com/a"}],
        "timeout": 3,
    }
    converted = convert(policy(extenders=[extender]))
    assert converted.doc_v1["extenders"] == [
        {
            "urlPrefix": "https://e",
            "enableHTTPS": True,
            "tlsConfig": {"caFile": "ca.crt"},
            "managedResources": [{"name": "example.com/a"}],
        }
    ]
    assert [one for one in converted.warnings if "unknown field" in one] == [
        'extenders[0].TLSConfig.Nonsense: unknown field "Nonsense" is left out, as kube-scheduler '
        "did",
        'extenders[0].timeout: unknown field "timeout" is left out, as kube-scheduler did',
    ]


@pytest.mark.parametrize(
    ("nanoseconds", "text"), [(0, "0s"), (1, "1ns"), (5_000_000, "5ms"), (90_000_000_000, "1m30s")]
)
def test_the_timeout_of_an_extender_is_nanoseconds(nanoseconds: int, text: str) -> None:
    (extender,) = convert(policy(extenders=[{"httpTimeout": nanoseconds}])).doc_v1["extenders"]
    assert extender["httpTimeout"] == text
