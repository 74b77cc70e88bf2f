"""Limit ranges and resource quotas, as far as they concern pods."""

# kube-apiserver: plugin/pkg/admission/limitranger/admission.go
# apiserver: pkg/admission/plugin/resourcequota/controller.go

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mooring.api.quantity import Quantity
from mooring.local import refusals
from mooring.local.cluster import Cluster

Object = dict[str, Any]

_NOTE = "kubernetes.io/limit-ranger"
_COMPUTE = ("cpu", "memory", "ephemeral-storage")


def apply(cluster: Cluster, pod: Object) -> None:
    """Give containers the defaults of the namespace's limit ranges, and check the bounds."""
    notes: list[str] = []
    bounds: list[Object] = []
    for stored in cluster.store.items("/limitranges", pod["metadata"]["namespace"]):
        for limit in (stored.object.get("spec") or {}).get("limits") or ():
            if limit.get("type") == "Container":
                bounds.append(limit)
                for container, what in _containers(pod):
                    notes += _default(container, limit, f"{what} {container.get('name', '')}")
    if notes:
        annotations = pod["metadata"].get("annotations") or {}
        text = f"LimitRanger plugin set: {'; '.join(notes)}"
        pod["metadata"]["annotations"] = annotations | {_NOTE: text}
    for limit in bounds:
        for container, _ in _containers(pod):
            _check(pod, container, limit)


def _containers(pod: Object) -> Iterator[tuple[Object, str]]:
    yield from ((one, "container") for one in pod["spec"].get("containers") or ())
    yield from ((one, "init container") for one in pod["spec"].get("initContainers") or ())


def _default(container: Object, limit: Object, what: str) -> Iterator[str]:
    """Set what a container does not say; yields what was set."""
    resources = container.setdefault("resources", {})
    for kind, name in (("defaultRequest", "requests"), ("default", "limits")):
        added = []
        for resource, amount in sorted((limit.get(kind) or {}).items()):
            there = resources.setdefault(name, {})
            if resource not in there:
                there[resource] = amount
                added.append(resource)
        if added:
            yield f"{', '.join(added)} {name[:-1]} for {what}"


def _check(pod: Object, container: Object, limit: Object) -> None:
    resources = container.get("resources") or {}
    requests, bounds = resources.get("requests") or {}, resources.get("limits") or {}
    problems = []
    for resource, least in (limit.get("min") or {}).items():
        found = requests.get(resource)
        where = f"{least}, but request is {found}"
        if found is None:
            problems.append(
                f"minimum {resource} usage per Container is {least}.  No request is specified"
            )
        elif Quantity(found) < Quantity(least):
            problems.append(f"minimum {resource} usage per Container is {where}")
    for resource, most in (limit.get("max") or {}).items():
        found = bounds.get(resource)
        if found is None:
            problems.append(
                f"maximum {resource} usage per Container is {most}.  No limit is specified"
            )
        elif Quantity(most) < Quantity(found):
            problems.append(
                f"maximum {resource} usage per Container is {most}, but limit is {found}"
            )
    if problems:
        text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        raise refusals.forbidden("pods", "", pod["metadata"].get("name") or "", text)


def check_quota(cluster: Cluster, pod: Object) -> None:
    """Refuse a pod that a quota of its namespace has no room for."""
    namespace = pod["metadata"]["namespace"]
    for stored in cluster.store.items("/resourcequotas", namespace):
        spec = stored.object.get("spec") or {}
        if spec.get("scopes") or spec.get("scopeSelector"):
            continue
        hard = {name: Quantity(text) for name, text in (spec.get("hard") or {}).items()}
        wanted = {name: one for name, one in _usage(pod).items() if name in hard}
        if not wanted:
            continue
        used = _used(cluster, namespace)
        over = [
            name
            for name, one in sorted(wanted.items())
            if hard[name] < used.get(name, Quantity(0)) + one
        ]
        if over:
            told = (
                ",".join(f"{name}={amounts.get(name, Quantity(0))}" for name in over)
                for amounts in (wanted, used, hard)
            )
            requested, have, limited = told
            why = (
                f"exceeded quota: {stored.object['metadata']['name']}, requested: {requested}, "
                f"used: {have}, limited: {limited}"
            )
            name = pod["metadata"].get("name") or ""
            raise refusals.forbidden("pods", "", name, why)


def _used(cluster: Cluster, namespace: str) -> dict[str, Quantity]:
    total: dict[str, Quantity] = {}
    for stored in cluster.store.items("/pods", namespace):
        if (stored.object.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
            continue
        for name, one in _usage(stored.object).items():
            total[name] = total.get(name, Quantity(0)) + one
    return total


def _usage(pod: Object) -> dict[str, Quantity]:
    """Return what a pod takes of a quota."""
    usage = {"pods": Quantity(1), "count/pods": Quantity(1)}
    for container in pod["spec"].get("containers") or ():
        resources = container.get("resources") or {}
        for kind in ("requests", "limits"):
            for name, text in (resources.get(kind) or {}).items():
                names = [f"{kind}.{name}"]
                if kind == "requests" and name in _COMPUTE:
                    names.append(name)
                for one in names:
                    usage[one] = usage.get(one, Quantity(0)) + Quantity(text)
    return usage
