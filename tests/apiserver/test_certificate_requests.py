from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.certificate_requests import prepare_part
from tests.apiserver.api_server import ApiServer

NOW, EARLIER = "2026-01-01T00:00:00Z", "2025-01-01T00:00:00Z"


def condition(type: str, reason: str = "r", when: str = EARLIER) -> dict[str, Any]:
    dates = {"lastUpdateTime": when, "lastTransitionTime": when} if when else {}
    return {"type": type, "status": "True", "reason": reason, **dates}


def prepared(subresource: str, status: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Return the status after a write of a subresource."""
    request = {"status": status}
    prepare_part(ApiServer().cluster, request, {"status": before}, subresource)
    return dict(request["status"])


def test_approval_changes_conditions_alone() -> None:
    before = {"certificate": "old", "conditions": [condition("Failed")]}
    status = {"certificate": "new", "conditions": [condition("Failed"), condition("Approved")]}
    assert prepared("approval", status, before) == status | {"certificate": "old"}
    assert prepared("approval", {}, before) == {"certificate": "old"}


def test_status_keeps_the_approval() -> None:
    before = {"conditions": [condition("Failed"), condition("Approved")]}
    status = {"certificate": "new", "conditions": [condition("Approved", "other")]}
    assert prepared("status", status, before) == {
        "certificate": "new",
        "conditions": [condition("Approved")],
    }


@pytest.mark.parametrize("subresource", ["approval", "status"])
def test_conditions_are_dated(subresource: str) -> None:
    status = {"conditions": [condition("Failed", when="")]}
    (made,) = prepared(subresource, status, {})["conditions"]
    assert made == condition("Failed", when=NOW)
    again = {"conditions": [condition("Failed", "other", when="")]}
    (made,) = prepared(subresource, again, {"conditions": [condition("Failed")]})["conditions"]
    assert made == condition("Failed", "other") | {"lastUpdateTime": NOW}
