"""The status that controllers write for workloads, services and budgets."""

# kubernetes: pkg/apis/{apps,core,autoscaling}/validation/validation.go (Validate…StatusUpdate)

from __future__ import annotations

import re

from mooring.api.field_errors import (
    FieldError,
    duplicate,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from mooring.apiserver.validation.field_problems import IMMUTABLE, Object, non_negative
from mooring.apiserver.validation.formats import ip_problems, label_key_problems, subdomain_problems

NOT_A_REASON = (
    "a condition reason must start with alphabetic character, optionally followed by a string of "
    "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. "
    "'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex "
    "used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"
)
_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", re.ASCII)
_REASON_LENGTH, _MESSAGE_LENGTH = 1024, 32 * 1024
_STATUSES = ("False", "True", "Unknown")
_MODES = ("Proxy", "VIP")
#: The conditions with which a migration ends, and their names in messages.
_ENDS = {"Succeeded": "Success", "Failed": "Failed"}
_BEYOND = "cannot be greater than status.replicas"


def _counts(status: Object, names: tuple[str, ...]) -> list[FieldError]:
    return [one for name in names for one in non_negative(f"status.{name}", status.get(name))]


def _within(status: Object, names: tuple[str, ...], ready: str) -> list[FieldError]:
    """Refuse counts above the number of replicas, and more available replicas than ready ones."""
    total = status.get("replicas") or 0
    problems = [
        invalid(f"status.{name}", status.get(name) or 0, _BEYOND)
        for name in names
        if (status.get(name) or 0) > total
    ]
    available = status.get("availableReplicas") or 0
    if available > (status.get("readyReplicas") or 0):
        problems.append(invalid("status.availableReplicas", available, ready))
    return problems


def _counted_on(status: Object, old: Object) -> list[FieldError]:
    given, before = status.get("collisionCount"), (old.get("status") or {}).get("collisionCount")
    if before is None or (given is not None and given >= before):
        return []
    return [invalid("status.collisionCount", given or 0, "cannot be decremented")]


def check_deployment_status(deployment: Object, old: Object) -> list[FieldError]:
    """Check the counts of a deployment."""
    status = deployment.get("status") or {}
    names = ("updatedReplicas", "readyReplicas", "availableReplicas")
    more = ("unavailableReplicas", "terminatingReplicas", "collisionCount")
    problems = _counts(status, ("observedGeneration", "replicas", *names, *more))
    problems += _within(status, names, "cannot be greater than readyReplicas")
    return problems + _counted_on(status, old)


def check_replica_set_status(replica_set: Object, old: Object) -> list[FieldError]:
    """Check the counts of a replica set or a replication controller."""
    status = replica_set.get("status") or {}
    names = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    more = ("observedGeneration", "terminatingReplicas")
    problems = _counts(status, ("replicas", *names, *more))
    return problems + _within(status, names, "cannot be greater than readyReplicas")


def check_stateful_set_status(stateful_set: Object, old: Object) -> list[FieldError]:
    """Check the counts of a stateful set."""
    status = stateful_set.get("status") or {}
    names = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    problems = _counts(status, ("replicas", *names, "observedGeneration", "collisionCount"))
    problems += _within(status, names, "cannot be greater than status.readyReplicas")
    return problems + _counted_on(status, old)


def check_daemon_set_status(daemon_set: Object, old: Object) -> list[FieldError]:
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


def check_autoscaler_status(autoscaler: Object, old: Object) -> list[FieldError]:
    """Check the counts of a horizontal pod autoscaler."""
    status = autoscaler.get("status") or {}
    problems = _counts(status, ("currentReplicas", "desiredReplicas"))
    for i, condition in enumerate(status.get("conditions") or ()):
        where = f"status.conditions[{i}].observedGeneration"
        problems += non_negative(where, condition.get("observedGeneration"))
    return problems


def check_migration_status(migration: Object, old: Object) -> list[FieldError]:
    """Check the status of a storage version migration: it cannot fail after it succeeded."""
    # kubernetes: pkg/apis/storagemigration/validation/validation.go
    status, before = migration.get("status") or {}, old.get("status") or {}
    problems = check_conditions(status, "status.conditions")
    version = status.get("resourceVersion") or ""
    if before.get("resourceVersion") and version != before["resourceVersion"]:
        problems.append(invalid("status.resourceVersion", version, IMMUTABLE))
    new, was = ({one for one in _ENDS if _holds(state, one)} for state in (status, before))
    conditions = status.get("conditions")
    if len(new) == len(_ENDS):
        why = "Both success and failed conditions cannot be true at the same time"
        problems.append(invalid("status.conditions", conditions, why))
    for end, name in _ENDS.items():
        if end in was - new:
            why = f"{name} condition cannot be set to false once it is true"
            problems.append(invalid("status.conditions", conditions, why))
    return problems


def _holds(status: Object, type: str) -> bool:
    conditions = status.get("conditions") or ()
    return any(one.get("type") == type and one.get("status") == "True" for one in conditions)


def check_job_status(job: Object, old: Object) -> list[FieldError]:
    """Check the counts of a job; the rest is left to its controller."""
    status = job.get("status") or {}
    before = old.get("status") or {}
    problems = _counts(status, ("active", "succeeded", "failed", "ready", "terminating"))
    ready = status.get("ready")
    if ready is not None and ready > (status.get("active") or 0):
        problems.append(invalid("status.ready", ready, "cannot set more ready pods than active"))
    return problems + [
        invalid(f"status.{name}", status.get(name) or 0, f"cannot decrease the {name} counter")
        for name in ("succeeded", "failed")
        if (status.get(name) or 0) < (before.get(name) or 0)
    ]


def check_budget_status(budget: Object, old: Object) -> list[FieldError]:
    """Check the counts and conditions of a pod disruption budget."""
    status = budget.get("status") or {}
    names = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    return check_conditions(status, "status.conditions") + _counts(status, names)


def check_service_status(service: Object, old: Object) -> list[FieldError]:
    """Check the addresses of a service's load balancer."""
    status = service.get("status") or {}
    ingress = (status.get("loadBalancer") or {}).get("ingress") or ()
    path = "status.loadBalancer.ingress"
    if ingress and service["spec"].get("type") != "LoadBalancer":
        return [forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")]
    problems: list[FieldError] = []
    for i, one in enumerate(ingress):
        problems += _place(one, f"{path}[{i}]")
        mode, where = one.get("ipMode"), f"{path}[{i}].ipMode"
        if mode is None and one.get("ip"):
            problems.append(required(where, "must be specified when `ip` is set"))
        elif mode is not None and not one.get("ip"):
            problems.append(forbidden(where, "may not be specified when `ip` is not set"))
        elif mode is not None and mode not in _MODES:
            problems.append(not_supported(where, mode, _MODES))
    return problems


def check_ingress_status(ingress: Object, old: Object) -> list[FieldError]:
    """Check the addresses of an ingress."""
    places = ((ingress.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    problems: list[FieldError] = []
    for i, one in enumerate(places):
        problems += _place(one, f"status.loadBalancer.ingress[{i}]")
    return problems


def _place(place: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    if address := place.get("ip"):
        problems += each(f"{path}.ip", address, ip_problems(address))
    if host := place.get("hostname"):
        problems += each(f"{path}.hostname", host, subdomain_problems(host))
        if not ip_problems(host):
            why = "must be a DNS name, not an IP address"
            problems.append(invalid(f"{path}.hostname", host, why))
    return problems


def check_conditions(status: Object, path: str) -> list[FieldError]:
    """Check conditions of the form that newer kinds share (metav1.Condition)."""
    # apimachinery: pkg/apis/meta/v1/validation/validation.go, ValidateConditions
    problems: list[FieldError] = []
    seen: set[str] = set()
    for i, condition in enumerate(status.get("conditions") or ()):
        where, kind = f"{path}[{i}]", condition.get("type") or ""
        if kind in seen:
            problems.append(duplicate(where, kind))
        seen.add(kind)
        if kind:
            problems += each(f"{where}.type", kind, label_key_problems(kind))
        else:
            problems.append(required(f"{where}.type", "is required"))
        given = condition.get("status") or ""
        if not given:
            problems.append(required(f"{where}.status"))
        elif given not in _STATUSES:
            problems.append(not_supported(f"{where}.status", given, _STATUSES))
        generation = condition.get("observedGeneration") or 0
        if generation < 0:
            why = "must be greater than or equal to zero"
            problems.append(invalid(f"{where}.observedGeneration", generation, why))
        if not condition.get("lastTransitionTime"):
            problems.append(required(f"{where}.lastTransitionTime"))
        reason = condition.get("reason") or ""
        if not reason:
            problems.append(required(f"{where}.reason"))
        else:
            if _REASON.fullmatch(reason) is None:
                problems.append(invalid(f"{where}.reason", reason, NOT_A_REASON))
            if len(reason) > _REASON_LENGTH:
                problems.append(too_long(f"{where}.reason", _REASON_LENGTH))
        if len(condition.get("message") or "") > _MESSAGE_LENGTH:
            problems.append(too_long(f"{where}.message", _MESSAGE_LENGTH))
    return problems
