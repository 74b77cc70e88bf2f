"""Resource quotas and limit ranges."""

# kubernetes: pkg/apis/core/validation/validation.go (ValidateResourceQuota, ValidateLimitRange)

from __future__ import annotations

from collections.abc import Iterable

from mooring.api.field_errors import FieldError, duplicate, each, forbidden, invalid, required
from mooring.api.quantity import NANOS, parse_nanos
from mooring.apiserver.validation.field_problems import IMMUTABLE, Object
from mooring.apiserver.validation.formats import label_key_problems
from mooring.apiserver.validation.resource_amounts import (
    container_resource_name_problems,
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
_PLAIN = _SCOPES - {"PriorityClass", "VolumeAttributesClass"}
_OF_PODS = frozenset(
    {"pods", "cpu", "memory"}
    | {f"{k}.{n}" for k in ("requests", "limits") for n in ("cpu", "memory")}
)
_UNSUITED = "unsupported scope applied to resource"
_EXISTS = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
    "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
    "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def check_quota(quota: Object) -> list[FieldError]:
    """Check a resource quota."""
    problems: list[FieldError] = []
    spec = quota["spec"]
    for name, amount in (spec.get("hard") or {}).items():
        problems += _counted(name, amount, f"spec.hard[{name}]")
    return problems + _scopes(spec) + _scope_selector(spec)


def _counted(name: str, amount: str, where: str) -> list[FieldError]:
    problems = resource_name_problems(name, where)
    if "/" not in name and not is_standard(name):
        problems.append(invalid(where, name, "must be a standard resource for quota"))
    counted = name.startswith("count/")
    return problems + quantity_problems("pods" if counted else name, amount, where)


def check_quota_update(quota: Object, old: Object) -> list[FieldError]:
    """Check an update of a resource quota: its scopes may not change."""
    new, before = (one["spec"].get("scopes") or [] for one in (quota, old))
    problems = check_quota(quota)
    if set(new) != set(before):
        problems.append(invalid("spec.scopes", new, IMMUTABLE))
    return problems


def check_quota_status(quota: Object, old: Object) -> list[FieldError]:
    """Check the status of a quota: the amounts allowed and used."""
    status = quota.get("status") or {}
    problems: list[FieldError] = []
    for field in ("hard", "used"):
        for name, amount in (status.get(field) or {}).items():
            problems += _counted(name, amount, f"status.{field}[{name}]")
    return problems


def _suits(scope: str, name: str) -> bool:
    """Return whether a scope applies to a resource; any scope does to an unknown resource."""
    if not is_standard(name):
        return True
    if scope == "BestEffort":
        return name == "pods"
    if scope == "VolumeAttributesClass":
        return name in ("persistentvolumeclaims", "requests.storage")
    return scope not in _SCOPES or name in _OF_PODS


def _conflicts(scopes: Iterable[str]) -> int:
    pairs = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
    return sum(set(pair) <= set(scopes) for pair in pairs)


def _scopes(spec: Object) -> list[FieldError]:
    scopes = spec.get("scopes") or []
    whys: list[str] = []
    for scope in scopes:
        if scope not in _SCOPES:
            whys.append("unsupported scope")
        whys += [_UNSUITED for name in spec.get("hard") or () if not _suits(scope, name)]
    whys += ["conflicting scopes"] * _conflicts(scopes)
    return each("spec.scopes", scopes, whys)


def _scope_selector(spec: Object) -> list[FieldError]:
    problems: list[FieldError] = []
    where = "spec.scopeSelector.matchExpressions"
    selector = spec.get("scopeSelector") or {}
    for one in selector.get("matchExpressions") or ():
        name, operator, values = one["scopeName"], one["operator"], one.get("values") or []
        if name not in _SCOPES:
            problems.append(invalid(f"{where}.scopeName", name, "unsupported scope"))
        problems += [
            invalid(where, selector, _UNSUITED)
            for resource in spec.get("hard") or ()
            if not _suits(name, resource)
        ]
        if name in _PLAIN and operator != "Exists":
            problems.append(invalid(f"{where}.operator", operator, _EXISTS))
        if operator in ("In", "NotIn"):
            if not values:
                why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope "
                problems.append(required(f"{where}.values", f"{why}selector"))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope "
                problems.append(invalid(f"{where}.values", values, f"{why}selector"))
        else:
            why = "not a valid selector operator"
            problems.append(invalid(f"{where}.operator", operator, why))
    names = [one["scopeName"] for one in selector.get("matchExpressions") or ()]
    for _ in range(_conflicts(names)):
        problems.append(invalid(where, spec.get("scopes"), "conflicting scopes"))
    return problems


def check_limit_range(limits: Object) -> list[FieldError]:
    """Check a limit range."""
    problems: list[FieldError] = []
    seen: set[str] = set()
    for i, item in enumerate(limits["spec"].get("limits") or ()):
        where, kind = f"spec.limits[{i}]", item["type"]
        whys = label_key_problems(kind)
        problems += each(f"{where}.type", kind, whys)
        standard = "/" in kind or kind in ("Pod", "Container", "PersistentVolumeClaim")
        if not whys and not standard:
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
            of_containers = kind in ("Pod", "Container")
            check = container_resource_name_problems if of_containers else resource_name_problems
            for name in item.get(field) or ():
                problems += check(name, f"{where}.{field}[{name}]")
        if kind == "PersistentVolumeClaim" and not any(
            "storage" in (item.get(field) or {}) for field in ("min", "max")
        ):
            why = "either minimum or maximum storage value is required, but neither was provided"
            problems.append(required(f"{where}.limits", why))
        problems += _limit_order(item, where)
    return problems


def _limit_order(item: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
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
        problems += _ratio_order(path, name, ratio, least, most)
    return problems


def _ratio_order(
    path: str, name: str, ratio: str | None, least: str | None, most: str | None
) -> list[FieldError]:
    if ratio is None or least is None or most is None or not parse_nanos(least):
        return []
    bound = parse_nanos(most) / parse_nanos(least)
    if parse_nanos(ratio) / NANOS <= bound:
        return []
    why = f"ratio {ratio} is greater than max/min = {bound:f}"
    return [invalid(f"{path}.maxLimitRequestRatio[{name}]", ratio, why)]


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
) -> list[FieldError]:
    if not _exceeds(left, right):
        return []
    given = left if field != "defaultRequest" or this == _REQUEST else right
    why = f"{this} {left} is greater than {that} {right}"
    return [invalid(f"{path}.{field}[{name}]", given, why)]
