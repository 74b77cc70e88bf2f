"""Horizontal pod autoscalers."""

# kubernetes: pkg/apis/autoscaling/validation/validation.go

from __future__ import annotations

from mooring.api.field_errors import FieldError, forbidden, invalid, not_supported, required
from mooring.api.quantity import parse_nanos
from mooring.apiserver.validation.autoscaler_metrics import check_metric, check_target_reference
from mooring.apiserver.validation.field_problems import Object

_CHOICES = ("Disabled", "Max", "Min")
_POLICIES = ("Percent", "Pods")
_WINDOW, _PERIOD = 3600, 1800
_TO_ZERO = "must specify at least one Object or External metric to support scaling to zero replicas"


def check_autoscaler(autoscaler: Object) -> list[FieldError]:
    """Check a horizontal pod autoscaler."""
    spec = autoscaler["spec"]
    problems: list[FieldError] = []
    least, most = spec.get("minReplicas"), spec["maxReplicas"]
    if least is not None and least < 0:
        problems.append(invalid("spec.minReplicas", least, "must be greater than or equal to 0"))
    if most == 0:
        problems.append(required("spec.maxReplicas"))
    elif most < 0:
        problems.append(invalid("spec.maxReplicas", most, "must be greater than or equal to 1"))
    if least is not None and most < least:
        why = "must be greater than or equal to `minReplicas`"
        problems.append(invalid("spec.maxReplicas", most, why))
    target, where = spec["scaleTargetRef"], "spec.scaleTargetRef"
    problems += check_target_reference(target, where)
    if "/" not in target.get("apiVersion", "") and target.get("kind") != "ReplicationController":
        why = "apiVersion must specify API group"
        given = target.get("apiVersion", "")
        problems.append(invalid(f"{where}.apiVersion", given, why))
    for i, metric in enumerate(spec.get("metrics") or ()):
        problems += check_metric(metric, f"spec.metrics[{i}]")
    kinds = {metric.get("type") for metric in spec.get("metrics") or ()}
    if least == 0 and not kinds & {"Object", "External"}:
        problems.append(forbidden("spec.metrics", _TO_ZERO))
    for name in ("scaleUp", "scaleDown"):
        if (rules := (spec.get("behavior") or {}).get(name)) is not None:
            problems += _scaling(rules, f"spec.behavior.{name}")
    return problems


def _scaling(rules: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    window, where = rules.get("stabilizationWindowSeconds"), f"{path}.stabilizationWindowSeconds"
    if window is not None and window < 0:
        problems.append(invalid(where, window, "must be greater than or equal to zero"))
    if window is not None and window > _WINDOW:
        problems.append(invalid(where, window, f"must be less than or equal to {_WINDOW}"))
    tolerance = rules.get("tolerance")
    if tolerance is not None and parse_nanos(tolerance) < 0:
        why = "must be greater than or equal to 0"
        problems.append(invalid(f"{path}.tolerance", tolerance, why))
    choice = rules.get("selectPolicy")
    if choice is not None and choice not in _CHOICES:
        problems.append(not_supported(f"{path}.selectPolicy", choice, _CHOICES))
    if not rules.get("policies"):
        problems.append(required(f"{path}.policies", "must specify at least one Policy"))
    for i, policy in enumerate(rules.get("policies") or ()):
        problems += _policy(policy, f"{path}.policies[{i}]")
    return problems


def _policy(policy: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    if policy["type"] not in _POLICIES:
        problems.append(not_supported(f"{path}.type", policy["type"], _POLICIES))
    problems += [
        invalid(f"{path}.{name}", policy[name], "must be greater than zero")
        for name in ("value", "periodSeconds")
        if policy[name] <= 0
    ]
    if policy["periodSeconds"] > _PERIOD:
        why = f"must be less than or equal to {_PERIOD}"
        problems.append(invalid(f"{path}.periodSeconds", policy["periodSeconds"], why))
    return problems
