"""Jobs and cron jobs."""

# kubernetes: pkg/apis/batch/validation/validation.go

from __future__ import annotations

import zoneinfo

from mooring.api.field_errors import FieldError, each, invalid, not_supported, required, too_long
from mooring.apiserver.validation.field_problems import Object, immutable, non_negative
from mooring.apiserver.validation.file_paths import prefixed_path
from mooring.apiserver.validation.formats import label_problems
from mooring.apiserver.validation.job_policies import check_failure_policy, check_success_policy
from mooring.apiserver.validation.pods import check_template
from mooring.apiserver.validation.schedules import schedule_problems
from mooring.apiserver.validation.workloads import NO_MATCH, selects

_KEEPER_LENGTH = 63
_PARALLELISM = 100_000
CONTROLLER_UID = "batch.kubernetes.io/controller-uid"


def check_job(job: Object) -> list[FieldError]:
    """Check a job."""
    spec, name = job["spec"], job["metadata"].get("name", "")
    problems = check_job_spec(spec, "spec") + _job_selector(job)
    if spec.get("completionMode") == "Indexed" and (spec.get("completions") or 0) > 0:
        last = f"{name}-{spec['completions'] - 1}"
        if label_problems(last):
            why = f"will not able to create pod with invalid DNS label: {last}"
            problems.append(invalid("metadata.name", name, why))
    return problems


def _job_selector(job: Object) -> list[FieldError]:
    """Check that a job selects its own pods; the server sets the selector by default."""
    spec = job["spec"]
    selector = spec.get("selector")
    problems: list[FieldError] = []
    if selector is None:
        if not spec.get("manualSelector"):
            return []
        problems.append(required("spec.selector"))
    uid = job["metadata"].get("uid")
    generated = {"matchLabels": {CONTROLLER_UID: uid}}
    if selector is not None and not spec.get("manualSelector") and selector != generated:
        problems.append(invalid("spec.selector", selector, "`selector` not auto-generated"))
    labels = (spec["template"].get("metadata") or {}).get("labels")
    if selector is None or selects(selector, labels or {}) is False:
        problems.append(invalid("spec.template.metadata.labels", labels, NO_MATCH))
    return problems


def check_job_spec(spec: Object, path: str) -> list[FieldError]:
    """Check the spec of a job, or of the jobs that a cron job creates."""
    problems: list[FieldError] = []
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
    if (keeper := spec.get("managedBy")) is not None:
        problems += prefixed_path(keeper, f"{path}.managedBy")
        if len(keeper) > _KEEPER_LENGTH:
            problems.append(too_long(f"{path}.managedBy", _KEEPER_LENGTH))
    problems += _completion(spec, path)
    judged = spec.get("podFailurePolicy") is not None
    if judged:
        problems += check_failure_policy(spec, f"{path}.podFailurePolicy")
    if spec.get("successPolicy") is not None:
        problems += check_success_policy(spec, f"{path}.successPolicy")
    policy = spec.get("podReplacementPolicy")
    supported = ("Failed",) if judged else ("Failed", "TerminatingOrFailed")
    if policy is not None and policy not in supported:
        problems.append(not_supported(f"{path}.podReplacementPolicy", policy, supported))
    problems += check_template(spec["template"], f"{path}.template")
    restart, where = spec["template"]["spec"].get("restartPolicy"), f"{path}.template.spec"
    if restart in ("Always", None, ""):
        why = 'valid values: "OnFailure", "Never"'
        problems.append(required(f"{where}.restartPolicy", why))
    elif restart not in ("OnFailure", "Never"):
        problems.append(not_supported(f"{where}.restartPolicy", restart, ("OnFailure", "Never")))
    elif judged and restart != "Never":
        why = 'only "Never" is supported when podFailurePolicy is specified'
        problems.append(invalid(f"{where}.restartPolicy", restart, why))
    return problems


