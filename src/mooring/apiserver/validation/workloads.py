"""Workloads of the apps group."""

# kubernetes: pkg/apis/apps/validation/validation.go

from __future__ import annotations

from typing import Any

import msgspec

from mooring.api.field_errors import FieldError, each, forbidden, invalid, not_supported, required
from mooring.api.labels import Selector
from mooring.api.meta import LabelSelector
from mooring.apiserver.validation.field_problems import Object, immutable, non_negative
from mooring.apiserver.validation.formats import label_problems, percent_problems
from mooring.apiserver.validation.metadata import check_selector, is_empty_selector
from mooring.apiserver.validation.pods import check_template
from mooring.apiserver.validation.volume_claims import check_claim_spec
from mooring.errors import ObjectError

NO_MATCH = "`selector` does not match template `labels`"
INVALID_SELECTOR = "invalid label selector"
_RESTART = "spec.template.spec.restartPolicy"
_ROLLING = "RollingUpdate"
_SET_BY_CONTROLLER = ("hostname", "subdomain")


def selects(selector: Object, labels: Object) -> bool | None:
    """Return whether a selector matches labels, or None if the selector is invalid."""
    try:
        return Selector.from_label_selector(msgspec.convert(selector, LabelSelector)).matches(
            labels
        )
    except (ObjectError, msgspec.ValidationError):
        return None


def check_selected_template(
    spec: Object, path: str = "spec", *, nothing: bool = True
) -> list[FieldError]:
    """Check that a workload selects the pods it creates, and check their template."""
    problems: list[FieldError] = []
    selector, template = spec.get("selector"), spec["template"]
    labels = (template.get("metadata") or {}).get("labels")
    matched = False if selector is None else selects(selector, labels or {})
    if matched is None:
        return [invalid(f"{path}.selector", selector, INVALID_SELECTOR if nothing else "")]
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


def _selector(spec: Object, kind: str) -> list[FieldError]:
    selector = spec.get("selector")
    if selector is None:
        return [required("spec.selector")]
    problems = check_selector(selector, "spec.selector")
    if is_empty_selector(selector):
        why = f"empty selector is invalid for {kind}"
        problems.append(invalid("spec.selector", selector, why))
    return problems


def check_deployment(deployment: Object) -> list[FieldError]:
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


def _deployment_strategy(strategy: Object, path: str) -> list[FieldError]:
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
    """Return a strategy as messages show it: with the fields of the Go struct."""
    rolling = strategy.get("rollingUpdate")
    if rolling is not None:
        rolling = {
            "MaxUnavailable": rolling.get("maxUnavailable", 0),
            "MaxSurge": rolling.get("maxSurge", 0),
        }
    return {"Type": strategy.get("type", ""), "RollingUpdate": rolling}


def check_amount(value: Any, path: str) -> list[FieldError]:
    """Check a non-negative number or a percentage."""
    if isinstance(value, str):
        return each(path, value, percent_problems(value))
    return non_negative(path, value)


def not_over_all(value: Any, path: str) -> list[FieldError]:
    """Refuse a percentage above 100%."""
    if isinstance(value, str) and not percent_problems(value) and int(value[:-1]) > 100:
        return [invalid(path, value, "must not be greater than 100%")]
    return []


def _whole(value: Any) -> int:
    if isinstance(value, str):
        return int(value[:-1]) if not percent_problems(value) else -1
    return int(value)


def check_deployment_update(deployment: Object, old: Object) -> list[FieldError]:
    """Check an update of a deployment: its selector may not change."""
    return check_deployment(deployment) + _same_selector(deployment, old)


def _same_selector(new: Object, old: Object) -> list[FieldError]:
    selectors = (new["spec"].get("selector"), old["spec"].get("selector"))
    return immutable("spec.selector", *selectors)


def check_replica_set(replica_set: Object) -> list[FieldError]:
    """Check a replica set."""
    spec = replica_set["spec"]
    problems = non_negative("spec.replicas", spec.get("replicas"))
    problems += non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    return problems + _selector(spec, "deployment") + check_selected_template(spec)


def check_replica_set_update(replica_set: Object, old: Object) -> list[FieldError]:
    """Check an update of a replica set: its selector may not change."""
    return check_replica_set(replica_set) + _same_selector(replica_set, old)


