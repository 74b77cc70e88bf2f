from __future__ import annotations

from typing import Any

import pytest

from mooring.api import CustomResource, parse_time
from mooring.api.kinds import decode_raw
from mooring.controllers import deployment_status, status_conditions
from mooring.controllers.deployment_status import (
    AVAILABLE,
    FAILURE,
    PROGRESSING,
    calculate,
    has_deadline,
    is_complete,
    note_pause,
    note_progress,
    until_deadline,
)
from tests.support.controllers import workload

WHEN = "2026-01-01T00:00:00Z"
NOW = parse_time(WHEN)
LATER = "2026-01-01T00:10:00Z"


def deployment(replicas: int = 2, **spec: Any) -> CustomResource:
    spec = {"progressDeadlineSeconds": 600, **spec}
    made = workload("Deployment", "web", replicas=replicas, **spec)
    made["metadata"]["generation"] = 4
    return decode_raw(made)


def replica_set(name: str, size: int = 0, **status: Any) -> CustomResource:
    return decode_raw({**workload("ReplicaSet", name, replicas=size), "status": status})


def progressing(reason: str, status: str = "True", updated: str = WHEN) -> dict[str, Any]:
    made = deployment_status.condition(PROGRESSING, status, reason, "", WHEN)
    return made | {"lastUpdateTime": updated}


def reason_of(status: dict[str, Any], type: str = PROGRESSING) -> str | None:
    found = status_conditions.find(status, type)
    return None if found is None else str(found["reason"])


@pytest.mark.parametrize(
    ("seconds", "expected"), [(600, True), (None, False), (2**31 - 1, False), (0, True)]
)
def test_deadlines(seconds: int | None, expected: bool) -> None:
    assert has_deadline(deployment(progressDeadlineSeconds=seconds)) is expected


def test_counts_of_all_replica_sets() -> None:
    old = replica_set("old", 1, replicas=1, readyReplicas=1, availableReplicas=1)
    new = replica_set("new", 2, replicas=2, readyReplicas=1, availableReplicas=0)
    status = calculate(deployment(), {"collisionCount": 7}, [old, new], new, WHEN)
    assert status["observedGeneration"] == 4
    counts = {name: value for name, value in status.items() if name.endswith("eplicas")}
    assert counts == {
        "replicas": 3,
        "updatedReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 1,
        "unavailableReplicas": 2,
    }
    assert status["collisionCount"] == 7


@pytest.mark.parametrize(
    ("available", "reason"),
    [(2, "MinimumReplicasAvailable"), (1, "MinimumReplicasUnavailable")],
)
def test_availability(available: int, reason: str) -> None:
    new = replica_set("new", 2, replicas=2, availableReplicas=available)
    status = calculate(deployment(), {}, [new], new, WHEN)
    assert reason_of(status, AVAILABLE) == reason


PAUSES: dict[str, tuple[dict[str, Any], list[dict[str, Any]], str | None]] = {
    "it is paused": ({"paused": True}, [], "DeploymentPaused"),
    "it is still paused": (
        {"paused": True},
        [progressing("DeploymentPaused", "Unknown")],
        "DeploymentPaused",
    ),
    "it is resumed": ({}, [progressing("DeploymentPaused", "Unknown")], "DeploymentResumed"),
    "it was never paused": ({}, [progressing("ReplicaSetUpdated")], "ReplicaSetUpdated"),
    "it has timed out": (
        {"paused": True},
        [progressing("ProgressDeadlineExceeded", "False")],
        "ProgressDeadlineExceeded",
    ),
    "it has no deadline": ({"paused": True, "progressDeadlineSeconds": None}, [], None),
}


@pytest.mark.parametrize(("spec", "conditions", "reason"), PAUSES.values(), ids=PAUSES)
def test_pauses(spec: dict[str, Any], conditions: list[dict[str, Any]], reason: str | None) -> None:
    status = {"conditions": conditions}
    note_pause(deployment(**spec), status, LATER)
    assert reason_of(status) == reason


def _complete(**more: Any) -> dict[str, Any]:
    counts = {"updatedReplicas": 2, "replicas": 2, "availableReplicas": 2}
    return {**counts, "observedGeneration": 4, **more}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, True),
        ({"updatedReplicas": 1}, False),
        ({"replicas": 3}, False),
        ({"availableReplicas": 1}, False),
        ({"observedGeneration": 3}, False),
    ],
    ids=["all are new", "one is old", "an old one is left", "one is missing", "an older spec"],
)
def test_completion(more: dict[str, int], expected: bool) -> None:
    assert is_complete(deployment(), _complete(**more)) is expected


