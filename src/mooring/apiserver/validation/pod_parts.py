"""The parts of a pod that have their own subresources: status, resources, ephemeral containers."""

# kubernetes: pkg/apis/core/validation/validation.go (ValidatePodStatusUpdate, ValidatePodResize,
# ValidatePodEphemeralContainersUpdate)

from __future__ import annotations

import copy

from mooring.api.field_errors import FieldError, duplicate, each, forbidden, invalid
from mooring.apiserver.new_pods import qos_class
from mooring.apiserver.validation.containers import check_ephemeral_containers
from mooring.apiserver.validation.field_problems import Object, immutable
from mooring.apiserver.validation.formats import ip_problems, label_key_problems, subdomain_problems
from mooring.apiserver.validation.node_allocatable import check_claim_amounts
from mooring.apiserver.validation.pods import MIRROR, check_pod_spec
from mooring.apiserver.validation.volumes import check_volumes

_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
_RESIZABLE = ("cpu", "memory")


def check_pod_status(pod: Object, old: Object) -> list[FieldError]:
    """Check an update of a pod's status."""
    problems: list[FieldError] = []
    status, before = pod["status"], old["status"]
    for i, condition in enumerate(status.get("conditions") or ()):
        if condition["type"] not in _SYSTEM_CONDITIONS:
            where = f"status.conditions[{i}].Type"
            problems += each(where, condition["type"], label_key_problems(condition["type"]))
        generation = condition.get("observedGeneration")
        if generation is not None and generation < 0:
            why = "must be a non-negative integer"
            where = f"status.conditions[{i}].observedGeneration"
            problems.append(invalid(where, generation, why))
    nominated, earlier = status.get("nominatedNodeName"), before.get("nominatedNodeName")
    if nominated and nominated != earlier:
        problems += each("status.nominatedNodeName", nominated, subdomain_problems(nominated))
        if old["spec"].get("nodeName"):
            why = "may not be set on pods that are already bound to a node"
            problems.append(forbidden("status.nominatedNodeName", why))
    if (status.get("observedGeneration") or 0) < 0:
        given = status["observedGeneration"]
        why = "must be a non-negative integer"
        problems.append(invalid("status.observedGeneration", given, why))
    quality = (status.get("qosClass", ""), before.get("qosClass", ""))
    problems += immutable("status.qosClass", *quality)
    problems += _restarted(status, before, old["spec"])
    problems += _claim_statuses(status, pod["spec"])
    problems += check_claim_amounts(status, pod["spec"])
    return problems + _addresses(status, before)


def _restarted(status: Object, before: Object, spec: Object) -> list[FieldError]:
    """Refuse to restart a container that has terminated for good."""
    now = {one.get("name"): one for one in status.get("containerStatuses") or ()}
    containers = {one["name"]: one for one in spec.get("containers") or ()}
    problems: list[FieldError] = []
    for i, one in enumerate(before.get("containerStatuses") or ()):
        ended = (one.get("state") or {}).get("terminated")
        later = now.get(one.get("name"))
        if ended is None or later is None or (later.get("state") or {}).get("terminated"):
            continue
        container = containers.get(one.get("name") or "") or {}
        policy = container.get("restartPolicy") or spec.get("restartPolicy")
        restarts = policy == "Always" or (policy == "OnFailure" and ended.get("exitCode"))
        if not container or not restarts:
            why = "may not be transitioned to non-terminated state"
            problems.append(forbidden(f"status.containerStatuses[{i}].state", why))
    return problems