def check_stateful_set(stateful_set: Object) -> list[FieldError]:
    """Check a stateful set."""
    spec = stateful_set["spec"]
    problems: list[FieldError] = []
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
    """Return a stateful set's spec with the volumes that its claim templates add to its pods."""
    pod = {key: v for key, v in spec["template"]["spec"].items() if key not in _SET_BY_CONTROLLER}
    names = [(one.get("metadata") or {}).get("name", "") for one in _claims(spec)]
    volumes = [{"name": n, "persistentVolumeClaim": {"claimName": n}} for n in dict.fromkeys(names)]
    if volumes:
        made = set(names)
        pod["volumes"] = volumes + [
            one for one in pod.get("volumes") or () if one.get("name") not in made
        ]
    return spec | {"template": spec["template"] | {"spec": pod}}


def _claims(spec: Object) -> list[Object]:
    claims: list[Object] = spec.get("volumeClaimTemplates") or []
    return claims


def _stateful_set_strategy(strategy: Object, path: str) -> list[FieldError]:
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
    problems = non_negative(f"{path}.rollingUpdate.partition", rolling.get("partition"))
    unavailable, where = rolling.get("maxUnavailable"), f"{path}.rollingUpdate.maxUnavailable"
    if unavailable is None:
        return problems
    problems += check_amount(unavailable, where)
    if unavailable in (0, "0%"):
        problems.append(invalid(where, unavailable, "cannot be 0"))
    return problems + not_over_all(unavailable, where)


def check_stateful_set_update(stateful_set: Object, old: Object) -> list[FieldError]:
    """Check an update of a stateful set: some fields may not change."""
    # Use the old values of these fields: a change of them is refused below, not validated.
    kept = {
        name: old["spec"][name]
        for name in ("serviceName", "volumeClaimTemplates")
        if name in old["spec"]
    }
    problems = check_stateful_set(stateful_set | {"spec": stateful_set["spec"] | kept})
    new, before = stateful_set["spec"], old["spec"]
    for field in ("selector", "volumeClaimTemplates", "serviceName", "podManagementPolicy"):
        problems += immutable(f"spec.{field}", new.get(field), before.get(field))
    return problems


def check_daemon_set(daemon_set: Object) -> list[FieldError]:
    """Check a daemon set."""
    spec = daemon_set["spec"]
    problems: list[FieldError] = check_selector(spec.get("selector"), "spec.selector")
    selector = spec.get("selector")
    labels = (spec["template"].get("metadata") or {}).get("labels")
    if selector is None or selects(selector, labels or {}) is False:
        problems.append(invalid("spec.template.metadata.labels", labels, NO_MATCH))
    if selector is not None and is_empty_selector(selector):
        why = "empty selector is invalid for daemonset"
        problems.append(invalid("spec.selector", selector, why))
    problems += check_template(spec["template"], "spec.template")
    if spec["template"]["spec"].get("restartPolicy") != "Always":
        given = spec["template"]["spec"].get("restartPolicy")
        problems.append(not_supported(_RESTART, given, ("Always",)))
    if spec["template"]["spec"].get("activeDeadlineSeconds") is not None:
        why = "activeDeadlineSeconds in DaemonSet is not Supported"
        problems.append(forbidden("spec.template.spec.activeDeadlineSeconds", why))
    problems += non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    problems += _daemon_set_strategy(spec["updateStrategy"], "spec.updateStrategy")
    return problems + non_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))


def _daemon_set_strategy(strategy: Object, path: str) -> list[FieldError]:
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
    problems += not_over_all(unavailable, f"{where}.maxUnavailable")
    problems += not_over_all(surge, f"{where}.maxSurge")
    if _whole(unavailable) and _whole(surge):
        why = "may not be set when maxUnavailable is non-zero"
        problems.append(invalid(f"{where}.maxSurge", surge, why))
    if not _whole(unavailable) and not _whole(surge):
        why = "cannot be 0 when maxSurge is 0"
        problems.append(required(f"{where}.maxUnavailable", why))
    return problems


def check_daemon_set_update(daemon_set: Object, old: Object) -> list[FieldError]:
    """Check an update of a daemon set: its selector may not change."""
    return _same_selector(daemon_set, old) + check_daemon_set(daemon_set)


def check_revision(revision: Object) -> list[FieldError]:
    """Check a controller revision."""
    problems = non_negative("revision", revision["revision"])
    if revision.get("data") is None:
        problems.append(required("data", "data is mandatory"))
    return problems


def check_revision_update(revision: Object, old: Object) -> list[FieldError]:
    """Check an update of a controller revision: its data may not change."""
    problems = non_negative("revision", revision["revision"])
    return problems + immutable("data", revision.get("data"), old.get("data"))
