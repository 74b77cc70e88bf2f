"""Defaults of the groups apps and batch."""

# kubernetes: pkg/apis/{apps,batch}/v1/defaults.go

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Object = dict[str, Any]

#: The annotation that counts the changes of a DaemonSet's template.
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"

_ROLLING = "RollingUpdate"
_MAX_INT32 = 2**31 - 1


def _deployment(deployment: Object) -> None:
    spec = deployment["spec"]
    spec.setdefault("replicas", 1)
    strategy = spec.setdefault("strategy", {})
    if strategy.setdefault("type", _ROLLING) == _ROLLING:
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)


def _daemon_set(daemon_set: Object) -> None:
    spec = daemon_set["spec"]
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", _ROLLING) == _ROLLING:
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)


def _stateful_set(stateful_set: Object) -> None:
    spec = stateful_set["spec"]
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = _ROLLING
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == _ROLLING and strategy.get("rollingUpdate") is not None:
        rolling = strategy["rollingUpdate"]
        rolling.setdefault("partition", 0)
        rolling.setdefault("maxUnavailable", 1)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)


def _convert_daemon_set(daemon_set: Object) -> None:
    # kubernetes: pkg/apis/apps/v1/conversion.go
    annotations = daemon_set["metadata"].setdefault("annotations", {})
    annotations.setdefault(TEMPLATE_GENERATION, "1")


def _convert_stateful_set_spec(spec: Object) -> None:
    for claim in spec.get("volumeClaimTemplates") or ():
        claim["kind"], claim["apiVersion"] = "PersistentVolumeClaim", "v1"


def _replica_set(replica_set: Object) -> None:
    replica_set["spec"].setdefault("replicas", 1)


def _job(job: Object) -> None:
    spec = job["spec"]
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    if spec.get("backoffLimit") is None:
        per_index = spec.get("backoffLimitPerIndex") is not None
        spec["backoffLimit"] = _MAX_INT32 if per_index else 6
    labels = (spec["template"].get("metadata") or {}).get("labels")
    if labels and not job["metadata"].get("labels"):
        job["metadata"]["labels"] = dict(labels)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    failed = spec.get("podFailurePolicy") is not None
    spec.setdefault("podReplacementPolicy", "Failed" if failed else "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)


def _cron_job(cron_job: Object) -> None:
    spec = cron_job["spec"]
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)


def _condition_pattern(pattern: Object) -> None:
    if not pattern.get("status"):
        pattern["status"] = "True"


DEFAULTERS: dict[str, Callable[[Object], None]] = {
    "apps.v1.Deployment": _deployment,
    "apps.v1.DaemonSet": _daemon_set,
    "apps.v1.StatefulSet": _stateful_set,
    "apps.v1.ReplicaSet": _replica_set,
    "batch.v1.Job": _job,
    "batch.v1.CronJob": _cron_job,
    "batch.v1.PodFailurePolicyOnPodConditionsPattern": _condition_pattern,
}
CONVERSIONS: dict[str, Callable[[Object], None]] = {
    "apps.v1.DaemonSet": _convert_daemon_set,
    "apps.v1.StatefulSetSpec": _convert_stateful_set_spec,
}
