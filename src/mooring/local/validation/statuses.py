"""The counts that controllers write into the status of workloads."""

# kubernetes: pkg/apis/{apps,core,autoscaling}/validation/validation.go (Validate…StatusUpdate)

from __future__ import annotations

from mooring.local.validation.problems import Object, Problem, invalid, non_negative

_BEYOND = "cannot be greater than status.replicas"


def _counts(status: Object, names: tuple[str, ...]) -> list[Problem]:
    return [one for name in names for one in non_negative(f"status.{name}", status.get(name))]


def _within(status: Object, names: tuple[str, ...], ready: str) -> list[Problem]:
    """Refuse more of some than there are replicas, and more that are available than ready."""
    total = status.get("replicas") or 0
    problems = [
        invalid(f"status.{name}", status[name], _BEYOND)
        for name in names
        if (status.get(name) or 0) > total
    ]
    available = status.get("availableReplicas") or 0
    if available > (status.get("readyReplicas") or 0):
        problems.append(invalid("status.availableReplicas", available, ready))
    return problems


def _counted_on(status: Object, old: Object) -> list[Problem]:
    given, before = status.get("collisionCount"), (old.get("status") or {}).get("collisionCount")
    if before is None or (given is not None and given >= before):
        return []
    return [invalid("status.collisionCount", given or 0, "cannot be decremented")]


def check_deployment_status(deployment: Object, old: Object) -> list[Problem]:
    """Check the counts of a deployment."""
    status = deployment.get("status") or {}
    names = ("updatedReplicas", "readyReplicas", "availableReplicas")
    more = ("unavailableReplicas", "terminatingReplicas", "collisionCount")
    problems = _counts(status, ("observedGeneration", "replicas", *names, *more))
    problems += _within(status, names, "cannot be greater than readyReplicas")
    return problems + _counted_on(status, old)


def check_replica_set_status(replica_set: Object, old: Object) -> list[Problem]:
    """Check the counts of a replica set or a replication controller."""
    status = replica_set.get("status") or {}
    names = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    more = ("observedGeneration", "terminatingReplicas")
    problems = _counts(status, ("replicas", *names, *more))
    return problems + _within(status, names, "cannot be greater than readyReplicas")


def check_stateful_set_status(stateful_set: Object, old: Object) -> list[Problem]:
    """Check the counts of a stateful set."""
    status = stateful_set.get("status") or {}
    names = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    problems = _counts(status, ("replicas", *names, "observedGeneration", "collisionCount"))
    problems += _within(status, names, "cannot be greater than status.readyReplicas")
    return problems + _counted_on(status, old)


def check_daemon_set_status(daemon_set: Object, old: Object) -> list[Problem]:
    """Check the counts of a daemon set."""
    status = daemon_set.get("status") or {}
    names = (
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    )
    return _counts(status, names) + _counted_on(status, old)


def check_autoscaler_status(autoscaler: Object, old: Object) -> list[Problem]:
    """Check the counts of a horizontal pod autoscaler."""
    status = autoscaler.get("status") or {}
    return _counts(status, ("currentReplicas", "desiredReplicas"))
