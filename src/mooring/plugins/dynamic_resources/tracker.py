"""Which devices are taken: by claims in the API server, and by allocations not yet visible there.

All profiles share one ClaimTracker. A claim that Reserve has allocated is in flight until PreBind
has written it; a claim that PreBind has written is assumed until the informer has it.
"""

# kube-scheduler: plugins/dynamicresources/dra_manager.go, allocateddevices.go

from __future__ import annotations

from collections.abc import Iterator

from mooring.api import ResourceClaim
from mooring.api.quantity import parse_nanos
from mooring.api.resource import EXTENDED_RESOURCE_CLAIM, DeviceRequestAllocationResult
from mooring.framework.listers import Lister

#: Driver, pool and name of a device.
DeviceID = tuple[str, str, str]

#: Amounts in billionths, by name of the capacity or counter.
Amounts = dict[str, int]

_DEVICES = "allocated-devices"
_POOLS = "pools-of-allocated-devices"
_EXTENDED = "extended-resource-owner"

_Key = tuple[str, str]


def taken_devices(
    claim: ResourceClaim,
) -> Iterator[tuple[DeviceID, DeviceRequestAllocationResult]]:
    """Yield the devices that a claim takes; with admin access it takes none."""
    if claim.status.allocation is not None:
        for result in claim.status.allocation.devices.results:
            if not result.admin_access:
                yield (result.driver, result.pool, result.device), result


def _device_keys(claim: ResourceClaim) -> set[DeviceID]:
    return {device for device, _ in taken_devices(claim)}


def _pool_keys(claim: ResourceClaim) -> set[tuple[str, str]]:
    return {device[:2] for device, _ in taken_devices(claim)}


def _extended_keys(claim: ResourceClaim) -> list[str]:
    if claim.metadata.annotations.get(EXTENDED_RESOURCE_CLAIM) != "true":
        return []
    return [owner.uid for owner in claim.metadata.owner_references if owner.controller]


class ClaimTracker:
    """The claims, including allocations in flight and assumed claims.

    Owned by the scheduling loop, shared by all profiles.
    """

    def __init__(self, lister: Lister[ResourceClaim]) -> None:
        self._lister = lister
        self._in_flight: dict[str, ResourceClaim] = {}
        self._assumed: dict[_Key, ResourceClaim] = {}
        lister.add_index(_DEVICES, _device_keys)
        lister.add_index(_POOLS, _pool_keys)
        lister.add_index(_EXTENDED, _extended_keys)

    def get(self, name: str, namespace: str = "") -> ResourceClaim | None:
        """Return the assumed claim, or else that of the informer; None if there is neither."""
        stored = self._lister.get(name, namespace)
        assumed = self._assumed.get((namespace, name))
        if assumed is None:
            return stored
        if stored is None or _overtakes(stored, assumed):
            del self._assumed[namespace, name]
            return stored
        return assumed

    def extended_claim(self, pod_uid: str) -> ResourceClaim | None:
        """Return the claim that was created for a pod's extended resources, or None."""
        for claim in self._lister.by_index(_EXTENDED, pod_uid):
            return self.get(claim.metadata.name, claim.metadata.namespace)
        return None

    # Allocations in flight, and assumed claims.

    def is_in_flight(self, uid: str) -> bool:
        """Return whether a claim has been allocated but not written yet."""
        return uid in self._in_flight

    def allocate(self, uid: str, claim: ResourceClaim) -> None:
        """Treat a claim as allocated until `finish` is called."""
        self._in_flight[uid] = claim

    def finish(self, uid: str) -> bool:
        """Undo `allocate`; return False if the claim was not in flight."""
        return self._in_flight.pop(uid, None) is not None

    def assume(self, claim: ResourceClaim) -> None:
        """Use a claim as it was just written, until the informer has it."""
        self._assumed[claim.metadata.namespace, claim.metadata.name] = claim

    def restore(self, claim: ResourceClaim) -> None:
        """Drop the assumed claim, so that the informer's counts again."""
        self._assumed.pop((claim.metadata.namespace, claim.metadata.name), None)

    def allocated(self, *, shares: bool) -> AllocatedDevices:
        """Return the devices taken now; with `shares`, a device can be taken in parts."""
        extra: dict[DeviceID, list[DeviceRequestAllocationResult]] = {}
        hidden: set[_Key] = set()
        for key in list(self._assumed):
            self.get(key[1], key[0])
        for key, assumed in self._assumed.items():
            hidden.add(key)
            _collect(assumed, extra)
        for claim in self._in_flight.values():
            if (claim.metadata.namespace, claim.metadata.name) not in hidden:
                _collect(claim, extra)
        return AllocatedDevices(self._lister, extra, hidden, shares)


def _collect(
    claim: ResourceClaim, into: dict[DeviceID, list[DeviceRequestAllocationResult]]
) -> None:
    for device, result in taken_devices(claim):
        into.setdefault(device, []).append(result)


def _overtakes(stored: ResourceClaim, assumed: ResourceClaim) -> bool:
    """Return whether the informer's claim is the assumed one, a later version or a new object."""
    if stored.metadata.uid != assumed.metadata.uid:
        return True
    versions = (stored.metadata.resource_version, assumed.metadata.resource_version)
    if all(version.isdigit() for version in versions):
        return int(versions[0]) >= int(versions[1])
    return versions[0] == versions[1]


class AllocatedDevices:
    """The devices that are taken, wholly or in part, during one scheduling cycle."""

    def __init__(
        self,
        lister: Lister[ResourceClaim],
        extra: dict[DeviceID, list[DeviceRequestAllocationResult]],
        hidden: set[_Key],
        shares: bool,
    ) -> None:
        self._lister = lister
        self._extra = extra
        self._hidden = hidden
        self._shares = shares
        self._extra_pools = {device[:2] for device in extra}
        self._known: dict[DeviceID, tuple[bool, Amounts | None, bool]] = {}

    def touches(self, pool: tuple[str, str]) -> bool:
        """Return whether any device of a pool is taken."""
        return pool in self._extra_pools or any(True for _ in self._lister.by_index(_POOLS, pool))

    def is_taken(self, device: DeviceID) -> bool:
        """Return whether a device is taken as a whole."""
        return self._of(device)[0]

    def consumed(self, device: DeviceID) -> Amounts | None:
        """Return how much of a device's capacity is consumed; None if it is not shared."""
        return self._of(device)[1]

    def is_used(self, device: DeviceID) -> bool:
        """Return whether a device is taken, as a whole or in part."""
        return self._of(device)[2]

    def _of(self, device: DeviceID) -> tuple[bool, Amounts | None, bool]:
        found = self._known.get(device)
        if found is None:
            found = self._known[device] = self._add_up(device)
        return found

    def _add_up(self, device: DeviceID) -> tuple[bool, Amounts | None, bool]:
        results = list(self._extra.get(device, ()))
        for claim in self._lister.by_index(_DEVICES, device):
            if (claim.metadata.namespace, claim.metadata.name) not in self._hidden:
                results += [result for taken, result in taken_devices(claim) if taken == device]
        whole = False
        amounts: Amounts | None = None
        for result in results:
            if not self._shares or result.share_id is None:
                whole = True
                continue
            if result.consumed_capacity:
                amounts = {} if amounts is None else amounts
                for name, quantity in result.consumed_capacity.items():
                    amounts[name] = amounts.get(name, 0) + parse_nanos(quantity)
        return whole, amounts, bool(results)
