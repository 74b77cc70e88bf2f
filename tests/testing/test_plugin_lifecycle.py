"""Args, queue order, Reserve and whole attempts of a plugin."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing import broken


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (broken.ArgsThatGrow, "args round-trip: .*seconds=5000000"),
        (broken.ArgsThatDoNotLoad, "args round-trip: .*seconds"),
        (broken.ChangesItsArgs, "args are not changed: .*seen=0.* became .*seen=[1-9]"),
        (broken.RollsDice, "the same input gives the same answer"),
        (broken.UnreservesTwice, "unreserve is idempotent: .*'reserved': 0.*'reserved': -1"),
        (broken.ForgetsToUnreserve, "unreserve takes back what reserve did"),
        (broken.UnreserveRaises, "unreserve raises nothing: StateNotFoundError"),
        (broken.LessBothWays, "less is an order"),
        (broken.OrdersDiffer, "less and sort_key agree"),
        (broken.PostBindRaises, r"(?s)point PostBind.*LookupError: no such pod.*broken\.py"),
        (broken.PermitsWithTrue, "point Permit.* permit must return a Status or None, got bool"),
        (broken.WaitsOutside, "waits for the outside"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_broken_promise_is_named(plugin: Any, message: str) -> None:
    broken.check(plugin, message)
