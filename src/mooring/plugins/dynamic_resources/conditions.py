"""Devices that have to be prepared on their node before a pod can be bound."""

# kube-scheduler: plugins/dynamicresources/dynamicresources.go (isClaimReadyForBinding and others)

from __future__ import annotations

from mooring.api import ResourceClaim
from mooring.api.meta import Condition, parse_time
from mooring.api.resource import AllocatedDeviceStatus, DeviceRequestAllocationResult


class DeviceBindingError(Exception):
    """Say that a device will not be ready."""


def has_binding_conditions(claim: ResourceClaim) -> bool:
    """Tell whether a device of a claim has to be prepared."""
    allocation = claim.status.allocation
    return allocation is not None and any(
        result.binding_conditions for result in allocation.devices.results
    )


def is_ready(claim: ResourceClaim) -> bool:
    """Tell whether all devices of a claim are ready; DeviceBindingError where one failed."""
    allocation = claim.status.allocation
    if allocation is None:
        return False
    for result in allocation.devices.results:
        if not result.binding_conditions:
            continue
        status = _status_of(claim, result)
        if status is None:
            return False
        for name in result.binding_failure_conditions:
            failed = _find(status, name)
            if failed is not None and failed.status == "True":
                raise DeviceBindingError(
                    f"device binding failed: claim={claim.metadata.name}, "
                    f'reason={failed.reason}, message="{failed.message}"'
                )
        for name in result.binding_conditions:
            condition = _find(status, name)
            if condition is None or condition.status != "True":
                return False
    return True


def is_overdue(claim: ResourceClaim, now: float, seconds: float) -> bool:
    """Tell whether devices should have been ready by now."""
    allocation = claim.status.allocation
    if allocation is None or allocation.allocation_timestamp is None:
        return False
    if not has_binding_conditions(claim):
        return False
    return parse_time(allocation.allocation_timestamp) + seconds < now


def _status_of(
    claim: ResourceClaim, result: DeviceRequestAllocationResult
) -> AllocatedDeviceStatus | None:
    for status in claim.status.devices:
        if (status.driver, status.pool, status.device) == (
            result.driver,
            result.pool,
            result.device,
        ):
            return status
    return None


def _find(status: AllocatedDeviceStatus, name: str) -> Condition | None:
    return next((one for one in status.conditions if one.type == name), None)
