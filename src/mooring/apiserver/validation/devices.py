"""Resource slices: the devices that drivers offer."""

# kubernetes: pkg/apis/resource/validation/validation.go (ValidateResourceSlice)

from __future__ import annotations

import re
from collections.abc import Sequence

from mooring.api.field_errors import (
    FieldError,
    duplicate,
    each,
    forbidden,
    invalid,
    required,
    too_long,
    too_many,
)
from mooring.apiserver.validation.device_claims import (
    POSITIVE,
    check_taint,
    driver_name,
    qualified_name,
)
from mooring.apiserver.validation.field_problems import Object, immutable, repeated
from mooring.apiserver.validation.formats import label_problems, subdomain_problems
from mooring.apiserver.validation.node_allocatable import check_device_amounts

_PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_VALUES = ("int", "bool", "string", "version", "ints", "bools", "strings", "versions")
_POOL_LENGTH = 253
_VALUE_LENGTH = 64
#: How many compatibility groups a device may have for one counter set.
_MOST_GROUPS = 2
_SEMANTIC = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
    r"(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?"
    r"(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?",
    re.ASCII,
)
NOT_A_VERSION = "must be a string compatible with semver.org spec 2.0.0"
NOT_PER_DEVICE = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set "
    "to true in the ResourceSlice spec"
)
_CHOICES = ", ".join(f"`{name}`" for name in _VALUES)
NO_VALUE = f"must specify one of: {_CHOICES}"
ONE_VALUE = f"must specify exactly one of: {_CHOICES}"


def check_slice(resource_slice: Object) -> list[FieldError]:
    """Check a resource slice."""
    spec = resource_slice["spec"]
    problems = driver_name(spec["driver"], "spec.driver") + _pool(spec["pool"], "spec.pool")
    node = spec.get("nodeName")
    if node == "":
        why = "must be either unset or set to a non-empty string"
        problems.append(invalid("spec.nodeName", node, why))
    elif node is not None:
        problems += each("spec.nodeName", node, subdomain_problems(node))
    given = [name for name in _PLACES if spec.get(name)]
    listed = ", ".join(f"`{name}`" for name in _PLACES)
    if not given:
        problems.append(required("spec", f"exactly one of {listed} is required"))
    elif len(given) > 1:
        shown = f"{{{', '.join(f'`{name}`' for name in given)}}}"
        why = f"exactly one of {listed} is required, but multiple fields are set"
        problems.append(invalid("spec", shown, why))
    if spec.get("allNodes") is False:
        why = "must be either unset or set to true"
        problems.append(invalid("spec.allNodes", False, why))
    problems += _devices(spec.get("devices") or ())
    if not spec.get("perDeviceNodeSelection"):
        problems += [
            invalid(f"spec.devices[{i}]", None, NOT_PER_DEVICE)
            for i, device in enumerate(spec.get("devices") or ())
            if any(device.get(n) is not None for n in ("nodeName", "nodeSelector", "allNodes"))
        ]
    return problems


def _pool(pool: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    count, generation = pool["resourceSliceCount"], pool["generation"]
    problems += _pool_name(pool["name"], f"{path}.name")
    if count <= 0:
        problems.append(invalid(f"{path}.resourceSliceCount", count, POSITIVE))
    if generation < 0:
        why = "must be greater than or equal to zero"
        problems.append(invalid(f"{path}.generation", generation, why))
    return problems


def _pool_name(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    problems = [too_long(path, _POOL_LENGTH)] if len(name) > _POOL_LENGTH else []
    for part in name.split("/"):
        problems += each(path, part, subdomain_problems(part))
    return problems


def _devices(devices: Sequence[Object]) -> list[FieldError]:
    problems: list[FieldError] = []
    seen: set[str] = set()
    for i, device in enumerate(devices):
        where, name = f"spec.devices[{i}]", device["name"]
        problems += each(f"{where}.name", name, label_problems(name))
        if name in seen:
            problems.append(duplicate(where, name))
        seen.add(name)
        problems += _device(device, where)
    return problems


def _device(device: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    for name, attribute in (device.get("attributes") or {}).items():
        problems += qualified_name(name, f"{path}.attributes")
        problems += _attribute(attribute or {}, f"{path}.attributes[{name}]")
    shared = device.get("allowMultipleAllocations")
    for name, capacity in (device.get("capacity") or {}).items():
        problems += qualified_name(name, f"{path}.capacity")
        if capacity.get("requestPolicy") is not None and not shared:
            where = f"{path}.capacity[{name}].requestPolicy"
            problems.append(forbidden(where, "allowMultipleAllocations must be true"))
    for i, taint in enumerate(device.get("taints") or ()):
        problems += check_taint(taint, f"{path}.taints[{i}]")
    for i, consumption in enumerate(device.get("consumesCounters") or ()):
        groups = consumption.get("compatibilityGroups") or ()
        problems += _groups(groups, f"{path}.consumesCounters[{i}].compatibilityGroups")
    return [*problems, *check_device_amounts(device, path)]


def _groups(groups: Sequence[str], path: str) -> list[FieldError]:
    if len(groups) > _MOST_GROUPS:
        return [too_many(path, len(groups), _MOST_GROUPS)]
    problems: list[FieldError] = []
    for i, group in enumerate(groups):
        # This message counts bytes. apimachinery: pkg/api/validate/strfmt.go
        found = [why.replace("63 characters", "63 bytes") for why in label_problems(group)]
        problems += each(f"{path}[{i}]", group, found)
    return problems + [duplicate(f"{path}[{i}]", groups[i]) for i in repeated(groups)]


def check_taint_rule(rule: Object) -> list[FieldError]:
    """Check a rule that taints devices."""
    spec = rule["spec"]
    selector, where = spec.get("deviceSelector") or {}, "spec.deviceSelector"
    problems: list[FieldError] = []
    if (driver := selector.get("driver")) is not None:
        problems += driver_name(driver, f"{where}.driver")
    if (pool := selector.get("pool")) is not None:
        problems += _pool_name(pool, f"{where}.pool")
    if (device := selector.get("device")) is not None:
        problems += each(f"{where}.device", device, label_problems(device))
    return problems + check_taint(spec["taint"], "spec.taint")


def _attribute(attribute: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    for field in ("string", "version"):
        value = attribute.get(field)
        if value is None:
            continue
        if field == "version" and _SEMANTIC.fullmatch(value) is None:
            problems.append(invalid(f"{path}.{field}", value, NOT_A_VERSION))
        if len(value) > _VALUE_LENGTH:
            problems.append(too_long(f"{path}.{field}", _VALUE_LENGTH))
    given = [name for name in _VALUES if attribute.get(name) is not None]
    if not given:
        problems.append(invalid(path, "", NO_VALUE))
    elif len(given) > 1:
        problems.append(invalid(path, f"{{{', '.join(given)}}}", ONE_VALUE))
    return problems


def check_slice_update(resource_slice: Object, old: Object) -> list[FieldError]:
    """Check an update of a slice: its driver, pool and node may not change."""
    new, before = resource_slice["spec"], old["spec"]
    problems = check_slice(resource_slice)
    problems += immutable("spec.pool.name", new["pool"]["name"], before["pool"]["name"])
    problems += immutable("spec.driver", new["driver"], before["driver"])
    return problems + immutable("spec.nodeName", new.get("nodeName"), before.get("nodeName"))
