"""Pods that are added and removed on trial."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing import broken


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (broken.HasNoAddPod, "add_pod equals a recompute|remove_pod equals a recompute"),
        (broken.HasNoRemovePod, "remove_pod undoes add_pod|remove_pod equals a recompute"),
        (broken.SharesItsState, r"leaves the original state alone: .* clone\(\)"),
        (broken.AddPodRaises, "add_pod raises nothing: LookupError: no such node|remove_pod"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_broken_promise_is_named(plugin: Any, message: str) -> None:
    broken.check(plugin, message)
