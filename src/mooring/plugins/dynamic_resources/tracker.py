"""Which devices are taken: by claims in the API server, and by allocations not yet visible there.

All profiles share one ClaimTracker. A claim that Reserve has allocated is in flight until PreBind
has written it; a claim that PreBind has written is assumed until the informer has it.
"""

# kube-scheduler: plugins/dynamicresources/dra_manager.go, allocateddevices.go

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

import msgspec

from mooring.api import ResourceClaim
from mooring.api.quantity import parse_nanos
from mooring.api.resource import (
    EXTENDED_RESOURCE_CLAIM,
    AllocationResult,
    DeviceRequestAllocationResult,
)
from mooring.framework.handle import Handle
from mooring.framework.listers import Lister

#: Driver, pool and name of a device.
DeviceID = tuple[str, str, str]

#: Amounts in billionths, by name of the capacity or counter.
Amounts = dict[str, int]

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
        #: The uids of the pods that wait for each claim in flight to be written.
        self._sharers: dict[str, set[str]] = {}
        #: The same claims by namespace and name.
        self._in_flight_by_key: dict[_Key, dict[str, ResourceClaim]] = {}
        self._assumed: dict[_Key, ResourceClaim] = {}
        #: The claims that are counted in `_usage`, by namespace and name.
        self._counted: dict[_Key, list[ResourceClaim]] = {}
        self._usage: dict[DeviceID, DeviceUsage] = {}
        self._changed: set[DeviceID] = set()
        lister.add_index(_EXTENDED, _extended_keys)
        lister.subscribe(self._claim_changed)

    def _claim_changed(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        claim = new or old
        assert claim is not None
        self._count(_key(claim))

    def _count(self, key: _Key) -> None:
        """Bring the counts up to date with the claims of a name."""
        stored = self._lister.get(key[1], key[0])
        assumed = self._assumed.get(key)
        if assumed is not None and stored is not None and _overtakes(stored, assumed):
            del self._assumed[key]
            assumed = None
        if assumed is not None:
            claims = [assumed]
        else:
            claims = list(self._in_flight_by_key.get(key, {}).values())
            if stored is not None:
                claims.append(stored)
        claims = [claim for claim in claims if claim.status.allocation is not None]
        before = self._counted.pop(key, ())
        if claims:
            self._counted[key] = claims
        for sign, group in ((1, claims), (-1, before)):
            for claim in group:
                self._add(claim, sign)

    def _add(self, claim: ResourceClaim, sign: int) -> None:
        for device, result in taken_devices(claim):
            usage = self._usage.get(device)
            if usage is None:
                usage = self._usage[device] = DeviceUsage()
            usage.add(result, sign)
            if not usage.users:
                del self._usage[device]
            self._changed.add(device)

    def take_changed(self) -> set[DeviceID]:
        """Return the devices whose usage may have changed since the last call."""
        for key in list(self._assumed):
            self.get(key[1], key[0])
        found, self._changed = self._changed, set()
        return found

    def get(self, name: str, namespace: str = "") -> ResourceClaim | None:
        """Return the assumed claim, or else that of the informer; None if there is neither."""
        stored = self._lister.get(name, namespace)
        assumed = self._assumed.get((namespace, name))
        if assumed is None:
            return stored
        if stored is None or _overtakes(stored, assumed):
            del self._assumed[namespace, name]
            self._count((namespace, name))
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

    def pending(self, uid: str) -> AllocationResult | None:
        """Return the allocation of a claim that has not been written yet, or None."""
        claim = self._in_flight.get(uid)
        return None if claim is None else claim.status.allocation

    def share(self, uid: str, pod_uid: str) -> None:
        """Keep a claim in flight for one more pod of the group that allocates it."""
        self._sharers.setdefault(uid, set()).add(pod_uid)

    def release(self, uid: str, pod_uid: str) -> bool:
        """Give up a pod's part in an allocation; return whether that has undone it.

        As long as other pods share the allocation, it stays.
        """
        sharers = self._sharers.get(uid)
        if sharers is not None:
            sharers.discard(pod_uid)
            if sharers:
                return False
        return self.finish(uid)

    def allocate(self, uid: str, claim: ResourceClaim) -> None:
        """Treat a claim as allocated until `finish` is called."""
        self.finish(uid)
        self._in_flight[uid] = claim
        key = _key(claim)
        self._in_flight_by_key.setdefault(key, {})[uid] = claim
        self._count(key)

    def finish(self, uid: str) -> bool:
        """Undo `allocate`; return False if the claim was not in flight."""
        self._sharers.pop(uid, None)
        claim = self._in_flight.pop(uid, None)
        if claim is None:
            return False
        key = _key(claim)
        same = self._in_flight_by_key[key]
        del same[uid]
        if not same:
            del self._in_flight_by_key[key]
        self._count(key)
        return True

    def assume(self, claim: ResourceClaim) -> None:
        """Use a claim as it was just written, until the informer has it."""
        self._assumed[_key(claim)] = claim
        self._count(_key(claim))

    def restore(self, claim: ResourceClaim) -> None:
        """Drop the assumed claim, so that the informer's counts again."""
        if self._assumed.pop(_key(claim), None) is not None:
            self._count(_key(claim))

    def allocated(self, *, shares: bool) -> AllocatedDevices:
        """Return the devices that are taken; with `shares`, a device can be taken in parts."""
        for key in list(self._assumed):
            self.get(key[1], key[0])
        return AllocatedDevices(self._usage, shares)


def claim_tracker(handle: Handle) -> ClaimTracker:
    """Return the tracker that all plugins of all profiles share."""
    claims = handle.lister(ResourceClaim)
    return handle.shared("DynamicResources", lambda: ClaimTracker(claims))


def _key(claim: ResourceClaim) -> _Key:
    return claim.metadata.namespace, claim.metadata.name


def _overtakes(stored: ResourceClaim, assumed: ResourceClaim) -> bool:
    """Return whether the informer's claim is the assumed one, a later version or a new object."""
    if stored.metadata.uid != assumed.metadata.uid:
        return True
    versions = (stored.metadata.resource_version, assumed.metadata.resource_version)
    if all(version.isdigit() for version in versions):
        return int(versions[0]) >= int(versions[1])
    return versions[0] == versions[1]


class DeviceUsage(msgspec.Struct):
    """How many allocations a device has, and what they consume of its capacity."""

    users: int = 0
    #: Users that have the device to themselves.
    exclusive: int = 0
    #: Users of some capacity, and how much of each they consume.
    consumers: int = 0
    amounts: Amounts = {}

    def add(self, result: DeviceRequestAllocationResult, sign: int) -> None:
        """Count an allocation; with a sign of -1, one that is gone."""
        self.users += sign
        if result.share_id is None:
            self.exclusive += sign
        elif result.consumed_capacity:
            self.consumers += sign
            for name, quantity in result.consumed_capacity.items():
                self.amounts[name] = self.amounts.get(name, 0) + sign * parse_nanos(quantity)


_UNUSED = DeviceUsage()


class AllocatedDevices:
    """The devices that are taken now, wholly or in part."""

    def __init__(self, usage: dict[DeviceID, DeviceUsage], shares: bool) -> None:
        self._usage = usage
        self._shares = shares

    def is_taken(self, device: DeviceID) -> bool:
        """Return whether a device is taken as a whole."""
        usage = self._usage.get(device, _UNUSED)
        return (usage.exclusive if self._shares else usage.users) > 0

    def consumed(self, device: DeviceID) -> Amounts | None:
        """Return how much of a device's capacity is consumed; None if it is not shared."""
        usage = self._usage.get(device, _UNUSED)
        return usage.amounts if self._shares and usage.consumers else None

    def is_shared(self, device: DeviceID) -> bool:
        """Return whether a device is shared, even if its users consume no capacity."""
        usage = self._usage.get(device, _UNUSED)
        return self._shares and usage.users > usage.exclusive

    def is_used(self, device: DeviceID) -> bool:
        """Return whether a device is taken, as a whole or in part."""
        return device in self._usage

    def used_of(self, devices: Iterable[DeviceID]) -> Iterator[DeviceID]:
        """Yield those of some devices that are used."""
        return (device for device in devices if device in self._usage)

    def state_of(self, device: DeviceID) -> Hashable:
        """Return what the search reads of a device's usage; None if it is not used."""
        if device not in self._usage:
            return None
        consumed = self.consumed(device)
        if consumed is None:
            return self.is_taken(device), self.is_shared(device)
        return self.is_taken(device), frozenset((key, n) for key, n in consumed.items() if n)
