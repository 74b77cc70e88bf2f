from __future__ import annotations

from typing import Any

import pytest

from mooring.api import Pod
from mooring.api.kinds import decode_as
from mooring.kubelet.observed_status import observed, phase_of

WHEN = "2026-01-01T00:00:00Z"


def pod(policy: str = "Always", **spec: Any) -> Pod:
    given = {"containers": [{"name": "a", "image": "i"}], "restartPolicy": policy, **spec}
    return decode_as({"metadata": {"name": "p", "uid": "u", "generation": 2}, "spec": given}, Pod)


def _status(
    state: dict[str, Any], last: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    ready = "running" in state
    return {"name": "a", "state": state, "lastState": last or {}, "ready": ready, **more}


RUNS = _status({"running": {}})
WAITS = _status({"waiting": {"reason": "ContainerCreating"}})
DONE = _status({"terminated": {"exitCode": 0}})
FAILED = _status({"terminated": {"exitCode": 1}})
BACKS_OFF = _status({"waiting": {"reason": "CrashLoopBackOff"}}, {"terminated": {"exitCode": 1}})

PHASES: dict[str, tuple[str, list[dict[str, Any]], str]] = {
    "one has not started": ("Always", [RUNS, WAITS], "Pending"),
    "all run": ("Never", [RUNS, RUNS], "Running"),
    "one runs and one ended": ("Never", [RUNS, FAILED], "Running"),
    "all ended well": ("Never", [DONE, DONE], "Succeeded"),
    "all ended well, and restart": ("Always", [DONE], "Running"),
    "one failed for good": ("Never", [DONE, FAILED], "Failed"),
    "one failed and restarts": ("OnFailure", [DONE, FAILED], "Running"),
    "all ended well, on failure": ("OnFailure", [DONE], "Succeeded"),
    "one waits for its restart": ("OnFailure", [BACKS_OFF], "Running"),
    "no containers": ("Never", [], "Running"),
}


@pytest.mark.parametrize(("policy", "statuses", "phase"), PHASES.values(), ids=PHASES)
def test_phases(policy: str, statuses: list[dict[str, Any]], phase: str) -> None:
    assert phase_of(pod(policy), statuses) == phase


def _conditions(found: dict[str, Any]) -> dict[str, tuple[str, str | None]]:
    return {one["type"]: (one["status"], one["reason"]) for one in found["conditions"]}


def test_a_pod_that_runs() -> None:
    found = observed(pod(), ("1", "2"), WHEN, [RUNS], sandbox=True)
    assert (found["phase"], found["podIP"], found["hostIP"]) == ("Running", "2", "1")
    assert found["startTime"] == WHEN
    assert set(_conditions(found).values()) == {("True", None)}
    assert found["initContainerStatuses"] == []


def test_a_pod_whose_volume_is_missing() -> None:
    found = observed(pod(), ("1", "2"), WHEN, [WAITS], sandbox=False)
    assert "podIP" not in found and "initContainerStatuses" not in found
    conditions = _conditions(found)
    assert conditions["PodReadyToStartContainers"] == ("False", None)
    assert conditions["Ready"] == ("False", "ContainersNotReady")
    messages = {one["type"]: one["message"] for one in found["conditions"]}
    assert messages["ContainersReady"] == "containers with unready status: [a]"


@pytest.mark.parametrize(
    ("status", "reason"), [(DONE, "PodCompleted"), (FAILED, "PodFailed")], ids=["well", "badly"]
)
def test_a_pod_that_has_ended(status: dict[str, Any], reason: str) -> None:
    found = observed(pod("Never"), ("1", "2"), WHEN, [status], sandbox=True)
    conditions = _conditions(found)
    assert conditions["Ready"] == conditions["ContainersReady"] == ("False", reason)
    assert conditions["PodReadyToStartContainers"] == ("False", None)
    assert conditions["Initialized"] == ("True", reason if status is DONE else None)


def test_a_gate_that_is_closed() -> None:
    gated = pod(readinessGates=[{"conditionType": "a.io/x"}])
    found = observed(gated, ("1", "2"), WHEN, [RUNS], sandbox=True)
    conditions = _conditions(found)
    assert conditions["Ready"] == ("False", "ReadinessGatesNotReady")
    assert conditions["ContainersReady"] == ("True", None)
