"""Workloads: apps and batch."""

# kubernetes: pkg/apis/{apps,batch}/validation/validation.go

from __future__ import annotations

import zoneinfo
from typing import Any

import msgspec

from mooring.api.labels import Selector
from mooring.api.meta import LabelSelector
from mooring.errors import ObjectError
from mooring.local.validation.claims import check_claim_spec
from mooring.local.validation.metadata import check_selector, is_empty_selector
from mooring.local.validation.pods import check_template
from mooring.local.validation.problems import (
    Object,
    Problem,
    each,
    forbidden,
    immutable,
    invalid,
    non_negative,
    not_supported,
    required,
)
from mooring.local.validation.texts import label_problems, percent_problems

CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
NO_MATCH = "`selector` does not match template `labels`"
INVALID_SELECTOR = "invalid label selector"
STATEFUL_SET_FIELDS = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
    "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
    "'minReadySeconds' are forbidden"
)
_RESTART = "spec.template.spec.restartPolicy"
_ROLLING = "RollingUpdate"
_SET_BY_CONTROLLER = ("hostname", "subdomain")


def _matches(selector: Object, labels: Object) -> bool | None:
    """Tell whether a selector matches; None where it is none."""
    try:
        return Selector.from_label_selector(msgspec.convert(selector, LabelSelector)).matches(
            labels
        )
    except (ObjectError, msgspec.ValidationError):
        return None


def check_selected_template(
    spec: Object, path: str = "spec", *, nothing: bool = True
) -> list[Problem]:
    """Check that a workload selects the pods it makes, and their template."""
    problems: list[Problem] = []
    selector, template = spec.get("selector"), spec["template"]
    labels = (template.get("metadata") or {}).get("labels")
    matched = False if selector is None else _matches(selector, labels or {})
    if matched is None:
        return [invalid(f"{path}.selector", selector, INVALID_SELECTOR)]
    if not matched and not (selector is not None and is_empty_selector(selector)):
        problems.append(invalid(f"{path}.template.metadata.labels", labels, NO_MATCH))
    problems += check_template(template, f"{path}.template")
    if template["spec"].get("restartPolicy") != "Always":
        given = template["spec"].get("restartPolicy")
        problems.append(not_supported(f"{path}.template.spec.restartPolicy", given, ("Always",)))
    if template["spec"].get("activeDeadlineSeconds") is not None and nothing:
        why = "activeDeadlineSeconds in ReplicaSet is not Supported"
        problems.append(forbidden(f"{path}.template.spec.activeDeadlineSeconds", why))
    return problems


def _selector(spec: Object, kind: str) -> list[Problem]:
    selector = spec.get("selector")
    if selector is None:
        return [required("spec.selector")]
    problems = check_selector(selector, "spec.selector")
    if is_empty_selector(selector):
        why = f"empty selector is invalid for {kind}"
        problems.append(invalid("spec.selector", selector, why))
    return problems


def check_deployment(deployment: Object) -> list[Problem]:
    """Check a deployment."""
    spec = deployment["spec"]
    problems = non_negative("spec.replicas", spec.get("replicas"))
    problems += _selector(spec, "deployment")
    problems += check_selected_template(spec)
    problems += _deployment_strategy(spec["strategy"], "spec.strategy")
    problems += non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    problems += non_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))
    deadline = spec.get("progressDeadlineSeconds")
    where = "spec.progressDeadlineSeconds"
    problems += non_negative(where, deadline)
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        problems.append(invalid(where, deadline, "must be greater than minReadySeconds"))
    return problems


def _deployment_strategy(strategy: Object, path: str) -> list[Problem]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            why = "may not be specified when strategy `type` is 'Recreate'"
            return [forbidden(f"{path}.rollingUpdate", why)]
        return []
    if kind != _ROLLING:
        return [not_supported(path, _as_go(strategy), ("Recreate", _ROLLING))]
    if rolling is None:
        return [required(f"{path}.rollingUpdate", "this should be defaulted and never be nil")]
    where = f"{path}.rollingUpdate"
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    problems = check_amount(unavailable, f"{where}.maxUnavailable")
    problems += check_amount(surge, f"{where}.maxSurge")
    if _whole(unavailable) == 0 and _whole(surge) == 0:
        why = "may not be 0 when `maxSurge` is 0"
        problems.append(invalid(f"{where}.maxUnavailable", unavailable, why))
    return problems + not_over_all(unavailable, f"{where}.maxUnavailable")


