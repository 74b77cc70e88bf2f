"""The printers of workloads and related kinds."""

# kube-apiserver: pkg/printers/internalversion/printers.go

from __future__ import annotations

import datetime
from typing import Any

from mooring.api.timestamps import parse_time
from mooring.apiserver.printing.printer import (
    NONE,
    UNSET,
    Printer,
    age,
    at,
    columns,
    containers,
    human_duration,
    map_text,
    name,
    selector_text,
    since,
)

Object = dict[str, Any]


def _template(obj: Object) -> list[str]:
    return containers(at(obj, "spec.template.spec", {}))


def _selector(obj: Object) -> str:
    return selector_text(at(obj, "spec.selector"))


def _deployment(obj: Object, now: datetime.datetime) -> list[Any]:
    ready, desired = at(obj, "status.readyReplicas", 0), at(obj, "spec.replicas", 0)
    return [
        name(obj),
        f"{ready}/{desired}",
        at(obj, "status.updatedReplicas", 0),
        at(obj, "status.availableReplicas", 0),
        age(obj, now),
        *_template(obj),
        _selector(obj),
    ]


def _replica_set(obj: Object, now: datetime.datetime) -> list[Any]:
    return [
        name(obj),
        at(obj, "spec.replicas", 0),
        at(obj, "status.replicas", 0),
        at(obj, "status.readyReplicas", 0),
        age(obj, now),
        *_template(obj),
        _selector(obj),
    ]


def _replication_controller(obj: Object, now: datetime.datetime) -> list[Any]:
    return [*_replica_set(obj, now)[:-1], map_text(at(obj, "spec.selector"))]


def _stateful_set(obj: Object, now: datetime.datetime) -> list[Any]:
    ready, desired = at(obj, "status.readyReplicas", 0), at(obj, "spec.replicas", 0)
    return [name(obj), f"{ready}/{desired}", age(obj, now), *_template(obj)]


def _daemon_set(obj: Object, now: datetime.datetime) -> list[Any]:
    counts = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    return [
        name(obj),
        *(at(obj, f"status.{count}", 0) for count in counts),
        map_text(at(obj, "spec.template.spec.nodeSelector")),
        age(obj, now),
        *_template(obj),
        _selector(obj),
    ]


_JOB_STATES = {
    "Complete": "Complete",
    "Failed": "Failed",
    "": "Terminating",
    "Suspended": "Suspended",
    "FailureTarget": "FailureTarget",
    "SuccessCriteriaMet": "SuccessCriteriaMet",
}


def _job_state(obj: Object) -> str:
    true = {one["type"] for one in at(obj, "status.conditions", []) if one.get("status") == "True"}
    if obj["metadata"].get("deletionTimestamp"):
        true.add("")
    return next((text for type, text in _JOB_STATES.items() if type in true), "Running")


def _job(obj: Object, now: datetime.datetime) -> list[Any]:
    succeeded, wanted = at(obj, "status.succeeded", 0), at(obj, "spec.completions")
    if wanted is not None:
        done = f"{succeeded}/{wanted}"
    else:
        parallelism = at(obj, "spec.parallelism", 0)
        done = f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"
    started, ended = at(obj, "status.startTime"), at(obj, "status.completionTime")
    duration = ""
    if started:
        end = parse_time(ended) if ended else now.timestamp()
        duration = human_duration(end - parse_time(started))
    return [
        name(obj),
        _job_state(obj),
        done,
        duration,
        age(obj, now),
        *_template(obj),
        _selector(obj),
    ]


def _cron_job(obj: Object, now: datetime.datetime) -> list[Any]:
    last = at(obj, "status.lastScheduleTime")
    suspend = at(obj, "spec.suspend")
    return [
        name(obj),
        at(obj, "spec.schedule", ""),
        at(obj, "spec.timeZone", NONE),
        UNSET if suspend is None else ("True" if suspend else "False"),
        len(at(obj, "status.active", ())),
        since(last, now) if last else NONE,
        age(obj, now),
        *containers(at(obj, "spec.jobTemplate.spec.template.spec", {})),
        selector_text(at(obj, "spec.jobTemplate.spec.selector")),
    ]


def _budget(obj: Object, now: datetime.datetime) -> list[Any]:
    return [
        name(obj),
        str(at(obj, "spec.minAvailable", "N/A")),
        str(at(obj, "spec.maxUnavailable", "N/A")),
        at(obj, "status.disruptionsAllowed", 0),
        age(obj, now),
    ]


def _pod_template(obj: Object, now: datetime.datetime) -> list[Any]:
    template = obj.get("template") or {}
    labels = map_text(at(template, "metadata.labels"))
    return [name(obj), *containers(template.get("spec") or {}), labels]


