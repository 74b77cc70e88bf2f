"""The names and amounts of resources."""

# kubernetes: pkg/apis/core/validation/validation.go, pkg/apis/core/helper/helpers.go

from __future__ import annotations

from collections.abc import Callable

from mooring.api.field_errors import (
    FieldError,
    duplicate,
    each,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from mooring.api.names import is_extended_resource, is_native_resource
from mooring.api.quantity import milli_value, parse_nanos
from mooring.apiserver.validation.field_problems import Object
from mooring.apiserver.validation.formats import label_key_problems, label_problems
from mooring.errors import ObjectError

NEGATIVE = "must be greater than or equal to 0"
NOT_INTEGER = "must be an integer"
NOT_STANDARD = "must be a standard resource type or fully qualified"
NOT_FOR_CONTAINERS = "must be a standard resource for containers"
NOT_EXTENDED = "doesn't follow extended resource name standard"
NO_OVERCOMMIT = "Limit must be set for non overcommitable resources"
HUGE_PAGES_ALONE = "HugePages require cpu or memory"

HUGE_PAGES = "hugepages-"
_CONTAINER = frozenset({"cpu", "memory", "ephemeral-storage"})
_STANDARD = frozenset(
    {
        "cpu",
        "memory",
        "ephemeral-storage",
        "requests.cpu",
        "requests.memory",
        "requests.ephemeral-storage",
        "limits.cpu",
        "limits.memory",
        "limits.ephemeral-storage",
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "storage",
        "requests.storage",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_INTEGERS = frozenset(
    {
        "pods",
        "services",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)

NameProblems = Callable[[str, str], list[FieldError]]


def is_standard(name: str) -> bool:
    """Return whether a name without a prefix is one of Kubernetes' own resources."""
    return name in _STANDARD or name.startswith((HUGE_PAGES, f"requests.{HUGE_PAGES}"))


def resource_name_problems(name: str, path: str) -> list[FieldError]:
    """Check the name of a resource."""
    problems = each(path, name, label_key_problems(name))
    if not problems and "/" not in name and not is_standard(name):
        problems.append(invalid(path, name, NOT_STANDARD))
    return problems


def container_resource_name_problems(name: str, path: str) -> list[FieldError]:
    """Check the name of a resource that a container requests."""
    problems = resource_name_problems(name, path)
    if "/" not in name:
        if name not in _CONTAINER and not name.startswith(HUGE_PAGES):
            problems.append(invalid(path, name, NOT_FOR_CONTAINERS))
    elif not is_native_resource(name) and not is_extended_resource(name):
        problems.append(invalid(path, name, NOT_EXTENDED))
    return problems


def pod_resource_name_problems(name: str, path: str) -> list[FieldError]:
    """Check the name of a resource that a pod requests as a whole."""
    problems = resource_name_problems(name, path)
    if not problems and name not in ("cpu", "memory") and not name.startswith(HUGE_PAGES):
        problems.append(not_supported(path, name, ("cpu", HUGE_PAGES, "memory")))
    return problems


def quantity_problems(name: str, amount: str, path: str) -> list[FieldError]:
    """Check the amount of a resource."""
    problems: list[FieldError] = []
    if parse_nanos(amount) < 0:
        problems.append(invalid(path, amount, NEGATIVE))
    whole = name in _INTEGERS or is_extended_resource(name)
    if whole and milli_value(amount) % 1000:
        problems.append(invalid(path, amount, NOT_INTEGER))
    return problems


def overcommit_allowed(name: str) -> bool:
    """Return whether the limit of a resource may exceed its request."""
    return is_native_resource(name) and not name.startswith(HUGE_PAGES)


def check_requirements(
    resources: Object,
    path: str,
    claims: frozenset[str] = frozenset(),
    names: NameProblems = container_resource_name_problems,
) -> list[FieldError]:
    """Check the requests and limits of a container."""
    problems: list[FieldError] = []
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, amount in limits.items():
        where = f"{path}.limits[{name}]"
        problems += names(name, where) + quantity_problems(name, amount, where)
        problems += _huge_page_problems(name, amount, where)
    for name, amount in requests.items():
        where = f"{path}.requests[{name}]"
        problems += names(name, where) + quantity_problems(name, amount, where)
        limit = limits.get(name)
        if limit is not None:
            over = parse_nanos(amount) - parse_nanos(limit)
            if over and not overcommit_allowed(name):
                why = f"must be equal to {name} limit of {limit}"
                problems.append(invalid(f"{path}.requests", amount, why))
            elif over > 0:
                why = f"must be less than or equal to {name} limit of {limit}"
                problems.append(invalid(f"{path}.requests", amount, why))
        elif not overcommit_allowed(name):
            problems.append(required(f"{path}.limits", NO_OVERCOMMIT))
        problems += _huge_page_problems(name, amount, where)
    every = (*limits, *requests)
    huge = any(name.startswith(HUGE_PAGES) for name in every)
    if huge and not ("cpu" in every or "memory" in every):
        problems.append(forbidden(path, HUGE_PAGES_ALONE))
    return problems + _claim_problems(resources.get("claims") or [], f"{path}.claims", claims)


def _huge_page_problems(name: str, amount: str, path: str) -> list[FieldError]:
    if not name.startswith(HUGE_PAGES):
        return []
    size = name.removeprefix(HUGE_PAGES)
    try:
        nanos = parse_nanos(size)
    except ObjectError:
        return [invalid(path, amount, f"resource name: {name} is an invalid hugepage name")]
    if nanos > 0 and parse_nanos(amount) % nanos:
        return [invalid(path, amount, f"{amount} is not positive integer multiple of {name}")]
    return []


def _claim_problems(used: list[Object], path: str, claims: frozenset[str]) -> list[FieldError]:
    problems: list[FieldError] = []
    seen: set[str] = set()
    for i, claim in enumerate(used):
        name, request = claim.get("name", ""), claim.get("request", "")
        if not name:
            problems.append(required(f"{path}[{i}]"))
            continue
        key = f"{name}/{request}" if request else name
        if request and name not in seen:
            problems += each(f"{path}[{i}].request", request, label_problems(request))
        if name in seen or key in seen:
            problems.append(duplicate(f"{path}[{i}]", name if name in seen else key))
        seen.add(key)
        if name not in claims:
            listed = f": {', '.join(sorted(claims))}" if claims else " which is empty"
            why = f"must be one of the names in pod.spec.resourceClaims{listed}"
            problems.append(not_found(f"{path}[{i}]", name, why))
    return problems
