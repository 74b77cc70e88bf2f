"""Waiting for devices that must be prepared on their node before a pod can be bound."""

# kube-scheduler: plugins/dynamicresources/dynamicresources.go (isClaimReadyForBinding and others)

from __future__ import annotations

from mooring.api import ResourceClaim
from mooring.api.meta import Condition
from mooring.api.resource import AllocatedDeviceStatus, DeviceRequestAllocationResult
from mooring.api.timestamps import parse_time
from mooring.framework.handle import Handle
from mooring.framework.status import Status
from mooring.plugins.dynamic_resources.tracker import ClaimTracker

#: Seconds between two checks of devices that are being prepared.
_POLL_INTERVAL = 5.0


class DeviceBindingError(Exception):
    """A device that will not become ready; `label` is the reason used in metrics."""

    def __init__(self, text: str, label: str) -> None:
        super().__init__(text)
        self.label = label


class Preparation:
    """The preparation of devices on their node. Owned by one plugin."""

    def __init__(self, handle: Handle, claims: ClaimTracker, seconds: float) -> None:
        self._handle = handle
        self._claims = claims
        self._seconds = seconds

    def is_hopeless(self, claim: ResourceClaim) -> bool:
        """Return whether an allocated claim will not become ready; others should be tried."""
        if claim.status.allocation is None:
            return False
        try:
            return not is_ready(claim) and self._is_overdue(claim)
        except DeviceBindingError:
            return True

    async def wait(self, claims: list[ResourceClaim]) -> Status | None:
        """Wait until all devices are ready; `claims` is updated in place with their latest state.

        Return an error status if a device failed or the timeout passed.
        """
        clock = self._handle.clock
        start = clock.now()
        label, failure = "success", None
        try:
            while not self._all_ready(claims):
                if clock.now() >= start + self._seconds:
                    text = "device binding timeout: context deadline exceeded"
                    raise DeviceBindingError(text, "timeout")
                await clock.sleep(_POLL_INTERVAL)
        except DeviceBindingError as error:
            label, failure = error.label, Status.error(str(error))
        self._count(claims, label, clock.now() - start)
        return failure

    def _all_ready(self, claims: list[ResourceClaim]) -> bool:
        for index, claim in enumerate(claims):
            current = self._claims.get(claim.metadata.name, claim.metadata.namespace)
            if current is None:
                raise DeviceBindingError(f'could not find ResourceClaim "{claim.key}"', "error")
            claims[index] = current
            if not is_ready(current):
                if self._is_overdue(current):
                    text = f"device binding timeout: claim={claim.metadata.name}"
                    raise DeviceBindingError(text, "timeout")
                return False
        return True

    def _is_overdue(self, claim: ResourceClaim) -> bool:
        return is_overdue(claim, self._handle.clock.wall_time(), self._seconds)

    def _count(self, claims: list[ResourceClaim], label: str, seconds: float) -> None:
        metrics, profile = self._handle.metrics, self._handle.profile_name
        for claim in claims:
            allocation = claim.status.allocation
            for result in () if allocation is None else allocation.devices.results:
                key = (profile, result.driver, label)
                metrics.binding_conditions_wait_duration[key].observe(seconds)
                if result.binding_conditions:
                    metrics.binding_conditions_allocations[key].inc()


def has_binding_conditions(claim: ResourceClaim) -> bool:
    """Return whether a device of a claim has to be prepared."""
    allocation = claim.status.allocation
    return allocation is not None and any(
        result.binding_conditions for result in allocation.devices.results
    )


def is_ready(claim: ResourceClaim) -> bool:
    """Return whether all devices of a claim are ready; raise DeviceBindingError if one failed."""
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
                    f'reason={failed.reason}, message="{failed.message}"',
                    "failure",
                )
        for name in result.binding_conditions:
            condition = _find(status, name)
            if condition is None or condition.status != "True":
                return False
    return True


def is_overdue(claim: ResourceClaim, now: float, seconds: float) -> bool:
    """Return whether the time for preparing a claim's devices has passed."""
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
