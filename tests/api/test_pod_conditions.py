"""Patches that write the condition of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import Condition, Pod, decode
from mooring.api.pod_conditions import condition_patch

NOW = 1767225600.0
WANTED = Condition(type="PodScheduled", status="False", reason="Unschedulable", message="no room")
WRITTEN = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "no room",
    "lastProbeTime": None,
    "lastTransitionTime": "2026-01-01T00:00:00Z",
    "observedGeneration": 3,
}
READY = {"type": "Ready", "status": "False"}
SAME = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "no room",
    "lastTransitionTime": "2025-12-31T00:00:00Z",
}
KEPT = {**WRITTEN, "lastTransitionTime": "2025-12-31T00:00:00Z"}
ORDER = "$setElementOrder/conditions"


def pod(*conditions: dict[str, Any]) -> Pod:
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "n", "generation": 3},
            "status": {"conditions": list(conditions)},
        }
    )


@pytest.mark.parametrize(
    ("conditions", "certain", "expected"),
    [
        pytest.param([], True, {"conditions": [WRITTEN]}, id="the first one is written"),
        pytest.param(
            [READY],
            True,
            {"conditions": [WRITTEN], ORDER: [{"type": "Ready"}, {"type": "PodScheduled"}]},
            id="a new one comes after the others",
        ),
        pytest.param(
            [{**SAME, "message": "other"}, READY],
            True,
            {"conditions": [KEPT], ORDER: [{"type": "PodScheduled"}, {"type": "Ready"}]},
            id="a known one keeps its place, and its time while the status stays",
        ),
        pytest.param(
            [{**SAME, "status": "True"}],
            True,
            {"conditions": [WRITTEN]},
            id="a new status has a new time",
        ),
        pytest.param([SAME], True, {}, id="what the pod has is not written"),
        pytest.param([SAME], False, {"conditions": [KEPT]}, id="unless that is not certain"),
    ],
)
def test_a_condition_is_patched(
    conditions: list[dict[str, Any]], certain: bool, expected: dict[str, Any]
) -> None:
    assert condition_patch(pod(*conditions), WANTED, NOW, certain=certain) == expected
