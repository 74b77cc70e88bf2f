"""One request of a claim, or one of its alternatives, prepared for the search."""

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

#: The most devices of one claim. # api: resource/v1/types.go (AllocationResultsMaxSize)
MAX_RESULTS = 32


class AllocationError(Exception):
    """An error in a claim or device class, which is the same for every node."""


class Wanted(msgspec.Struct):
    """A request for devices, or one alternative of it."""

    claim: ResourceClaim
    #: Name of the request, and of the alternative ("" if it has none).
    request: str
    sub_request: str
    exactly: ExactDeviceRequest
    device_class: DeviceClass
    #: CEL expressions: the class (None for those of the request), the index, the expression.
    selectors: tuple[tuple[DeviceClass | None, int, str], ...]
    #: The CEL expressions of the attributes that the request derives, by attribute name.
    derived: dict[str, str]
    #: How many devices; for a request of all devices, `everything` lists them.
    count: int = 0
    everything: list[CandidateDevice] | None = None

    @property
    def name(self) -> str:
        """The full name: "request" or "request/alternative"."""
        return f"{self.request}/{self.sub_request}" if self.sub_request else self.request

    @property
    def own_name(self) -> str:
        """The name of the alternative, or of the request if it has none."""
        return self.sub_request or self.request

    @property
    def is_admin(self) -> bool:
        """Whether the request has admin access, so that it may get devices in use."""
        return bool(self.exactly.admin_access)

    @property
    def capacity(self) -> CapacityRequirements | None:
        """The requested capacity of each device."""
        return self.exactly.capacity

    @property
    def mode(self) -> str:
        """The allocation mode; the API server defaults it to ExactCount."""
        return self.exactly.allocation_mode or EXACT_COUNT

    @property
    def wants_all(self) -> bool:
        """Whether the request is for every device that matches."""
        return self.mode == ALL

    def tolerates(self, taint: DeviceTaint) -> bool:
        """Return whether the request tolerates a taint."""
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
    """Return a request prepared for the search; raise AllocationError if it is invalid."""
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
    # The API server defaults the count to 1.
    count = (exactly.count or 1) if mode == EXACT_COUNT else 0
    derived = {one.name: one.expression for one in exactly.derived_attributes}
    return Wanted(claim, request, sub_request, exactly, device_class, selectors, derived, count)
