"""Checks of the node resources that devices consume, in resource slices and pod statuses."""

# kubernetes: pkg/apis/resource/validation/validation.go (validateNodeAllocatableResources),
# pkg/apis/core/validation/validation.go (validateNodeAllocatableResourceClaimStatus)

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mooring.api.field_errors import FieldError, duplicate, invalid, not_found, required
from mooring.api.pod_resource_requests import CPU, HUGE_PAGES_PREFIX, MEMORY
from mooring.api.quantity import parse_nanos
from mooring.apiserver.validation.field_problems import Object, repeated

NOT_A_RESOURCE = "must be a node allocatable resource name"
NO_AMOUNT = "at least one of mapping or overhead must be set"
NO_OVERHEAD = "at least one of perPod or perContainer must be set"
NEGATIVE = "must be non-negative"
NOT_POSITIVE = "must be positive"
NOT_A_CLAIM = "no mapping found in pod reference"
_OVERHEAD = ("perPod", "perContainer")
_UNION = ("capacityKey", "deviceMultiplier")
_CHOICES = ", ".join(f"`{name}`" for name in _UNION)


def _is_resource(name: str) -> bool:
    return name in (CPU, MEMORY) or name.startswith(HUGE_PAGES_PREFIX)


def check_device_amounts(device: Object, path: str) -> Iterator[FieldError]:
    """Check the node resources that a device states it consumes."""
    for name, amounts in (device.get("nodeAllocatableResources") or {}).items():
        where = f"{path}.nodeAllocatableResources[{name}]"
        if not _is_resource(name):
            yield invalid(where, name, NOT_A_RESOURCE)
        mapping, overhead = amounts.get("mapping"), amounts.get("overhead")
        if mapping is None and overhead is None:
            yield required(where, NO_AMOUNT)
        if mapping is not None:
            yield from _mapping(mapping, device.get("capacity") or {}, f"{where}.mapping")
        if overhead is not None:
            yield from _overhead(overhead, f"{where}.overhead")


def _mapping(mapping: Object, capacities: Object, path: str) -> Iterator[FieldError]:
    key, factor = mapping.get("capacityKey"), mapping.get("capacityMultiplier")
    if key is not None:
        if not key:
            yield invalid(f"{path}.capacityKey", "", "capacityKey must not be an empty string")
        elif key not in capacities:
            yield not_found(f"{path}.capacityKey", key)
        if factor is None:
            why = "capacityMultiplier is required when capacityKey is set"
            yield required(f"{path}.capacityMultiplier", why)
        elif parse_nanos(factor) <= 0:
            yield invalid(f"{path}.capacityMultiplier", factor, NOT_POSITIVE)
    elif factor is not None:
        why = "capacityKey is required when capacityMultiplier is set"
        yield required(f"{path}.capacityKey", why)
    count = mapping.get("deviceMultiplier")
    if count is not None and parse_nanos(count) <= 0:
        yield invalid(f"{path}.deviceMultiplier", count, NOT_POSITIVE)
    given = [name for name in _UNION if mapping.get(name) is not None]
    if not given:
        yield invalid(path, "", f"must specify one of: {_CHOICES}")
    elif len(given) > 1:
        shown = f"{{{', '.join(given)}}}"
        yield invalid(path, shown, f"must specify exactly one of: {_CHOICES}")


def _overhead(overhead: Object, path: str) -> Iterator[FieldError]:
    if all(overhead.get(name) is None for name in _OVERHEAD):
        yield invalid(path, "", NO_OVERHEAD)
    for name in _OVERHEAD:
        amount = overhead.get(name)
        if amount is not None and parse_nanos(amount) < 0:
            yield invalid(f"{path}.{name}", amount, NEGATIVE)


def check_claim_amounts(status: Object, spec: Object) -> Iterator[FieldError]:
    """Check the node resources that a pod's claims consume according to the pod's status."""
    statuses = status.get("nodeAllocatableResourceClaimStatuses") or ()
    path = "status.nodeAllocatableResourceClaimStatuses"
    claims = {
        one.get("resourceClaimName")
        for one in (
            *(spec.get("resourceClaims") or ()),
            *(status.get("resourceClaimStatuses") or ()),
        )
    }
    for i in repeated(one.get("resourceClaimName") for one in statuses):
        yield duplicate(f"{path}[{i}]", statuses[i])
    for i, one in enumerate(statuses):
        where, name = f"{path}[{i}]", one.get("resourceClaimName")
        containers = one.get("containers") or ()
        for j in repeated(containers):
            yield duplicate(f"{where}.containers[{j}]", containers[j])
        if not name:
            yield required(f"{where}.resourceClaimName")
            continue
        if name not in claims:
            yield invalid(f"{where}.resourceClaimName", name, NOT_A_CLAIM)
        yield from _mapped(one.get("mapping") or (), f"{where}.mapping")
        for j, overhead in enumerate(one.get("overhead") or ()):
            yield from _resource_name(overhead, f"{where}.overhead[{j}]")
            yield from _overhead(overhead, f"{where}.overhead[{j}]")


def _mapped(mapping: Sequence[Object], path: str) -> Iterator[FieldError]:
    for i, one in enumerate(mapping):
        where, amount = f"{path}[{i}]", one.get("quantity")
        yield from _resource_name(one, where)
        if amount is None:
            yield required(f"{where}.quantity")
        elif parse_nanos(amount) < 0:
            yield invalid(f"{where}.quantity", amount, NEGATIVE)


def _resource_name(amount: Object, path: str) -> Iterator[FieldError]:
    name = amount.get("name") or ""
    if not _is_resource(name):
        yield invalid(f"{path}.name", name, NOT_A_RESOURCE)
