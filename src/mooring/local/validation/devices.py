"""Claims to devices, their classes, and what drivers offer."""

# kubernetes: pkg/apis/resource/validation/validation.go

from __future__ import annotations

from collections.abc import Sequence

from mooring.local.validation.problems import (
    Object,
    Problem,
    duplicate,
    each,
    immutable,
    invalid,
    not_supported,
    required,
)
from mooring.local.validation.texts import label_problems, subdomain_problems

_MODES = ("All", "ExactCount")
_POSITIVE = "must be greater than zero"
_PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")


def check_claim(claim: Object) -> list[Problem]:
    """Check a claim to devices."""
    return _claim_spec(claim["spec"], "spec")


def check_claim_update(claim: Object, old: Object) -> list[Problem]:
    """Check the change of a claim: its spec stays."""
    return immutable("spec", claim["spec"], old["spec"])


def check_template(template: Object) -> list[Problem]:
    """Check a template of claims."""
    return _claim_spec(template["spec"]["spec"], "spec.spec")


def _claim_spec(spec: Object, path: str) -> list[Problem]:
    where = f"{path}.devices.requests"
    requests: Sequence[Object] = (spec.get("devices") or {}).get("requests") or ()
    problems: list[Problem] = []
    seen: set[str] = set()
    for i, request in enumerate(requests):
        problems += _request(request, f"{where}[{i}]")
        if request["name"] in seen:
            problems.append(duplicate(f"{where}[{i}]", request["name"]))
        seen.add(request["name"])
    return problems


def _request(request: Object, path: str) -> list[Problem]:
    name = request["name"]
    problems = each(f"{path}.name", name, label_problems(name)) if name else []
    if not name:
        problems.append(required(f"{path}.name"))
    exactly, first = request.get("exactly"), request.get("firstAvailable")
    if (exactly is None) == (not first):
        if exactly is None:
            why = "exactly one of `exactly` or `firstAvailable` is required"
            return [*problems, required(path, why)]
        why = "exactly one of `exactly` or `firstAvailable` must be specified"
        return [*problems, invalid(path, request, why)]
    if exactly is not None:
        return problems + _exact(exactly, f"{path}.exactly")
    for i, one in enumerate(first or ()):
        problems += _exact(one, f"{path}.firstAvailable[{i}]")
    return problems


def _exact(request: Object, path: str) -> list[Problem]:
    problems: list[Problem] = []
    name = request.get("deviceClassName", "")
    if not name:
        problems.append(required(f"{path}.deviceClassName"))
    else:
        problems += each(f"{path}.deviceClassName", name, subdomain_problems(name))
    mode, count = request.get("allocationMode"), request.get("count", 0)
    if mode not in _MODES:
        problems.append(not_supported(f"{path}.allocationMode", mode, _MODES))
    elif mode == "ExactCount" and count <= 0:
        problems.append(invalid(f"{path}.count", count, _POSITIVE))
    elif mode == "All" and count:
        why = "must not be specified when allocationMode is 'All'"
        problems.append(invalid(f"{path}.count", count, why))
    return problems + _selectors(request.get("selectors") or (), f"{path}.selectors")


def _selectors(selectors: Sequence[Object], path: str) -> list[Problem]:
    return [
        required(f"{path}[{i}].cel")
        for i, selector in enumerate(selectors)
        if selector.get("cel") is None
    ]


def check_device_class(device_class: Object) -> list[Problem]:
    """Check a class of devices; its expressions are not compiled."""
    return _selectors(device_class["spec"].get("selectors") or (), "spec.selectors")


def check_slice(resource_slice: Object) -> list[Problem]:
    """Check what a driver offers."""
    spec = resource_slice["spec"]
    problems: list[Problem] = []
    if not spec["driver"]:
        problems.append(required("spec.driver"))
    else:
        problems += each("spec.driver", spec["driver"], subdomain_problems(spec["driver"]))
    pool = spec["pool"]
    if not pool["name"]:
        problems.append(required("spec.pool.name"))
    if pool["resourceSliceCount"] <= 0:
        count = pool["resourceSliceCount"]
        problems.append(invalid("spec.pool.resourceSliceCount", count, _POSITIVE))
    given = [name for name in _PLACES if spec.get(name)]
    listed = ", ".join(f"`{name}`" for name in _PLACES)
    if not given:
        problems.append(required("spec", f"exactly one of {listed} is required"))
    elif len(given) > 1:
        shown = f"{{{', '.join(f'`{name}`' for name in given)}}}"
        why = f"exactly one of {listed} is required, but multiple fields are set"
        problems.append(invalid("spec", shown, why))
    return problems + _devices(spec.get("devices") or ())


def _devices(devices: Sequence[Object]) -> list[Problem]:
    problems: list[Problem] = []
    seen: set[str] = set()
    for i, device in enumerate(devices):
        where, name = f"spec.devices[{i}]", device["name"]
        if not name:
            problems.append(required(f"{where}.name"))
        else:
            problems += each(f"{where}.name", name, label_problems(name))
        if name in seen:
            problems.append(duplicate(where, name))
        seen.add(name)
    return problems


def check_slice_update(resource_slice: Object, old: Object) -> list[Problem]:
    """Check the change of a slice: where it is stays."""
    new, before = resource_slice["spec"], old["spec"]
    problems = check_slice(resource_slice)
    problems += immutable("spec.pool.name", new["pool"]["name"], before["pool"]["name"])
    problems += immutable("spec.driver", new["driver"], before["driver"])
    return problems + immutable("spec.nodeName", new.get("nodeName"), before.get("nodeName"))
