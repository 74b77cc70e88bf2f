from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.printing.pod_groups import PRINTERS
from tests.apiserver.printing.rows import row


def _condition(kind: str, status: str = "", reason: str = "") -> dict[str, Any]:
    return {"status": {"conditions": [{"type": kind, "status": status, "reason": reason}]}}


ROWS: dict[str, tuple[str, dict[str, Any], list[Any]]] = {
    "a gang that is scheduled": (
        "PodGroup",
        {
            "spec": {"schedulingPolicy": {"gang": {}}, "workloadRef": {"workloadName": "w"}},
            **_condition("PodGroupInitiallyScheduled", "True"),
        },
        ["x", "Gang", "w", "Scheduled", "60m"],
    ),
    "a group that cannot be scheduled": (
        "PodGroup",
        _condition("PodGroupInitiallyScheduled", "False"),
        ["x", "Basic", "<none>", "Unschedulable", "60m"],
    ),
    "a group that is disrupted": (
        "PodGroup",
        _condition("DisruptionTarget", "True", "Preempted"),
        ["x", "Basic", "<none>", "Preempted", "60m"],
    ),
    "a new group": (
        "PodGroup",
        {"spec": {"schedulingPolicy": {"basic": {}}}, "status": {}},
        ["x", "Basic", "<none>", "Pending", "60m"],
    ),
    "a composite group": (
        "CompositePodGroup",
        {"spec": {"schedulingPolicy": {"gang": {}}, "workloadRef": {"workloadName": "w"}}},
        ["x", "Gang", "w", "60m"],
    ),
    "a workload": ("Workload", {"spec": {}}, ["x", "60m"]),
}


@pytest.mark.parametrize(("kind", "obj", "cells"), ROWS.values(), ids=ROWS)
def test_rows(kind: str, obj: dict[str, Any], cells: list[Any]) -> None:
    assert row(PRINTERS, f"scheduling.k8s.io/{kind}", obj) == cells
