"""The metrics of autoscalers."""

# kubernetes: pkg/apis/autoscaling/validation/validation.go (validateMetricSpec)

from __future__ import annotations

from collections.abc import Callable

from mooring.api.field_errors import FieldError, each, forbidden, invalid, not_supported, required
from mooring.api.quantity import parse_nanos
from mooring.apiserver.validation.field_problems import Object
from mooring.apiserver.validation.formats import label_problems, path_segment_problems
from mooring.apiserver.validation.resource_amounts import container_resource_name_problems

_TYPES = ("ContainerResource", "External", "Object", "Pods", "Resource")
_TARGETS = ("Utilization", "Value", "AverageValue")
NOT_POPULATED = "must populate information for the given metric source"
ONE_SOURCE = "must populate the given metric source only"


def segment(given: str, path: str, why: str = "") -> list[FieldError]:
    """Check a name that is part of a path; `why` is the message if it is empty."""
    return each(path, given, path_segment_problems(given)) if given else [required(path, why)]


def check_target_reference(reference: Object, path: str) -> list[FieldError]:
    """Check a reference to an object that may be of any version."""
    kind, version = reference.get("kind") or "", reference.get("apiVersion") or ""
    problems = segment(kind, f"{path}.kind")
    problems += segment(reference.get("name") or "", f"{path}.name")
    if version.count("/") > 1:
        why = f"unexpected GroupVersion string: {version}"
        problems.append(invalid(f"{path}.apiVersion", version, why))
    return problems


def check_metric(metric: Object, path: str) -> list[FieldError]:
    """Check a metric: it must have one source, of the type that it names."""
    kind = metric.get("type") or ""
    problems: list[FieldError] = []
    if not kind:
        problems.append(required(f"{path}.type", "must specify a metric source type"))
    if kind not in _TYPES:
        problems += [not_supported(f"{path}.type", kind, _TYPES)] * 2
    given = [name for name in _SOURCES if metric.get(name) is not None]
    if given:
        problems += _SOURCES[given[0]](metric[given[0]], f"{path}.{given[0]}")
    named = kind[:1].lower() + kind[1:]
    if kind in _TYPES and named not in given:
        problems.append(required(f"{path}.{named}", NOT_POPULATED))
    if len(given) > 1:
        problems += [forbidden(f"{path}.{name}", ONE_SOURCE) for name in given if name != named]
    return problems


def _identifier(source: Object, path: str) -> list[FieldError]:
    name = source["metric"].get("name") or ""
    return segment(name, f"{path}.metric.name", "must specify a metric name")


def _target(source: Object, path: str) -> list[FieldError]:
    target, where = source["target"], f"{path}.target"
    kind = target.get("type") or ""
    problems: list[FieldError] = []
    if not kind:
        problems.append(required(f"{where}.type", "must specify a metric target type"))
    if kind not in _TARGETS:
        why = "must be either Utilization, Value, or AverageValue"
        problems.append(invalid(f"{where}.type", kind, why))
    for name in ("value", "averageValue"):
        amount = target.get(name)
        if amount is not None and parse_nanos(amount) <= 0:
            problems.append(invalid(f"{where}.{name}", amount, "must be positive"))
    share = target.get("averageUtilization")
    if share is not None and share < 1:
        problems.append(invalid(f"{where}.averageUtilization", share, "must be greater than 0"))
    return problems


def _object(source: Object, path: str) -> list[FieldError]:
    problems = check_target_reference(source["describedObject"], f"{path}.describedObject")
    problems += _identifier(source, path) + _target(source, path)
    target = source["target"]
    if target.get("value") is None and target.get("averageValue") is None:
        why = "must set either a target value or averageValue"
        problems.append(required(f"{path}.target.averageValue", why))
    return problems


def _external(source: Object, path: str) -> list[FieldError]:
    problems = _identifier(source, path) + _target(source, path)
    what = ("a target value for metric", "a per-pod target")
    return problems + _one_of(source, path, ("averageValue", "value"), what)


def _pods(source: Object, path: str) -> list[FieldError]:
    problems = _identifier(source, path) + _target(source, path)
    if source["target"].get("averageValue") is None:
        why = "must specify a positive target averageValue"
        problems.append(required(f"{path}.target.averageValue", why))
    return problems


def _resource(source: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    if not source.get("name"):
        problems.append(required(f"{path}.name", "must specify a resource name"))
    return problems + _raw_or_share(source, path)


def _raw_or_share(source: Object, path: str) -> list[FieldError]:
    what = ("a target raw value", "a target utilization")
    names = ("averageUtilization", "averageValue")
    return _target(source, path) + _one_of(source, path, names, what)


def _one_of(
    source: Object, path: str, names: tuple[str, str], what: tuple[str, str]
) -> list[FieldError]:
    """Require one of two targets; blame the first if none is set, the second if both are."""
    given = [source["target"].get(name) is not None for name in names]
    if not any(given):
        return [required(f"{path}.target.{names[0]}", f"must set either {what[0]} or {what[1]}")]
    if all(given):
        why = f"may not set both {what[0]} and {what[1]}"
        return [forbidden(f"{path}.target.{names[1]}", why)]
    return []


def _container_resource(source: Object, path: str) -> list[FieldError]:
    name, container = source.get("name") or "", source.get("container") or ""
    problems: list[FieldError] = []
    if not name:
        problems.append(required(f"{path}.name", "must specify a resource name"))
    else:
        problems += container_resource_name_problems(name, f"{path}.name")
    if not container:
        problems.append(required(f"{path}.container", "must specify a container"))
    else:
        problems += each(f"{path}.container", container, label_problems(container))
    return problems + _raw_or_share(source, path)


# In the order in which the API server checks them.
_SOURCES: dict[str, Callable[[Object, str], list[FieldError]]] = {
    "object": _object,
    "external": _external,
    "pods": _pods,
    "resource": _resource,
    "containerResource": _container_resource,
}