def _as_go(strategy: Object) -> Object:
    """Return a strategy as a refusal shows it."""
    return {"Type": strategy.get("type", ""), "RollingUpdate": strategy.get("rollingUpdate")}


def check_amount(value: Any, path: str) -> list[Problem]:
    """Check a number or percentage that is not negative."""
    if isinstance(value, str):
        return each(path, value, percent_problems(value))
    return non_negative(path, value)


def not_over_all(value: Any, path: str) -> list[Problem]:
    """Refuse more than all."""
    if isinstance(value, str) and not percent_problems(value) and int(value[:-1]) > 100:
        return [invalid(path, value, "must not be greater than 100%")]
    return []


def _whole(value: Any) -> int:
    if isinstance(value, str):
        return int(value[:-1]) if not percent_problems(value) else -1
    return int(value)


def check_deployment_update(deployment: Object, old: Object) -> list[Problem]:
    """Check the change of a deployment: its selector stays."""
    return check_deployment(deployment) + _same_selector(deployment, old)


def _same_selector(new: Object, old: Object) -> list[Problem]:
    selectors = (new["spec"].get("selector"), old["spec"].get("selector"))
    return immutable("spec.selector", *selectors)


def check_replica_set(replica_set: Object) -> list[Problem]:
    """Check a replica set."""
    spec = replica_set["spec"]
    problems = non_negative("spec.replicas", spec.get("replicas"))
    problems += non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    return problems + _selector(spec, "deployment") + check_selected_template(spec)


def check_replica_set_update(replica_set: Object, old: Object) -> list[Problem]:
    """Check the change of a replica set: its selector stays."""
    return check_replica_set(replica_set) + _same_selector(replica_set, old)


def check_stateful_set(stateful_set: Object) -> list[Problem]:
    """Check a stateful set."""
    spec = stateful_set["spec"]
    problems: list[Problem] = []
    policy = spec.get("podManagementPolicy")
    if policy not in ("OrderedReady", "Parallel"):
        why = "must be 'OrderedReady' or 'Parallel'"
        problems.append(invalid("spec.podManagementPolicy", policy, why))
    problems += _stateful_set_strategy(spec["updateStrategy"], "spec.updateStrategy")
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for field in ("whenDeleted", "whenScaled"):
        if retention.get(field) not in ("Retain", "Delete"):
            where = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
            problems.append(not_supported(where, retention.get(field), ("Retain", "Delete")))
    problems += non_negative("spec.replicas", spec.get("replicas"))
    problems += non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    if (ordinals := spec.get("ordinals")) is not None:
        problems += non_negative("spec.ordinals.start", ordinals.get("start", 0))
    if name := spec.get("serviceName"):
        problems += each("spec.serviceName", name, label_problems(name))
    for i, claim in enumerate(_claims(spec)):
        problems += check_claim_spec(claim["spec"], f"spec.volumeClaimTemplates[{i}].spec")
    problems += _selector(spec, "statefulset")
    problems += check_selected_template(_with_claims(spec), nothing=False)
    if spec["template"]["spec"].get("activeDeadlineSeconds") is not None:
        why = "activeDeadlineSeconds in StatefulSet is not Supported"
        problems.append(forbidden("spec.template.spec.activeDeadlineSeconds", why))
    return problems


def _with_claims(spec: Object) -> Object:
    """Return a stateful set's spec with the volumes that its pods get of the claims' templates."""
    pod = {key: v for key, v in spec["template"]["spec"].items() if key not in _SET_BY_CONTROLLER}
    names = [(one.get("metadata") or {}).get("name", "") for one in _claims(spec)]
    volumes = [{"name": n, "persistentVolumeClaim": {"claimName": n}} for n in dict.fromkeys(names)]
    if volumes:
        pod["volumes"] = volumes + [
            one for one in pod.get("volumes") or () if one.get("name") not in names
        ]
    return spec | {"template": spec["template"] | {"spec": pod}}


def _claims(spec: Object) -> list[Object]:
    claims: list[Object] = spec.get("volumeClaimTemplates") or []
    return claims


def _stateful_set_strategy(strategy: Object, path: str) -> list[Problem]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if not kind:
        return [required(path)]
    if kind == "OnDelete":
        if rolling is not None:
            why = "only allowed for updateStrategy 'RollingUpdate'"
            return [invalid(f"{path}.rollingUpdate", rolling, why)]
        return []
    if kind != _ROLLING:
        return [invalid(path, strategy, "must be 'RollingUpdate' or 'OnDelete'")]
    if rolling is None:
        return []
    return non_negative(f"{path}.rollingUpdate.partition", rolling.get("partition"))


