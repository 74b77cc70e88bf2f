"""One request of a claim, or one of its alternatives, made ready for the search."""

# dynamic-resource-allocation: structured/internal/incubating/allocator_incubating.go

from __future__ import annotations

import msgspec

from mooring.api import DeviceClass, ResourceClaim
from mooring.api.resource import (
    ALL,
    EXACT_COUNT,
    CapacityRequirements,
    DeviceTaint,
    DeviceToleration,
    ExactDeviceRequest,
)
from mooring.plugins.dynamic_resources.pools import CandidateDevice

#: The devices of one claim. # api: resource/v1/types.go (AllocationResultsMaxSize)
MAX_RESULTS = 32


class AllocationError(Exception):
    """Say that claims or classes are at fault: no node can help."""


class Wanted(msgspec.Struct):
    """Devices that are wanted: a request, or one alternative of it."""

    claim: ResourceClaim
    #: Name of the request, and of the alternative, or "".
    request: str
    sub_request: str
    exactly: ExactDeviceRequest
    device_class: DeviceClass
    #: CEL expressions of the class and of the request.
    selectors: tuple[tuple[DeviceClass | None, int, str], ...]
    #: How many; with `everything`, these.
    count: int = 0
    everything: list[CandidateDevice] | None = None

    @property
    def name(self) -> str:
        """Return "request" or "request/alternative"."""
        return f"{self.request}/{self.sub_request}" if self.sub_request else self.request

    @property
    def own_name(self) -> str:
        """Return the name of the alternative, or of the request."""
        return self.sub_request or self.request

    @property
    def is_admin(self) -> bool:
        """Tell whether devices are wanted that are in use."""
        return bool(self.exactly.admin_access)

    @property
    def capacity(self) -> CapacityRequirements | None:
        """Return what is asked of the devices' capacity."""
        return self.exactly.capacity

    @property
    def mode(self) -> str:
        """Return the allocation mode; the API server fills in ExactCount."""
        return self.exactly.allocation_mode or EXACT_COUNT

    @property
    def wants_all(self) -> bool:
        """Tell whether every device that matches is wanted."""
        return self.mode == ALL

    def tolerates(self, taint: DeviceTaint) -> bool:
        """Tell whether the request bears a taint."""
        return any(_tolerates(toleration, taint) for toleration in self.exactly.tolerations)


def _tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    # dynamic-resource-allocation: resourceclaim/devicetoleration.go
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def make_wanted(
    claim: ResourceClaim,
    request: str,
    sub_request: str,
    exactly: ExactDeviceRequest,
    device_class: DeviceClass | None,
) -> Wanted:
    """Check a request; AllocationError where it cannot be understood."""
    where = f"claim {claim.key}, request {sub_request or request}"
    for i, selector in enumerate(exactly.selectors):
        if selector.cel is None:
            raise AllocationError(
                f"{where}, selector #{i}: CEL expression empty (unsupported selector type?)"
            )
    if not exactly.device_class_name:
        raise AllocationError(f"{where}: missing device class name (unsupported request type?)")
    if device_class is None:
        name = exactly.device_class_name
        raise AllocationError(
            f"{where}: could not retrieve device class {name}: "
            f'deviceclass.resource.k8s.io "{name}" not found'
        )
    mode = exactly.allocation_mode or EXACT_COUNT
    if mode not in (EXACT_COUNT, ALL):
        raise AllocationError(f"{where}: unsupported count mode {mode}")
    selectors = tuple(
        (owner, i, "" if selector.cel is None else selector.cel.expression)
        for owner, group in ((device_class, device_class.spec.selectors), (None, exactly.selectors))
        for i, selector in enumerate(group)
    )
    # The API server fills in a count of 1.
    count = (exactly.count or 1) if mode == EXACT_COUNT else 0
    return Wanted(claim, request, sub_request, exactly, device_class, selectors, count)
