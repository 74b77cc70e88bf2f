"""Compatibility groups: which devices may consume counters of the same set at the same time."""

# dynamic-resource-allocation: structured/internal/experimental/compatibility_groups.go

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from mooring.api import ResourceSlice
from mooring.api.resource import Device


class GroupsInCommon(msgspec.Struct, frozen=True):
    """What the devices that consume from one counter set agree on."""

    #: Whether the first of them has groups. Devices with and without groups exclude each other.
    is_grouped: bool
    #: The groups that all of them have.
    groups: frozenset[str]

    def admits(self, groups: frozenset[str]) -> bool:
        """Return whether a device with some groups may join."""
        if bool(groups) != self.is_grouped:
            return False
        return not groups or bool(self.groups & groups)

    def joined(self, groups: frozenset[str]) -> GroupsInCommon:
        """Return what is left in common if a device joins, even one that is not admitted."""
        if not self.is_grouped or not groups:
            return self
        return GroupsInCommon(True, self.groups & groups)


#: By counter set of a pool.
PoolGroups = Mapping[str, GroupsInCommon]


def admitted(device: Device, users: PoolGroups) -> PoolGroups | None:
    """Return what the users of a pool's counters have in common with one more device.

    Return None if the device may not join them.
    """
    found = dict(users)
    for consumption in device.consumes_counters:
        groups = frozenset(consumption.compatibility_groups)
        before = found.get(consumption.counter_set)
        if before is not None and not before.admits(groups):
            return None
        found[consumption.counter_set] = _joined(before, groups)
    return found


def groups_of(devices: Iterable[Device]) -> PoolGroups:
    """Return what allocated devices of a pool have in common."""
    found: dict[str, GroupsInCommon] = {}
    for device in devices:
        for consumption in device.consumes_counters:
            name = consumption.counter_set
            found[name] = _joined(found.get(name), frozenset(consumption.compatibility_groups))
    return found


def _joined(before: GroupsInCommon | None, groups: frozenset[str]) -> GroupsInCommon:
    return GroupsInCommon(bool(groups), groups) if before is None else before.joined(groups)


def uses_groups(one: ResourceSlice) -> bool:
    """Return whether a device of a slice has groups."""
    return any(
        consumption.compatibility_groups
        for device in one.spec.devices
        for consumption in device.consumes_counters
    )
