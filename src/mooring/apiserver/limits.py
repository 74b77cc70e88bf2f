"""Limit ranges: the defaults and the bounds that they set."""

# kube-apiserver: plugin/pkg/admission/limitranger/admission.go

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mooring.api.field_errors import aggregate
from mooring.api.quantity import Quantity
from mooring.apiserver import refusals
from mooring.apiserver.server_state import ServerState

Object = dict[str, Any]
Amounts = dict[str, Quantity]

_NOTE = "kubernetes.io/limit-ranger"
_POD_LEVEL = ("cpu", "memory")


def give_defaults(cluster: ServerState, pod: Object) -> None:
    """Fill in missing requests and limits from the namespace's limit ranges."""
    for limit_range in _ranges(cluster, pod):
        limits = [one for one in _items(limit_range) if one.get("type") == "Container"]
        notes = [
            note
            for container, what in _containers(pod)
            for note in _default(container, limits, f"{what} {container.get('name', '')}")
        ]
        if notes:
            annotations = pod["metadata"].get("annotations") or {}
            text = f"LimitRanger plugin set: {'; '.join(notes)}"
            pod["metadata"]["annotations"] = annotations | {_NOTE: text}


def check_pod(cluster: ServerState, pod: Object) -> None:
    """Refuse a pod that violates a limit range of its namespace."""
    for limit_range in _ranges(cluster, pod):
        problems: list[str] = []
        for limit in _items(limit_range):
            if limit.get("type") == "Container":
                for container, _ in _containers(pod):
                    resources = container.get("resources") or {}
                    requests, limits = (
                        _amounts(resources.get(name)) for name in ("requests", "limits")
                    )
                    problems += _bounds(limit, requests, limits)
            elif limit.get("type") == "Pod":
                requests, limits = (pod_amounts(pod, name) for name in ("requests", "limits"))
                problems += _bounds(limit, requests, limits)
        _refuse("pods", pod, problems)


def check_claim(cluster: ServerState, claim: Object) -> None:
    """Refuse a claim for more or less storage than a limit range of its namespace allows."""
    for limit_range in _ranges(cluster, claim):
        asked = _amounts((claim["spec"].get("resources") or {}).get("requests"))
        problems: list[str] = []
        for limit in _items(limit_range):
            if limit.get("type") == "PersistentVolumeClaim":
                problems += _each(limit, "min", _least, asked, {})
                problems += _each(limit, "max", _most_requested, asked, {})
        _refuse("persistentvolumeclaims", claim, problems)


def pod_amounts(pod: Object, kind: str) -> Amounts:
    """Return the total requests or limits (`kind`) of a pod."""
    spec = pod["spec"]
    total: Amounts = {}
    for container in spec.get("containers") or ():
        _add(total, _of(container, kind))
    sidecars: Amounts = {}
    highest: Amounts = {}
    for container in spec.get("initContainers") or ():
        amounts = dict(_of(container, kind))
        if container.get("restartPolicy") == "Always":
            _add(total, amounts)
            _add(sidecars, amounts)
            amounts = dict(sidecars)
        else:
            _add(amounts, sidecars)
        _raise_to(highest, amounts)
    _raise_to(total, highest)
    for name, amount in _amounts((spec.get("resources") or {}).get(kind)).items():
        if name in _POD_LEVEL:
            total[name] = amount
    return total


def _ranges(cluster: ServerState, obj: Object) -> Iterator[Object]:
    for stored in cluster.store.items("/limitranges", obj["metadata"]["namespace"]):
        yield stored.object


def _items(limit_range: Object) -> list[Object]:
    items: list[Object] = (limit_range.get("spec") or {}).get("limits") or []
    return items


def _containers(pod: Object) -> Iterator[tuple[Object, str]]:
    yield from ((one, "container") for one in pod["spec"].get("containers") or ())
    yield from ((one, "init container") for one in pod["spec"].get("initContainers") or ())


def _amounts(texts: Object | None) -> Amounts:
    return {name: Quantity(text) for name, text in (texts or {}).items()}


def _of(container: Object, kind: str) -> Amounts:
    return _amounts((container.get("resources") or {}).get(kind))


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _raise_to(total: Amounts, least: Amounts) -> None:
    for name, amount in least.items():
        if name not in total or total[name] < amount:
            total[name] = amount


def _default(container: Object, limits: list[Object], what: str) -> Iterator[str]:
    """Set a container's missing requests and limits; yield a description of what was set."""
    resources = container.setdefault("resources", {})
    for kind, name in (("defaultRequest", "requests"), ("default", "limits")):
        added = []
        amounts = {key: text for limit in limits for key, text in (limit.get(kind) or {}).items()}
        for resource, amount in sorted(amounts.items()):
            there = resources.setdefault(name, {})
            if resource not in there:
                there[resource] = amount
                added.append(resource)
        if added:
            yield f"{', '.join(added)} {name[:-1]} for {what}"


def _bounds(limit: Object, requests: Amounts, limits: Amounts) -> Iterator[str]:
    for field, check in (("min", _least), ("max", _most), ("maxLimitRequestRatio", _ratio)):
        yield from _each(limit, field, check, requests, limits)


Check = Callable[[str, str, Quantity, Amounts, Amounts], str]


def _each(
    limit: Object, field: str, check: Check, requests: Amounts, limits: Amounts
) -> Iterator[str]:
    for name, text in sorted((limit.get(field) or {}).items()):
        if problem := check(limit["type"], name, Quantity(text), requests, limits):
            yield problem


def _least(kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str:
    told = f"minimum {name} usage per {kind} is {bound}"
    if name not in requests:
        return f"{told}.  No request is specified"
    if requests[name] < bound:
        return f"{told}, but request is {requests[name]}"
    if name in limits and limits[name] < bound:
        return f"{told}, but limit is {limits[name]}"
    return ""


def _most_requested(kind: str, name: str, bound: Quantity, requests: Amounts, _: Amounts) -> str:
    told = f"maximum {name} usage per {kind} is {bound}"
    if name not in requests:
        return f"{told}.  No request is specified"
    return f"{told}, but request is {requests[name]}" if bound < requests[name] else ""


def _most(kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str:
    told = f"maximum {name} usage per {kind} is {bound}"
    if name not in limits:
        return f"{told}.  No limit is specified"
    if bound < limits[name]:
        return f"{told}, but limit is {limits[name]}"
    if name in requests and bound < requests[name]:
        return f"{told}, but request is {requests[name]}"
    return ""


def _ratio(kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str:
    told = f"{name} max limit to request ratio per {kind} is {bound}"
    for amounts, what in ((requests, "request"), (limits, "limit")):
        if name not in amounts or amounts[name].is_zero():
            return f"{told}, but no {what} is specified or {what} is 0"
    ratio = limits[name].nanos / requests[name].nanos
    if ratio * 1000 > bound.milli_value():
        return f"{told}, but provided ratio is {ratio:f}"
    return ""


def _refuse(resource: str, obj: Object, problems: list[str]) -> None:
    if problems:
        text = aggregate(problems)
        raise refusals.forbidden(resource, "", obj["metadata"].get("name") or "", text)