def check_stateful_set_update(stateful_set: Object, old: Object) -> list[Problem]:
    """Check the change of a stateful set: few fields may change."""
    problems = check_stateful_set(stateful_set)
    free = {
        "replicas",
        "template",
        "updateStrategy",
        "minReadySeconds",
        "ordinals",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
    }
    fixed, before = (
        {key: value for key, value in one["spec"].items() if key not in free}
        for one in (stateful_set, old)
    )
    if fixed != before:
        problems.append(forbidden("spec", STATEFUL_SET_FIELDS))
    return problems


def check_daemon_set(daemon_set: Object) -> list[Problem]:
    """Check a daemon set."""
    spec = daemon_set["spec"]
    problems: list[Problem] = check_selector(spec.get("selector"), "spec.selector")
    selector = spec.get("selector")
    labels = (spec["template"].get("metadata") or {}).get("labels")
    if selector is None or not _matches(selector, labels or {}):
        problems.append(invalid("spec.template.metadata.labels", labels, NO_MATCH))
    if selector is not None and is_empty_selector(selector):
        why = "empty selector is invalid for daemonset"
        problems.append(invalid("spec.selector", selector, why))
    problems += check_template(spec["template"], "spec.template")
    if spec["template"]["spec"].get("restartPolicy") != "Always":
        given = spec["template"]["spec"].get("restartPolicy")
        problems.append(not_supported(_RESTART, given, ("Always",)))
    problems += non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    problems += _daemon_set_strategy(spec["updateStrategy"], "spec.updateStrategy")
    return problems + non_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))


def _daemon_set_strategy(strategy: Object, path: str) -> list[Problem]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        return []
    if kind != _ROLLING:
        return [not_supported(path, _as_go(strategy), (_ROLLING, "OnDelete"))]
    where = f"{path}.rollingUpdate"
    if rolling is None:
        return [required(where)]
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    problems = check_amount(unavailable, f"{where}.maxUnavailable")
    problems += check_amount(surge, f"{where}.maxSurge")
    if _whole(unavailable) and _whole(surge):
        why = "may not be set when maxUnavailable is non-zero"
        problems.append(invalid(f"{where}.maxSurge", surge, why))
    if not _whole(unavailable) and not _whole(surge):
        why = "cannot be 0 when maxSurge is 0"
        problems.append(required(f"{where}.maxUnavailable", why))
    return problems


def check_daemon_set_update(daemon_set: Object, old: Object) -> list[Problem]:
    """Check the change of a daemon set: its selector stays."""
    return _same_selector(daemon_set, old) + check_daemon_set(daemon_set)


def check_revision(revision: Object) -> list[Problem]:
    """Check a controller revision."""
    problems = non_negative("revision", revision["revision"])
    if revision.get("data") is None:
        problems.append(required("data", "data is mandatory"))
    return problems


def check_job(job: Object) -> list[Problem]:
    """Check a job."""
    spec, name = job["spec"], job["metadata"].get("name", "")
    problems = check_job_spec(spec, "spec") + _job_selector(job)
    if spec.get("completionMode") == "Indexed" and (spec.get("completions") or 0) > 0:
        last = f"{name}-{spec['completions'] - 1}"
        if label_problems(last):
            why = f"will not able to create pod with invalid DNS label: {last}"
            problems.append(invalid("metadata.name", name, why))
    return problems


def _job_selector(job: Object) -> list[Problem]:
    """Check that a job selects its own pods; the server makes the selector unless told not to."""
    spec = job["spec"]
    selector = spec.get("selector")
    if selector is None:
        return []
    problems: list[Problem] = []
    uid = job["metadata"].get("uid")
    generated = {"matchLabels": {CONTROLLER_UID: uid}}
    if not spec.get("manualSelector") and selector != generated:
        problems.append(invalid("spec.selector", selector, "`selector` not auto-generated"))
    labels = (spec["template"].get("metadata") or {}).get("labels")
    if _matches(selector, labels or {}) is False:
        problems.append(invalid("spec.template.metadata.labels", labels, NO_MATCH))
    return problems