def _completion(spec: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    mode = spec.get("completionMode")
    if mode is not None and mode not in ("NonIndexed", "Indexed"):
        problems.append(not_supported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed")))
    if mode == "Indexed":
        if spec.get("completions") is None:
            why = "when completion mode is Indexed"
            problems.append(required(f"{path}.completions", why))
        problems += _indexed(spec, path)
    elif mode in (None, "NonIndexed"):
        why = "requires indexed completion mode"
        problems += [
            invalid(f"{path}.{field}", spec[field], why)
            for field in ("backoffLimitPerIndex", "maxFailedIndexes")
            if spec.get(field) is not None
        ]
    return problems


def _indexed(spec: Object, path: str) -> list[FieldError]:
    """Check the size of an indexed job."""
    problems: list[FieldError] = []
    parallelism, completions = spec.get("parallelism") or 0, spec.get("completions")
    failed = spec.get("maxFailedIndexes")
    if parallelism > _PARALLELISM:
        why = f"must be less than or equal to {_PARALLELISM} when completion mode is Indexed"
        problems.append(invalid(f"{path}.parallelism", parallelism, why))
    if failed is None or completions is None:
        return problems
    where = f"{path}.maxFailedIndexes"
    if failed > completions:
        problems.append(invalid(where, failed, "must be less than or equal to completions"))
    if failed > _PARALLELISM:
        why = f"must be less than or equal to {_PARALLELISM}"
        problems.append(invalid(where, failed, why))
    return problems


def check_job_update(job: Object, old: Object) -> list[FieldError]:
    """Check an update of a job: its pod template is fixed, except before a suspended job starts."""
    new, before = job["spec"], old["spec"]
    problems = check_job_spec(new, "spec")
    labels = (new["template"].get("metadata") or {}).get("labels")
    if new.get("selector") is None:
        problems.append(required("spec.selector"))
    if new.get("selector") is None or selects(new["selector"], labels or {}) is False:
        problems.append(invalid("spec.template.metadata.labels", labels, NO_MATCH))
    completions = (new.get("completions"), before.get("completions"))
    if new.get("completionMode") != "Indexed":
        problems += immutable("spec.completions", *completions)
    elif None not in completions and completions[0] not in (
        completions[1],
        new.get("parallelism"),
    ):
        why = "can only be modified in tandem with spec.parallelism"
        problems.append(invalid("spec.completions", completions[0], why))
    problems += immutable("spec.selector", new.get("selector"), before.get("selector"))
    unstarted = bool(before.get("suspend")) and not old["status"].get("startTime")
    if not unstarted:
        problems += immutable("spec.template", new["template"], before["template"])
    else:
        specs = (_fixed(new["template"]["spec"]), _fixed(before["template"]["spec"]))
        problems += immutable("spec.template.spec", *specs)
    for field in (
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ):
        problems += immutable(f"spec.{field}", new.get(field), before.get(field))
    return problems


def _fixed(spec: Object) -> Object:
    """Return the fields of a pod's spec that are fixed before a suspended job starts.

    Only placement and the resources of containers may change.
    """
    free = ("nodeSelector", "tolerations", "affinity", "schedulingGates")
    kept = {key: value for key, value in spec.items() if key not in free}
    return kept | {
        field: [{**one, "resources": {}} for one in kept.get(field) or ()]
        for field in ("containers", "initContainers")
    }


def check_cron_job(cron_job: Object) -> list[FieldError]:
    """Check a cron job."""
    spec = cron_job["spec"]
    problems: list[FieldError] = []
    schedule = spec["schedule"]
    if not schedule:
        problems.append(required("spec.schedule"))
    else:
        problems += each("spec.schedule", schedule, schedule_problems(schedule))
        if "TZ" in schedule:
            why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
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
        where = "spec.jobTemplate.spec.manualSelector"
        problems.append(not_supported(where, True, ("nil", "false")))
    for field in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        problems += non_negative(f"spec.{field}", spec.get(field))
    name = cron_job["metadata"].get("name", "")
    if len(name) > 52:
        problems.append(invalid("metadata.name", name, "must be no more than 52 characters"))
    return problems


def _time_zone(zone: str | None) -> list[FieldError]:
    if zone is None:
        return []
    if not zone:
        return [invalid("spec.timeZone", zone, "timeZone must be nil or non-empty string")]
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return [invalid("spec.timeZone", zone, f"unknown time zone {zone}")]
    return []
