"""The resources of a pod as a whole, and whether its containers fit into them."""

# kubernetes: pkg/apis/core/validation/validation.go (validatePodResources)

from __future__ import annotations

import msgspec

from mooring.api.field_errors import FieldError, forbidden, invalid
from mooring.api.pod import Pod
from mooring.api.pod_resource_requests import RequestOptions, container_limits, container_requests
from mooring.api.quantity import Format, Quantity, parse_nanos
from mooring.apiserver.validation.field_problems import Object
from mooring.apiserver.validation.resource_amounts import (
    HUGE_PAGES,
    check_requirements,
    pod_resource_name_problems,
)
from mooring.errors import ObjectError

NO_CLAIMS = "claims may not be set for Resources at pod-level"
_SPEC_ONLY = RequestOptions(use_status_resources=False, use_claim_status=False)


def check_pod_resources(spec: Object, path: str) -> list[FieldError]:
    """Check pod-level requests and limits."""
    resources = spec.get("resources")
    if resources is None:
        return []
    if (spec.get("os") or {}).get("name") == "windows":
        return [forbidden(path, "may not be set for a windows pod")]
    problems: list[FieldError] = []
    if resources.get("claims") is not None:
        problems.append(forbidden(f"{path}.claims", NO_CLAIMS))
    claims = frozenset(c["name"] for c in spec.get("resourceClaims") or () if c["name"])
    problems += check_requirements(resources, path, claims, pod_resource_name_problems)
    return problems + _consistency(spec, resources, path)


def _consistency(spec: Object, resources: Object, path: str) -> list[FieldError]:
    kept = {name: spec[name] for name in ("containers", "initContainers") if spec.get(name)}
    try:
        pod = msgspec.convert({"metadata": {"name": ""}, "spec": kept}, Pod)
    except (ObjectError, msgspec.ValidationError):
        return []  # problems of the containers are reported elsewhere
    problems: list[FieldError] = []
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for name, nanos in container_requests(pod, _SPEC_ONLY).items():
        if name in requests and nanos > parse_nanos(requests[name]):
            total = Quantity.from_nanos(nanos, _format(spec, "requests", name))
            why = f"must be greater than or equal to aggregate container requests of {total}"
            problems.append(invalid(f"{path}.requests[{name}]", requests[name], why))
    for name, nanos in container_limits(pod).items():
        huge = name.startswith(HUGE_PAGES) and name in limits
        if huge and nanos > parse_nanos(limits[name]):
            total = Quantity.from_nanos(nanos, _format(spec, "limits", name))
            why = f"must be greater than or equal to aggregate container limits of {total}"
            problems.append(invalid(f"{path}.limits[{name}]", limits[name], why))
    for i, container in enumerate(spec.get("containers") or ()):
        for name, limit in (container["resources"].get("limits") or {}).items():
            if name in limits and parse_nanos(limit) > parse_nanos(limits[name]):
                where = f"{path}.containers[{i}][{name}].limits"
                why = f"must be less than or equal to pod limits of {limits[name]}"
                problems.append(invalid(where, limit, why))
    return problems


def _format(spec: Object, part: str, name: str) -> Format:
    """Return the format of the first container's amount, in which a sum is printed."""
    for field in ("containers", "initContainers"):
        for container in spec.get(field) or ():
            if amount := (container["resources"].get(part) or {}).get(name):
                return Quantity(amount).format
    return "DecimalSI"