PROGRESS: dict[str, tuple[dict[str, Any], dict[str, Any], float, str | None]] = {
    "it is complete": ({}, _complete(), NOW, "NewReplicaSetAvailable"),
    "it was complete before": (
        {"conditions": [progressing("NewReplicaSetAvailable")]},
        _complete(conditions=[progressing("NewReplicaSetAvailable")]),
        NOW,
        "NewReplicaSetAvailable",
    ),
    "it progresses": (
        {"updatedReplicas": 0, "conditions": [progressing("NewReplicaSetCreated")]},
        _complete(availableReplicas=0, conditions=[progressing("NewReplicaSetCreated")]),
        NOW,
        "ReplicaSetUpdated",
    ),
    "it does not progress": (
        _complete(availableReplicas=0, conditions=[progressing("ReplicaSetUpdated")]),
        _complete(availableReplicas=0, conditions=[progressing("ReplicaSetUpdated")]),
        NOW + 599,
        "ReplicaSetUpdated",
    ),
    "it is late": (
        _complete(availableReplicas=0, conditions=[progressing("ReplicaSetUpdated")]),
        _complete(availableReplicas=0, conditions=[progressing("ReplicaSetUpdated")]),
        NOW + 600,
        "ProgressDeadlineExceeded",
    ),
    "it was late before": (
        _complete(
            availableReplicas=0, conditions=[progressing("ProgressDeadlineExceeded", "False")]
        ),
        _complete(
            availableReplicas=0, conditions=[progressing("ProgressDeadlineExceeded", "False")]
        ),
        NOW,
        "ProgressDeadlineExceeded",
    ),
}


@pytest.mark.parametrize(("old", "status", "now", "reason"), PROGRESS.values(), ids=PROGRESS)
def test_progress(
    old: dict[str, Any], status: dict[str, Any], now: float, reason: str | None
) -> None:
    note_progress(deployment(), old, status, [], replica_set("new"), now, LATER)
    assert reason_of(status) == reason


def test_progress_keeps_the_time_of_the_transition() -> None:
    known = progressing("NewReplicaSetCreated")
    status = _complete(availableReplicas=0, conditions=[known])
    old = {"updatedReplicas": 0, "conditions": [known]}
    note_progress(deployment(), old, status, [], None, NOW, LATER)
    found = status_conditions.find(status, PROGRESSING)
    assert found is not None
    assert (found["lastTransitionTime"], found["lastUpdateTime"]) == (WHEN, LATER)
    assert found["message"] == 'Deployment "web" is progressing.'


def test_without_a_deadline_there_is_no_progress() -> None:
    status = _complete(conditions=[progressing("ReplicaSetUpdated")])
    note_progress(deployment(progressDeadlineSeconds=None), {}, status, [], None, NOW, LATER)
    assert "conditions" not in status


def test_failures_of_a_replica_set() -> None:
    failed = {"type": FAILURE, "status": "True", "reason": "FailedCreate"}
    failed |= {"lastTransitionTime": WHEN, "message": "no room"}
    new = replica_set("new", conditions=[failed])
    status: dict[str, Any] = _complete()
    note_progress(deployment(), {}, status, [new], None, NOW, LATER)
    found = status_conditions.find(status, FAILURE)
    assert found is not None and found["lastUpdateTime"] == WHEN
    note_progress(deployment(), {}, status, [replica_set("new")], None, NOW, LATER)
    assert status_conditions.find(status, FAILURE) is None


WAITS: dict[str, tuple[dict[str, Any], dict[str, Any], float | None]] = {
    "a rollout": ({}, {"conditions": [progressing("ReplicaSetUpdated")]}, 591.0),
    "a rollout that is complete": (
        {},
        _complete(conditions=[progressing("ReplicaSetUpdated")]),
        None,
    ),
    "a rollout that has timed out": (
        {},
        {"conditions": [progressing("ProgressDeadlineExceeded", "False")]},
        None,
    ),
    "a paused rollout": (
        {"paused": True},
        {"conditions": [progressing("ReplicaSetUpdated")]},
        None,
    ),
    "no rollout": ({}, {}, None),
    "no deadline": (
        {"progressDeadlineSeconds": None},
        {"conditions": [progressing("ReplicaSetUpdated")]},
        None,
    ),
}


@pytest.mark.parametrize(("spec", "status", "seconds"), WAITS.values(), ids=WAITS)
def test_when_to_look_at_a_rollout_again(
    spec: dict[str, Any], status: dict[str, Any], seconds: float | None
) -> None:
    assert until_deadline(deployment(**spec), status, NOW + 10) == seconds


def test_a_deadline_that_has_passed_is_looked_at_soon() -> None:
    status = {"conditions": [progressing("ReplicaSetUpdated")]}
    assert until_deadline(deployment(), status, NOW + 10_000) == 1.0
