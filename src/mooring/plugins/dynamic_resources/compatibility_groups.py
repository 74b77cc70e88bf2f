"""Compatibility groups: which devices may consume counters of the same set at the same time."""

# dynamic-resource-allocation: structured/internal/experimental/compatibility_groups.go

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from mooring.api import ResourceSlice
from mooring.api.resource import Device


class GroupsInCommon(msgspec.Struct, frozen=True):
    """The compatibility groups that the users of one counter set have in common."""

    #: Whether the first user has groups. Devices with and without groups exclude each other.
    is_grouped: bool
    #: The groups that all users have.
    groups: frozenset[str]

    def admits(self, groups: frozenset[str]) -> bool:
        """Return whether a device with these groups may use the counter set too."""
        if bool(groups) != self.is_grouped:
            return False
        return not groups or bool(self.groups & groups)

    def joined(self, groups: frozenset[str]) -> GroupsInCommon:
        """Return the groups in common with one more device, even if it is not admitted."""
        if not self.is_grouped or not groups:
            return self
        return GroupsInCommon(True, self.groups & groups)


#: The groups in common of a pool's devices, by counter set.
PoolGroups = Mapping[str, GroupsInCommon]


def admitted(device: Device, users: PoolGroups) -> PoolGroups | None:
    """Return the groups in common after a device has joined the users of a pool's counters.

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
    """Return the groups that devices of one pool have in common."""
    found: dict[str, GroupsInCommon] = {}
    for device in devices:
        for consumption in device.consumes_counters:
            name = consumption.counter_set
            found[name] = _joined(found.get(name), frozenset(consumption.compatibility_groups))
    return found


def _joined(before: GroupsInCommon | None, groups: frozenset[str]) -> GroupsInCommon:
    return GroupsInCommon(bool(groups), groups) if before is None else before.joined(groups)


def uses_groups(one: ResourceSlice) -> bool:
    """Return whether a device of a slice has compatibility groups."""
    return any(
        consumption.compatibility_groups
        for device in one.spec.devices
        for consumption in device.consumes_counters
    )
