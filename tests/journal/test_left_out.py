"""What stands for what a journal leaves out."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from mooring.journal.left_out import SECRETS, bare_secret, digest, is_secret


def test_a_digest_depends_on_the_content_alone() -> None:
    assert digest(b"one") == digest(b"one") != digest(b"two")
    assert len(digest(b"")) == 32


@pytest.mark.parametrize(
    ("raw", "kind", "expected"),
    [
        ({"apiVersion": "v1", "kind": "Secret"}, "", True),
        ({}, SECRETS, True),
        ({"apiVersion": "example.com/v1", "kind": "Secret"}, "", False),
        ({"apiVersion": "v1", "kind": "ConfigMap"}, "configmaps.v1.", False),
    ],
)
def test_secrets_are_known_by_their_kind_or_resource(
    raw: dict[str, Any], kind: str, expected: bool
) -> None:
    assert is_secret(raw, kind) is expected


def test_a_secret_keeps_its_keys() -> None:
    found = bare_secret(
        {
            "kind": "Secret",
            "type": "Opaque",
            "metadata": {"name": "db", "labels": {"a": "b"}, "annotations": {"token": "x"}},
            "data": {"password": "x", "user": "y"},
            "stringData": {"more": "x"},
            "unknown": "x",
        }
    )
    assert found["metadata"]["labels"] == {"a": "b"}
    values = (found["data"], found["stringData"], found["metadata"]["annotations"])
    assert [list(one) for one in values] == [["password", "user"], ["more"], ["token"]]
    password, user = found["data"].values()
    assert password == found["stringData"]["more"] != user
    assert len(base64.b64decode(password)) == 16
    assert "unknown" not in found


@pytest.mark.parametrize("broken", [None, "text", ["a"], 3], ids=str)
def test_values_that_are_no_map_are_left_out(broken: Any) -> None:
    found = bare_secret({"kind": "Secret", "metadata": broken, "data": broken})
    assert found == {"kind": "Secret", "data": {}}
