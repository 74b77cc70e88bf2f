from __future__ import annotations

from typing import Any

import pytest

from mooring.api import Pod
from mooring.api.kinds import decode_as
from mooring.kubelet.pod_status import (
    closed_gates,
    condition,
    container_id,
    finished,
    initial,
    ready,
    running,
)

WHEN, BEFORE = "2026-01-01T00:01:00Z", "2026-01-01T00:00:00Z"


def pod(status: dict[str, Any] | None = None, **spec: Any) -> Pod:
    given = {"containers": [{"name": "c", "image": "i"}], **spec}
    metadata = {"name": "p", "uid": "u", "generation": 3}
    return decode_as({"metadata": metadata, "spec": given, "status": status or {}}, Pod)


def states(status: dict[str, Any]) -> dict[str, str]:
    return {one["type"]: one["status"] for one in status["conditions"]}


GATED = [{"conditionType": "a.io/x"}]


def test_a_pod_that_has_just_started() -> None:
    sidecar = {"name": "s", "image": "i", "restartPolicy": "Always"}
    found = running(pod(initContainers=[{"name": "i", "image": "i"}, sidecar]), "1", "2", WHEN)
    assert (found["phase"], found["startTime"]) == ("Running", WHEN)
    assert (found["hostIP"], found["podIP"]) == ("1", "2")
    assert found["podIPs"] == [{"ip": "2"}] and found["hostIPs"] == [{"ip": "1"}]
    assert set(states(found).values()) == {"True"}
    assert found["observedGeneration"] == 3
    (container,) = found["containerStatuses"]
    assert container["state"] == {"running": {"startedAt": WHEN}} and container["ready"]
    first, second = found["initContainerStatuses"]
    assert first["state"]["terminated"]["exitCode"] == 0 and not first["started"]
    assert "running" in second["state"]


def test_a_gate_keeps_a_pod_from_being_ready() -> None:
    found = running(pod(readinessGates=GATED), "1", "2", WHEN)
    assert (states(found)["Ready"], states(found)["ContainersReady"]) == ("False", "True")
    reasons = {one["type"]: one["reason"] for one in found["conditions"]}
    assert reasons["Ready"] == "ReadinessGatesNotReady"


GATES: dict[str, tuple[list[dict[str, str]], str]] = {
    "no condition": ([], 'corresponding condition of pod readiness gate "a.io/x" does not exist.'),
    "a condition that does not hold": (
        [{"type": "a.io/x", "status": "False"}],
        'the status of pod readiness gate "a.io/x" is not "True", but False',
    ),
    "a condition that holds": ([{"type": "a.io/x", "status": "True"}], ""),
}


@pytest.mark.parametrize(("conditions", "message"), GATES.values(), ids=GATES)
def test_gates(conditions: list[dict[str, str]], message: str) -> None:
    assert closed_gates(pod({"conditions": conditions}, readinessGates=GATED)) == message


@pytest.mark.parametrize(
    ("gate", "was", "change"),
    [
        ("True", "False", "True"),
        ("False", "True", "False"),
        ("True", "True", None),
        ("False", "False", None),
    ],
    ids=["it opens", "it closes", "it stays open", "it stays closed"],
)
def test_readiness_follows_the_gates(gate: str, was: str, change: str | None) -> None:
    conditions = [{"type": "a.io/x", "status": gate}, {"type": "Ready", "status": was}]
    found = ready(pod({"conditions": conditions}, readinessGates=GATED), WHEN)
    assert (None if found is None else states(found)["Ready"]) == change


def test_a_pod_without_a_ready_condition() -> None:
    assert ready(pod(readinessGates=GATED), WHEN) is None


def test_the_end_follows_from_the_commands() -> None:
    found = finished(pod(), WHEN)
    assert found["phase"] == "Succeeded"
    (status,) = found["containerStatuses"]
    assert status["state"]["terminated"]["reason"] == "Completed"
    assert states(found) == {
        "PodReadyToStartContainers": "False",
        "Initialized": "True",
        "Ready": "False",
        "ContainersReady": "False",
    }
    exits = [{"name": "c", "image": "i", "command": ["sh", "-c", "exit 3"]}]
    failed = finished(pod(containers=exits), WHEN)
    assert failed["phase"] == "Failed"
    assert failed["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3


def test_a_container_that_is_killed_keeps_the_time_of_its_start() -> None:
    known = [{"name": "c", "state": {"running": {"startedAt": BEFORE}}}]
    found = finished(pod({"containerStatuses": known}), WHEN, code=137)
    ended = found["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["startedAt"], ended["finishedAt"]) == (137, BEFORE, WHEN)
    assert found["phase"] == "Failed"


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    known = [{"type": "Ready", "status": "True", "lastTransitionTime": BEFORE}]
    same = condition(pod({"conditions": known}), "Ready", True, WHEN, "r", "m")
    assert (same["lastTransitionTime"], same["message"]) == (BEFORE, None)
    other = condition(pod({"conditions": known}), "Ready", False, WHEN, "r", "m")
    assert (other["lastTransitionTime"], other["message"]) == (WHEN, "m")


def test_ids_of_containers() -> None:
    one = pod()
    container = one.spec.containers[0]
    first = container_id(one, container)
    assert first == container_id(one, container)
    assert first.startswith("containerd://") and len(first) == len("containerd://") + 64
    assert container_id(one, container, 1) != first
    assert initial(one, container, WHEN)["containerID"] == first