def _revision(obj: Object, now: datetime.datetime) -> list[Any]:
    owner = NONE
    for one in obj["metadata"].get("ownerReferences") or ():
        if one.get("controller"):
            group = one["apiVersion"].rpartition("/")[0]
            kind = one["kind"].lower() + (f".{group}" if group else "")
            owner = f"{kind}/{one['name']}"
    return [name(obj), owner, obj.get("revision", 0), age(obj, now)]


def _autoscaler(obj: Object, now: datetime.datetime) -> list[Any]:
    target = at(obj, "spec.scaleTargetRef", {})
    return [
        name(obj),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _targets(obj),
        str(at(obj, "spec.minReplicas", UNSET)),
        at(obj, "spec.maxReplicas", 0),
        at(obj, "status.currentReplicas", 0),
        age(obj, now),
    ]


def _targets(obj: Object) -> str:
    """Return the current and target values of an autoscaler's metrics."""
    metrics = at(obj, "spec.metrics")
    if metrics is None and at(obj, "spec.targetCPUUtilizationPercentage") is not None:
        seen = at(obj, "status.currentCPUUtilizationPercentage")
        shown = "<unknown>" if seen is None else f"{seen}%"
        return f"cpu: {shown}/{obj['spec']['targetCPUUtilizationPercentage']}%"
    if not metrics:
        return NONE
    current = at(obj, "status.currentMetrics", [])
    texts = []
    for i, one in enumerate(metrics):
        kind = one.get("type") or ""
        field = kind[:1].lower() + kind[1:]
        seen = at(current[i], f"{field}.current", {}) if i < len(current) else {}
        texts.append(_metric(field, one.get(field) or {}, seen))
    more = f" + {len(texts) - 2} more..." if len(texts) > 2 else ""
    return ", ".join(texts[:2]) + more


def _metric(field: str, source: Object, seen: Object) -> str:
    """Return the current and target value of one metric."""
    # kubernetes: pkg/printers/internalversion/printers.go, formatHPAMetrics
    target = source.get("target") or {}
    average = target.get("averageValue")
    if field in ("resource", "containerResource"):
        if average is not None:
            return f"{source.get('name')}: {seen.get('averageValue', '<unknown>')}/{average}"
        share, goal = seen.get("averageUtilization"), target.get("averageUtilization")
        shown = "<unknown>" if share is None else f"{share}%"
        return f"{source.get('name')}: {shown}/{'<auto>' if goal is None else f'{goal}%'}"
    if field == "pods":
        return f"{seen.get('averageValue', '<unknown>')}/{average}"
    if average is not None:
        return f"{seen.get('averageValue', '<unknown>')}/{average} (avg)"
    return f"{seen.get('value', '<unknown>')}/{target.get('value')}"


_REPLICAS = "Name, Desired:integer, Current:integer, Ready:integer, Age"
_WIDE = "; Containers, Images, Selector"

PRINTERS = {
    "apps/Deployment": Printer(
        columns(f"Name, Ready, Up-to-date, Available, Age{_WIDE}"), _deployment
    ),
    "apps/ReplicaSet": Printer(columns(f"{_REPLICAS}{_WIDE}"), _replica_set),
    "/ReplicationController": Printer(columns(f"{_REPLICAS}{_WIDE}"), _replication_controller),
    "apps/StatefulSet": Printer(columns("Name, Ready, Age; Containers, Images"), _stateful_set),
    "apps/DaemonSet": Printer(
        columns(
            "Name, Desired:integer, Current:integer, Ready:integer, Up-to-date:integer, "
            f"Available:integer, Node Selector, Age{_WIDE}"
        ),
        _daemon_set,
    ),
    "apps/ControllerRevision": Printer(columns("Name, Controller, Revision, Age"), _revision),
    "batch/Job": Printer(columns(f"Name, Status, Completions, Duration, Age{_WIDE}"), _job),
    "batch/CronJob": Printer(
        columns(
            f"Name, Schedule, Timezone, Suspend:boolean, Active:integer, Last Schedule, Age{_WIDE}"
        ),
        _cron_job,
    ),
    "policy/PodDisruptionBudget": Printer(
        columns("Name, Min Available, Max Unavailable, Allowed Disruptions:integer, Age"), _budget
    ),
    "/PodTemplate": Printer(columns("Name, Containers, Images, Pod Labels"), _pod_template),
    "autoscaling/HorizontalPodAutoscaler": Printer(
        columns("Name, Reference, Targets, MinPods, MaxPods, Replicas, Age"), _autoscaler
    ),
}
