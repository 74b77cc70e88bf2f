"""How much of a device's capacity a request consumes, and whether that much is left."""

# dynamic-resource-allocation: structured/internal/incubating/consumable_capacity.go

from __future__ import annotations

import msgspec

from mooring.api.quantity import NANOS, Quantity, parse_nanos
from mooring.api.resource import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    CapacityRequirements,
    Device,
    DeviceCapacity,
)
from mooring.plugins.dynamic_resources.tracker import Amounts

_MILLI = NANOS // 1000


class Rounding(msgspec.Struct, frozen=True):
    """How a request is rounded up to a step of a range."""

    #: Whether steps may be fractions of one, down to a thousandth.
    fractional: bool = False
    #: Whether the result has the format of the step; in 1.36 it is always BinarySI.
    format_of_step: bool = True

    def unit(self, valid: CapacityRequestPolicyRange) -> int:
        """Return the unit of the range's arithmetic, in billionths."""
        bounds = [parse_nanos(one) for one in (valid.min, valid.max, valid.step) if one is not None]
        return NANOS if not self.fractional or any(one % _MILLI for one in bounds) else _MILLI


WHOLE = Rounding()


def consumption(
    device: Device, asked: CapacityRequirements | None, rounding: Rounding = WHOLE
) -> dict[str, Quantity]:
    """Return what a request consumes of each capacity of a device."""
    requests = {} if asked is None else asked.requests
    return {
        name: _consumed(Quantity(requests[name]) if name in requests else None, capacity, rounding)
        for name, capacity in device.capacity.items()
    }


def fits(
    device: Device,
    asked: CapacityRequirements | None,
    consumed: Amounts | None,
    planned: Amounts | None,
    rounding: Rounding = WHOLE,
) -> bool:
    """Return whether a device has the requested capacity left.

    `consumed` is in use by allocated claims, `planned` by earlier choices of the same search.
    """
    requests = {} if asked is None else asked.requests
    capacities = device.capacity
    if any(name not in capacities for name in requests):
        return False
    if not capacities:
        return True
    for name, amount in consumption(device, asked, rounding).items():
        capacity = capacities[name]
        if _violates(amount, capacity.request_policy, rounding):
            return False
        total = amount.nanos
        for other in (consumed, planned):
            if other is not None:
                total += other.get(name, 0)
        if total > parse_nanos(capacity.value):
            return False
    return True


def _consumed(asked: Quantity | None, capacity: DeviceCapacity, rounding: Rounding) -> Quantity:
    policy = capacity.request_policy
    if asked is None:
        if policy is not None and policy.default is not None:
            return Quantity(policy.default)
        return Quantity(capacity.value)
    if policy is None:
        return asked
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _round_to_range(asked, policy.valid_range, rounding)
    for valid in policy.valid_values:
        if asked <= Quantity(valid):
            return Quantity(valid)
    return asked


def _round_to_range(
    asked: Quantity, valid: CapacityRequestPolicyRange, rounding: Rounding
) -> Quantity:
    assert valid.min is not None
    least = Quantity(valid.min)
    if asked < least:
        return least
    if valid.step is None:
        return asked
    unit = rounding.unit(valid)
    step, start = _units(Quantity(valid.step), unit), _units(least, unit)
    steps = -(-(_units(asked, unit) - start) // step)
    form = Quantity(valid.step).format if rounding.format_of_step else "BinarySI"
    return Quantity.from_nanos((start + step * steps) * unit, form)


def _units(amount: Quantity, unit: int) -> int:
    """Return an amount in units, rounded up."""
    return -(-amount.nanos // unit)


def _violates(amount: Quantity, policy: CapacityRequestPolicy | None, rounding: Rounding) -> bool:
    if policy is None or (policy.default is not None and amount == Quantity(policy.default)):
        return False
    valid = policy.valid_range
    if valid is not None:
        if valid.max is not None and amount > Quantity(valid.max):
            return True
        if valid.step is None or valid.min is None:
            return False
        unit = rounding.unit(valid)
        if unit == _MILLI and amount.nanos % _MILLI:
            return True
        added = _units(amount, unit) - _units(Quantity(valid.min), unit)
        return added % _units(Quantity(valid.step), unit) != 0
    if policy.valid_values:
        return all(amount != Quantity(value) for value in policy.valid_values)
    return False
