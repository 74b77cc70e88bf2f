"""The printers of pod groups, composite pod groups and workloads."""

# kube-apiserver: pkg/printers/internalversion/printers.go, printPodGroup

from __future__ import annotations

import datetime
from typing import Any

from mooring.apiserver.printing.core import aged
from mooring.apiserver.printing.printer import NONE, Printer, age, at, columns, name

Object = dict[str, Any]


def _policy(group: Object) -> str:
    return "Basic" if at(group, "spec.schedulingPolicy.gang") is None else "Gang"


def _status(group: Object) -> str:
    conditions = {one["type"]: one for one in at(group, "status.conditions", ())}
    if "DisruptionTarget" in conditions:
        return str(conditions["DisruptionTarget"].get("reason") or "")
    scheduled = conditions.get("PodGroupInitiallyScheduled")
    if scheduled is None:
        return "Pending"
    return "Scheduled" if scheduled.get("status") == "True" else "Unschedulable"


def _pod_group(group: Object, now: datetime.datetime) -> list[Any]:
    workload = at(group, "spec.workloadRef.workloadName", NONE)
    return [name(group), _policy(group), workload, _status(group), age(group, now)]


def _composite(group: Object, now: datetime.datetime) -> list[Any]:
    workload = at(group, "spec.workloadRef.workloadName", NONE)
    return [name(group), _policy(group), workload, age(group, now)]


PRINTERS: dict[str, Printer] = {
    "scheduling.k8s.io/PodGroup": Printer(
        columns("Name, Policy, Workload, Status, Age"), _pod_group
    ),
    "scheduling.k8s.io/CompositePodGroup": Printer(
        columns("Name, Policy, Workload, Age"), _composite
    ),
    "scheduling.k8s.io/Workload": Printer(columns("Name, Age"), aged),
}