def check_job_spec(spec: Object, path: str) -> list[Problem]:
    """Check the spec of a job, or of the jobs that a cron job makes."""
    problems: list[Problem] = []
    for field in (
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ):
        problems += non_negative(f"{path}.{field}", spec.get(field))
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        why = "when maxFailedIndexes is specified"
        problems.append(required(f"{path}.backoffLimitPerIndex", why))
    problems += _completion(spec, path)
    policy = spec.get("podReplacementPolicy")
    if policy is not None and policy not in ("Failed", "TerminatingOrFailed"):
        supported = ("Failed", "TerminatingOrFailed")
        problems.append(not_supported(f"{path}.podReplacementPolicy", policy, supported))
    problems += check_template(spec["template"], f"{path}.template")
    restart, where = spec["template"]["spec"].get("restartPolicy"), f"{path}.template.spec"
    if restart in ("Always", None, ""):
        why = 'valid values: "OnFailure", "Never"'
        problems.append(required(f"{where}.restartPolicy", why))
    elif restart not in ("OnFailure", "Never"):
        problems.append(not_supported(f"{where}.restartPolicy", restart, ("OnFailure", "Never")))
    return problems


def _completion(spec: Object, path: str) -> list[Problem]:
    problems: list[Problem] = []
    mode = spec.get("completionMode")
    if mode is not None and mode not in ("NonIndexed", "Indexed"):
        problems.append(not_supported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed")))
    if mode == "Indexed":
        if spec.get("completions") is None:
            why = "when completion mode is Indexed"
            problems.append(required(f"{path}.completions", why))
    elif mode in (None, "NonIndexed"):
        why = "requires indexed completion mode"
        problems += [
            invalid(f"{path}.{field}", spec[field], why)
            for field in ("backoffLimitPerIndex", "maxFailedIndexes")
            if spec.get(field) is not None
        ]
    return problems


def check_job_update(job: Object, old: Object) -> list[Problem]:
    """Check the change of a job: what it runs stays, unless it is suspended and never ran."""
    new, before = job["spec"], old["spec"]
    problems = check_job_spec(new, "spec")
    if before.get("completionMode") != "Indexed":
        completions = (new.get("completions"), before.get("completions"))
        problems += immutable("spec.completions", *completions)
    problems += immutable("spec.selector", new.get("selector"), before.get("selector"))
    unstarted = bool(before.get("suspend")) and not old["status"].get("startTime")
    if not unstarted:
        problems += immutable("spec.template", new["template"], before["template"])
    else:
        specs = (_fixed(new["template"]["spec"]), _fixed(before["template"]["spec"]))
        problems += immutable("spec.template.spec", *specs)
    for field in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex"):
        problems += immutable(f"spec.{field}", new.get(field), before.get(field))
    return problems


def _fixed(spec: Object) -> Object:
    """Return what stays of a pod's spec while a job is suspended: all but where it runs."""
    free = ("nodeSelector", "tolerations", "affinity", "schedulingGates")
    kept = {key: value for key, value in spec.items() if key not in free}
    return kept | {
        field: [{**one, "resources": {}} for one in kept.get(field) or ()]
        for field in ("containers", "initContainers")
    }


def check_cron_job(cron_job: Object) -> list[Problem]:
    """Check a cron job."""
    spec = cron_job["spec"]
    problems: list[Problem] = []
    schedule = spec["schedule"]
    if not schedule:
        problems.append(required("spec.schedule"))
    elif "TZ" in schedule:
        why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        problems.append(invalid("spec.schedule", schedule, why))
    elif not schedule.startswith("@") and len(schedule.split()) != 5:
        fields = schedule.split()
        why = f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
        problems.append(invalid("spec.schedule", schedule, why))
    problems += non_negative("spec.startingDeadlineSeconds", spec.get("startingDeadlineSeconds"))
    problems += _time_zone(spec.get("timeZone"))
    policy = spec.get("concurrencyPolicy")
    if policy not in ("Allow", "Forbid", "Replace"):
        supported = ("Allow", "Forbid", "Replace")
        problems.append(not_supported("spec.concurrencyPolicy", policy, supported))
    job = spec["jobTemplate"]["spec"]
    problems += check_job_spec(job, "spec.jobTemplate.spec")
    if job.get("manualSelector"):
        text = 'Unsupported value: true: supported values: "nil", "false"'
        where = "spec.jobTemplate.spec.manualSelector"
        problems.append(("FieldValueNotSupported", where, text))
    for field in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        problems += non_negative(f"spec.{field}", spec.get(field))
    name = cron_job["metadata"].get("name", "")
    if len(name) > 52:
        problems.append(invalid("metadata.name", name, "must be no more than 52 characters"))
    return problems


def _time_zone(zone: str | None) -> list[Problem]:
    if zone is None:
        return []
    if not zone:
        return [invalid("spec.timeZone", zone, "timeZone must be nil or non-empty string")]
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return [invalid("spec.timeZone", zone, f"unknown time zone {zone}")]
    return []
