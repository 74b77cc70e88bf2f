"""A breach of contract becomes an error that names plugin, point and node."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.framework.contract_errors import fault, wrong_type
from mooring.framework.points import Point
from mooring.framework.state import StateNotFoundError


@pytest.mark.parametrize(
    ("error", "node", "text"),
    [
        (ValueError("boom"), "n1", "plugin A, point Filter, node n1: ValueError: boom"),
        (KeyError("cpu"), None, "plugin A, point Filter: KeyError: 'cpu'"),
        (StateNotFoundError("A"), "n1", "not found"),
    ],
    ids=["with a node", "without a node", "state that nobody wrote"],
)
def test_an_exception(error: Exception, node: str | None, text: str) -> None:
    try:
        raise error
    except Exception as caught:
        status = fault("A", Point.FILTER, caught, node)
    assert status.is_error
    assert status.plugin == "A"
    assert status.message == text
    assert "test_contract_errors.py" in status.traceback


@pytest.mark.parametrize(
    ("found", "described"),
    [
        (True, "bool True"),
        ("x" * 58, f"str '{'x' * 58}'"),
        ("x" * 59, f"str '{'x' * 55} ..."),
        ([1] * 50, f"list {str([1] * 50)[:56]} ..."),
    ],
    ids=["short", "as long as may be", "a character too long", "cut where it is long"],
)
def test_a_wrong_type(found: Any, described: str) -> None:
    status = wrong_type("A", Point.PERMIT, "permit", "a Status or None", found, "n1")
    assert status.is_error
    assert status.message == (
        f"plugin A, point Permit, node n1: permit must return a Status or None, got {described}"
    )
