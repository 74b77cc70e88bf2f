"""The status of a Deployment, as `kubectl rollout status` reads it."""

# kubernetes: pkg/controller/deployment/progress.go, sync.go

from __future__ import annotations

from collections.abc import Sequence

from mooring.api import CustomResource, parse_time
from mooring.controllers import status_conditions
from mooring.controllers.deployment_sets import count, fenceposts, replicas
from mooring.controllers.writer import Object

PROGRESSING, AVAILABLE, FAILURE = "Progressing", "Available", "ReplicaFailure"

NEW_SET = "NewReplicaSetCreated"
FOUND_SET = "FoundNewReplicaSet"
SET_UPDATED = "ReplicaSetUpdated"
SET_AVAILABLE = "NewReplicaSetAvailable"
SET_FAILED = "ReplicaSetCreateError"
TIMED_OUT = "ProgressDeadlineExceeded"
PAUSED = "DeploymentPaused"
RESUMED = "DeploymentResumed"

#: math.MaxInt32 means no deadline (deployment_util.go, HasProgressDeadline).
_NO_DEADLINE = 2**31 - 1


def condition(type: str, status: str, reason: str, message: str, when: str) -> Object:
    """Return a condition of a Deployment: a condition that also has a lastUpdateTime."""
    return {**status_conditions.make(type, status, reason, message, when), "lastUpdateTime": when}


def has_deadline(deployment: CustomResource) -> bool:
    """Return whether a rollout without progress fails after a deadline."""
    found = deployment.get("spec.progressDeadlineSeconds")
    return found is not None and found != _NO_DEADLINE


def note_pause(deployment: CustomResource, status: Object, when: str) -> None:
    """Record in the status, in place, that a Deployment was paused or resumed."""
    if not has_deadline(deployment):
        return
    known = status_conditions.find(status, PROGRESSING)
    reason = known.get("reason") if known is not None else ""
    paused = deployment.get("spec.paused", False)
    if reason == TIMED_OUT or paused == (reason == PAUSED):
        return
    word, why = ("paused", PAUSED) if paused else ("resumed", RESUMED)
    text = f"Deployment is {word}"
    status_conditions.put(status, condition(PROGRESSING, "Unknown", why, text, when))


def calculate(
    deployment: CustomResource,
    old: Object,
    sets: Sequence[CustomResource],
    new: CustomResource | None,
    when: str,
) -> Object:
    """Return the new status computed from the ReplicaSets; `old` is the previous status."""
    available = count(sets, "status.availableReplicas")
    status: Object = {
        "observedGeneration": deployment.metadata.generation,
        "replicas": count(sets, "status.replicas"),
        "updatedReplicas": count([new], "status.replicas"),
        "readyReplicas": count(sets, "status.readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, count(sets, "spec.replicas") - available),
        "collisionCount": old.get("collisionCount"),
        "conditions": list(old.get("conditions") or ()),
    }
    if available >= replicas(deployment) - fenceposts(deployment)[1]:
        made = condition(
            AVAILABLE,
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
            when,
        )
    else:
        made = condition(
            AVAILABLE,
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
            when,
        )
    status_conditions.put(status, made)
    return status


def is_complete(deployment: CustomResource, status: Object) -> bool:
    """Return whether all pods are new and available, and no old pods are left."""
    wanted = replicas(deployment)
    fields = ("updatedReplicas", "replicas", "availableReplicas")
    return (
        all(status.get(field, 0) == wanted for field in fields)
        and status.get("observedGeneration", 0) >= deployment.metadata.generation
    )


def note_progress(
    deployment: CustomResource,
    old: Object,
    status: Object,
    sets: Sequence[CustomResource],
    new: CustomResource | None,
    now: float,
    when: str,
) -> None:
    """Record the progress of the rollout in the status, in place."""
    if not has_deadline(deployment):
        status_conditions.remove(status, PROGRESSING)
    known = status_conditions.find(old, PROGRESSING)
    done = known is not None and known.get("reason") == SET_AVAILABLE
    if has_deadline(deployment) and not (done and status["replicas"] == status["updatedReplicas"]):
        who = f'Deployment "{deployment.metadata.name}"'
        if new is not None:
            who = f'ReplicaSet "{new.metadata.name}"'
        if is_complete(deployment, status):
            text = f"{who} has successfully progressed."
            status_conditions.put(status, condition(PROGRESSING, "True", SET_AVAILABLE, text, when))
        elif _progresses(old, status):
            text = f"{who} is progressing."
            made = condition(PROGRESSING, "True", SET_UPDATED, text, when)
            if known is not None and known["status"] == "True":
                made["lastTransitionTime"] = known.get("lastTransitionTime")
            status_conditions.remove(status, PROGRESSING)
            status_conditions.put(status, made)
        elif _is_late(deployment, known, now):
            text = f"{who} has timed out progressing."
            status_conditions.put(status, condition(PROGRESSING, "False", TIMED_OUT, text, when))
    _note_failures(status, sets, new)


def _progresses(old: Object, new: Object) -> bool:
    # deployment_util.go, DeploymentProgressing
    def outdated(status: Object) -> int:
        found: int = status.get("replicas", 0) - status.get("updatedReplicas", 0)
        return found

    fields = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return outdated(new) < outdated(old) or any(
        new.get(field, 0) > old.get(field, 0) for field in fields
    )


def _is_late(deployment: CustomResource, known: Object | None, now: float) -> bool:
    if known is None or known.get("reason") == SET_AVAILABLE:
        return False
    if known.get("reason") == TIMED_OUT:
        return True
    return _deadline(deployment, known) <= now


def _deadline(deployment: CustomResource, known: Object) -> float:
    since = parse_time(known.get("lastUpdateTime") or known["lastTransitionTime"])
    seconds: int = deployment.get("spec.progressDeadlineSeconds", _NO_DEADLINE)
    return since + seconds


def until_deadline(deployment: CustomResource, status: Object, now: float) -> float | None:
    """Return the seconds until a rollout without progress exceeds its deadline; None for never."""
    known = status_conditions.find(status, PROGRESSING)
    if not has_deadline(deployment) or known is None or deployment.get("spec.paused", False):
        return None
    if is_complete(deployment, status) or known.get("reason") in (TIMED_OUT, SET_AVAILABLE):
        return None
    return max(0.0, _deadline(deployment, known) - now) + 1.0


def _note_failures(
    status: Object, sets: Sequence[CustomResource], new: CustomResource | None
) -> None:
    for one in ([new] if new is not None else []) + list(sets):
        found = status_conditions.find(one.raw.get("status") or {}, FAILURE)
        if found is not None:
            when = found.get("lastTransitionTime")
            status_conditions.put(status, {**found, "lastUpdateTime": when})
            return
    status_conditions.remove(status, FAILURE)
