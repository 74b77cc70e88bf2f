"""Quotas and limits of namespaces."""

# kubernetes: pkg/apis/core/validation/validation.go (ValidateResourceQuota, ValidateLimitRange)

from __future__ import annotations

from mooring.api.quantity import parse_nanos
from mooring.local.validation.problems import (
    Object,
    Problem,
    duplicate,
    each,
    forbidden,
    invalid,
    required,
)
from mooring.local.validation.resources import (
    is_standard,
    quantity_problems,
    resource_name_problems,
)

_SCOPES = frozenset(
    {
        "Terminating",
        "NotTerminating",
        "BestEffort",
        "NotBestEffort",
        "PriorityClass",
        "VolumeAttributesClass",
        "CrossNamespacePodAffinity",
    }
)


def check_quota(quota: Object) -> list[Problem]:
    """Check a resource quota."""
    problems: list[Problem] = []
    spec = quota["spec"]
    for name, amount in (spec.get("hard") or {}).items():
        where = f"spec.hard[{name}]"
        problems += resource_name_problems(name, where)
        counted = name.startswith("count/")
        if "/" not in name and not is_standard(name):
            problems.append(invalid(where, name, "must be a standard resource for quota"))
        problems += quantity_problems("pods" if counted else name, amount, where)
    return problems + _scopes(spec) + _scope_selector(spec)


def _scopes(spec: Object) -> list[Problem]:
    scopes = spec.get("scopes") or []
    pairs = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
    whys = ["unsupported scope" for scope in scopes if scope not in _SCOPES]
    whys += ["conflicting scopes" for pair in pairs if all(one in scopes for one in pair)]
    return each("spec.scopes", scopes, whys)


def _scope_selector(spec: Object) -> list[Problem]:
    problems: list[Problem] = []
    where = "spec.scopeSelector.matchExpressions"
    for one in (spec.get("scopeSelector") or {}).get("matchExpressions") or ():
        if one["scopeName"] not in _SCOPES:
            problems.append(invalid(f"{where}.scopeName", one["scopeName"], "unsupported scope"))
        operator, values = one["operator"], one.get("values") or []
        if operator in ("In", "NotIn"):
            if not values:
                why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope "
                problems.append(required(f"{where}.values", f"{why}selector"))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                why = "must be no value when `operator` is 'Exists' or 'DoesNotExist' for scope "
                problems.append(invalid(f"{where}.values", values, f"{why}selector"))
        else:
            why = "not a valid selector operator"
            problems.append(invalid(f"{where}.operator", operator, why))
    return problems


def check_limit_range(limits: Object) -> list[Problem]:
    """Check a limit range."""
    problems: list[Problem] = []
    seen: set[str] = set()
    for i, item in enumerate(limits["spec"].get("limits") or ()):
        where, kind = f"spec.limits[{i}]", item["type"]
        if "/" not in kind and kind not in ("Pod", "Container", "PersistentVolumeClaim"):
            why = "must be a standard limit type or fully qualified"
            problems.append(invalid(f"{where}.type", kind, why))
        if kind in seen:
            problems.append(duplicate(f"{where}.type", kind))
        seen.add(kind)
        for field in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
            if field.startswith("default") and kind == "Pod":
                if item.get(field):
                    why = "may not be specified when `type` is 'Pod'"
                    problems.append(forbidden(f"{where}.{field}", why))
                continue
            for name in item.get(field) or ():
                problems += resource_name_problems(name, f"{where}.{field}[{name}]")
        problems += _limit_order(item, where)
    return problems


def _limit_order(item: Object, path: str) -> list[Problem]:
    problems: list[Problem] = []
    fields = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
    lists = {field: item.get(field) or {} for field in fields}
    for name in sorted({name for amounts in lists.values() for name in amounts}):
        most, least = lists["max"].get(name), lists["min"].get(name)
        default, request = lists["default"].get(name), lists["defaultRequest"].get(name)
        ratio = lists["maxLimitRequestRatio"].get(name)
        problems += _above(path, "min", name, least, most, "min value", "max value")
        problems += _above(path, "defaultRequest", name, least, request, "min value", _REQUEST)
        problems += _above(path, "defaultRequest", name, request, most, _REQUEST, "max value")
        problems += _above(path, "defaultRequest", name, request, default, _REQUEST, _LIMIT)
        problems += _above(path, "default", name, least, default, "min value", "default value")
        if _exceeds(default, most):
            why = f"default value {default} is greater than max value {most}"
            problems.append(invalid(f"{path}.default[{name}]", most, why))
        if ratio is not None and parse_nanos(ratio) < parse_nanos("1"):
            why = f"ratio {ratio} is less than 1"
            problems.append(invalid(f"{path}.maxLimitRequestRatio[{name}]", ratio, why))
    return problems


_REQUEST, _LIMIT = "default request value", "default limit value"


def _exceeds(left: str | None, right: str | None) -> bool:
    return left is not None and right is not None and parse_nanos(left) > parse_nanos(right)


def _above(
    path: str,
    field: str,
    name: str,
    left: str | None,
    right: str | None,
    this: str,
    that: str,
) -> list[Problem]:
    if not _exceeds(left, right):
        return []
    given = left if field == "min" or this == _REQUEST else right
    why = f"{this} {left} is greater than {that} {right}"
    return [invalid(f"{path}.{field}[{name}]", given, why)]
