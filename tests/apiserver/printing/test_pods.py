from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.printing.pods import PRINTERS
from tests.apiserver.printing.rows import row

TWO = {"containers": [{"name": "a"}, {"name": "b"}]}
SIDECAR = {
    "containers": [{"name": "a"}],
    "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
}
RUNS: dict[str, Any] = {"ready": True, "state": {"running": {}}}


def _ended(code: int, **more: Any) -> dict[str, Any]:
    return {"state": {"terminated": {"exitCode": code, **more}}}


def _waits(reason: str) -> dict[str, Any]:
    return {"state": {"waiting": {"reason": reason}}}


def _true(*types: str) -> list[dict[str, str]]:
    return [{"type": one, "status": "True"} for one in types]


PODS: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "a pending pod": (
        {"spec": TWO, "status": {"phase": "Pending"}},
        ["0/2", "Pending", "0"],
    ),
    "a running pod": (
        {
            "spec": TWO | {"nodeName": "n"},
            "status": {
                "phase": "Running",
                "podIPs": [{"ip": "10.0.0.1"}],
                "containerStatuses": [{**RUNS, "name": "a"}, {**RUNS, "name": "b"}],
            },
        },
        ["2/2", "Running", "0"],
    ),
    "a gated pod": (
        {
            "spec": TWO,
            "status": {
                "phase": "Pending",
                "conditions": [
                    {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
                ],
            },
        },
        ["0/2", "SchedulingGated", "0"],
    ),
    "a pod that fails again and again": (
        {
            "spec": TWO,
            "status": {
                "phase": "Running",
                "containerStatuses": [
                    {
                        **_waits("CrashLoopBackOff"),
                        "restartCount": 3,
                        "lastState": {"terminated": {"finishedAt": "2026-01-01T11:58:30Z"}},
                    },
                    RUNS,
                ],
            },
        },
        ["1/2", "CrashLoopBackOff", "3 (90s ago)"],
    ),
    "a pod that has ended": (
        {
            "spec": TWO,
            "status": {"phase": "Succeeded", "containerStatuses": [_ended(0, reason="Completed")]},
        },
        ["0/2", "Completed", "0"],
    ),
    "a container ended by a signal": (
        {"spec": TWO, "status": {"phase": "Failed", "containerStatuses": [_ended(1, signal=9)]}},
        ["0/2", "Signal:9", "0"],
    ),
    "a container ended with a code": (
        {"spec": TWO, "status": {"phase": "Failed", "containerStatuses": [_ended(3)]}},
        ["0/2", "ExitCode:3", "0"],
    ),
    "one container ended well and the other runs": (
        {
            "spec": TWO,
            "status": {
                "phase": "Running",
                "conditions": _true("Ready"),
                "containerStatuses": [_ended(0, reason="Completed"), RUNS],
            },
        },
        ["1/2", "Running", "0"],
    ),
    "one container ended well and the pod is not ready": (
        {
            "spec": TWO,
            "status": {
                "phase": "Running",
                "containerStatuses": [_ended(0, reason="Completed"), RUNS],
            },
        },
        ["1/2", "NotReady", "0"],
    ),
    "one container ended well and the other badly": (
        {
            "spec": TWO,
            "status": {
                "phase": "Running",
                "containerStatuses": [_ended(0, reason="Completed"), _ended(1, reason="Error")],
            },
        },
        ["0/2", "Error", "0"],
    ),
    "init containers begin": (
        {
            "spec": SIDECAR,
            "status": {
                "phase": "Pending",
                "initContainerStatuses": [{"name": "i", "state": {"running": {}}}],
            },
        },
        ["0/2", "Init:0/2", "0"],
    ),
    "an init container waits": (
        {
            "spec": SIDECAR,
            "status": {
                "phase": "Pending",
                "initContainerStatuses": [{"name": "i", **_waits("ImagePullBackOff")}],
            },
        },
        ["0/2", "Init:ImagePullBackOff", "0"],
    ),
    "an init container failed": (
        {
            "spec": SIDECAR,
            "status": {
                "phase": "Pending",
                "initContainerStatuses": [{"name": "i", **_ended(2), "restartCount": 1}],
            },
        },
        ["0/2", "Init:ExitCode:2", "1"],
    ),
    "a sidecar runs": (
        {
            "spec": SIDECAR,
            "status": {
                "phase": "Running",
                "initContainerStatuses": [
                    {"name": "i", **_ended(0), "restartCount": 5},
                    {"name": "s", **RUNS, "started": True, "restartCount": 2},
                ],
                "containerStatuses": [RUNS],
            },
        },
        ["2/2", "Running", "2"],
    ),
    "initialized with an init container that runs again": (
        {
            "spec": SIDECAR,
            "status": {
                "phase": "Running",
                "conditions": _true("Initialized"),
                "initContainerStatuses": [{"name": "i", **_waits("PodInitializing")}],
                "containerStatuses": [RUNS],
            },
        },
        ["1/2", "Init:0/2", "0"],
    ),
    "a pod that is deleted": (
        {"metadata": {"deletionTimestamp": "t"}, "spec": TWO, "status": {"phase": "Running"}},
        ["0/2", "Terminating", "0"],
    ),
    "a pod that ended and is deleted": (
        {"metadata": {"deletionTimestamp": "t"}, "spec": TWO, "status": {"phase": "Failed"}},
        ["0/2", "Failed", "0"],
    ),
    "a pod whose node was lost": (
        {
            "metadata": {"deletionTimestamp": "t"},
            "spec": TWO,
            "status": {"phase": "Running", "reason": "NodeLost"},
        },
        ["0/2", "Unknown", "0"],
    ),
    "gates of readiness and a nomination": (
        {
            "spec": TWO | {"readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}]},
            "status": {
                "phase": "Pending",
                "nominatedNodeName": "m",
                "conditions": _true("a"),
            },
        },
        ["0/2", "Pending", "0"],
    ),
}


@pytest.mark.parametrize(("pod", "cells"), PODS.values(), ids=PODS)
def test_rows(pod: dict[str, Any], cells: list[Any]) -> None:
    assert row(PRINTERS, "/Pod", pod)[1:4] == cells


def test_wide_columns() -> None:
    status = {"podIPs": [{"ip": "10.0.0.1"}], "nominatedNodeName": "m", "conditions": _true("a")}
    gates = [{"conditionType": "a"}, {"conditionType": "b"}]
    found = row(
        PRINTERS, "/Pod", {"spec": {"nodeName": "n", "readinessGates": gates}, "status": status}
    )
    assert found[4:] == ["60m", "10.0.0.1", "n", "m", "1/2"]
    assert row(PRINTERS, "/Pod", {})[4:] == ["60m", *["<none>"] * 4]


@pytest.mark.parametrize(
    ("phase", "reasons"),
    [("Succeeded", ["Succeeded"]), ("Failed", ["Failed"]), ("Running", [])],
)
def test_a_row_says_that_a_pod_has_ended(phase: str, reasons: list[str]) -> None:
    conditions = PRINTERS["/Pod"].conditions({"status": {"phase": phase}})
    assert [one["reason"] for one in conditions] == reasons
    assert all(one["type"] == "Completed" for one in conditions)


def test_columns_after_the_age_are_wide() -> None:
    wide = {one.name: one.priority for one in PRINTERS["/Pod"].columns}
    assert [name for name, priority in wide.items() if not priority] == [
        "Name",
        "Ready",
        "Status",
        "Restarts",
        "Age",
    ]