def _claim_statuses(status: Object, spec: Object) -> list[FieldError]:
    known = {one["name"] for one in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    problems: list[FieldError] = []
    for i, one in enumerate(status.get("resourceClaimStatuses") or ()):
        where, name = f"status.resourceClaimStatuses[{i}].name", one["name"]
        if name not in known:
            why = "must match the name of an entry in `spec.resourceClaims`"
            problems.append(invalid(where, name, why))
        if name in seen:
            problems.append(duplicate(where, name))
        seen.add(name)
    return problems


def _addresses(status: Object, before: Object) -> list[FieldError]:
    problems: list[FieldError] = []
    for field in ("podIPs", "hostIPs"):
        given = status.get(field) or []
        if field == "hostIPs" and given and given[0]["ip"] != (status.get("hostIP") or ""):
            why = "must be equal to `hostIP`"
            problems.append(invalid(f"status.{field}[0].ip", given[0]["ip"], why))
        if field == "hostIPs" and given == (before.get(field) or []):
            continue
        for i, one in enumerate(given):
            if one not in (before.get(field) or ()):
                problems += each(f"status.{field}[{i}]", one["ip"], ip_problems(one["ip"]))
        kinds = {":" in one["ip"] for one in given}
        if len(given) > 1 and (len(kinds) < 2 or len(given) > 2):
            why = "may specify no more than one IP for each IP family"
            problems.append(invalid(f"status.{field}", given, why))
    return problems


def check_ephemeral(pod: Object, old: Object) -> list[FieldError]:
    """Check an update of a pod's ephemeral containers: they may be added, but not changed."""
    spec = pod["spec"]
    path = "spec.ephemeralContainers"
    if MIRROR in (old["metadata"].get("annotations") or {}):
        return [forbidden("", "static pods do not support ephemeral containers")]
    volumes, _ = check_volumes(spec.get("volumes"), "spec.volumes", "")
    problems = check_ephemeral_containers(spec.get("ephemeralContainers"), path, volumes, spec)
    given = {one["name"]: one for one in spec.get("ephemeralContainers") or ()}
    for one in old["spec"].get("ephemeralContainers") or ():
        name = one["name"]
        if name not in given:
            why = f'existing ephemeral containers "{name}" may not be removed\n'
            problems.append(forbidden(path, why))
        elif given[name] != one:
            why = f'existing ephemeral containers "{name}" may not be changed\n'
            problems.append(forbidden(path, why))
    return problems


def check_resize(pod: Object, old: Object) -> list[FieldError]:
    """Check an update of the resources of a pod's containers."""
    spec, before = pod["spec"], old["spec"]
    problems = check_pod_spec(spec, "spec", pod["metadata"].get("name", ""), pod=True)
    if MIRROR in (old["metadata"].get("annotations") or {}):
        return [forbidden("", "static pods cannot be resized")]
    quality = qos_class(before)
    if quality != qos_class(spec):
        why = "Pod QOS Class may not change as a result of resizing"
        problems.append(invalid("spec", quality, why))
    order = _reordered(spec, before)
    if order:
        return problems + order
    for field in ("initContainers", "containers"):
        pairs = zip(spec.get(field) or (), before.get(field) or (), strict=True)
        for i, (new, was) in enumerate(pairs):
            problems += _removed(new, was, f"spec.{field}[{i}].resources")
            if _unresizable(new) != _unresizable(was):
                problems.append(forbidden("spec", "only cpu and memory resources are mutable"))
    return problems


def _reordered(spec: Object, before: Object) -> list[FieldError]:
    problems: list[FieldError] = []
    for field in ("containers", "initContainers"):
        new, was = ([one["name"] for one in side.get(field) or ()] for side in (spec, before))
        if len(new) != len(was):
            why = f"{field} may not be added or removed on resize"
            problems.append(forbidden(f"spec.{field}", why))
            continue
        why = f"{field} may not be renamed or reordered on resize"
        problems += [
            forbidden(f"spec.{field}[{i}].name", why)
            for i, pair in enumerate(zip(new, was, strict=True))
            if pair[0] != pair[1]
        ]
    return problems


def _removed(new: Object, was: Object, path: str) -> list[FieldError]:
    return [
        forbidden(f"{path}.{kind}", f"resource {kind} cannot be removed")
        for kind in ("requests", "limits")
        if set((was.get("resources") or {}).get(kind) or ())
        - set((new.get("resources") or {}).get(kind) or ())
    ]


def _unresizable(container: Object) -> Object:
    """Return the fields of a container that a resize must not change."""
    kept = copy.deepcopy(container)
    for kind in ("requests", "limits"):
        amounts = (kept.get("resources") or {}).get(kind) or {}
        for name in _RESIZABLE:
            amounts.pop(name, None)
        if not amounts:
            (kept.get("resources") or {}).pop(kind, None)
    return kept
