"""Constraints on all devices of a claim together."""

# dynamic-resource-allocation: structured/internal/incubating/{allocator_incubating,constraint}.go

from __future__ import annotations

from typing import Any, Protocol

from mooring.api.resource import Device, DeviceAttribute, DeviceConstraint
from mooring.plugins.dynamic_resources.pools import CandidateDevice


class DeviceConstraintState(Protocol):
    """A constraint that is told of each device the search chooses and takes back."""

    def add(self, request: str, sub_request: str, candidate: CandidateDevice) -> bool:
        """Record a device as chosen; return False if the constraint forbids it."""
        ...

    def remove(self, request: str, sub_request: str, candidate: CandidateDevice) -> None:
        """Undo a successful `add`."""
        ...


def make_constraint(constraint: DeviceConstraint) -> DeviceConstraintState | None:
    """Return the state of a constraint; None if its kind is unknown."""
    if constraint.match_attribute is not None:
        return MatchAttribute(constraint.requests, constraint.match_attribute)
    if constraint.distinct_attribute is not None:
        return DistinctAttribute(constraint.requests, constraint.distinct_attribute)
    return None


def find_attribute(candidate: CandidateDevice, name: str) -> DeviceAttribute | None:
    """Return a device's attribute by its full name.

    The device may list attributes of its own driver's domain without the domain.
    """
    device: Device = candidate.device
    found = device.attributes.get(name)
    if found is not None:
        return found
    domain, slash, key = name.partition("/")
    return device.attributes.get(key) if slash and domain == candidate.id[0] else None


def _value(attribute: DeviceAttribute) -> tuple[str, Any] | None:
    """Return an attribute's kind and value; None if the kind is unknown."""
    for kind in ("string_value", "int_value", "bool_value", "version_value"):
        value = getattr(attribute, kind)
        if value is not None:
            return kind, value
    return None


class _OfRequests:
    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        self._requests = frozenset(requests)
        self._attribute = attribute

    def _concerns(self, request: str, sub_request: str) -> bool:
        requests = self._requests
        return (
            not requests
            or request in requests
            or (sub_request != "" and f"{request}/{sub_request}" in requests)
        )


class MatchAttribute(_OfRequests):
    """The constraint that all devices have the same value of an attribute."""

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._value: tuple[str, Any] | None = None
        self._count = 0

    def add(self, request: str, sub_request: str, candidate: CandidateDevice) -> bool:
        """Record a device as chosen; return False if its value differs or is missing."""
        if not self._concerns(request, sub_request):
            return True
        attribute = find_attribute(candidate, self._attribute)
        if attribute is None:
            return False
        value = _value(attribute)
        if self._count == 0:
            self._value = value
        elif value is None or value != self._value:
            return False
        self._count += 1
        return True

    def remove(self, request: str, sub_request: str, candidate: CandidateDevice) -> None:
        """Undo a successful `add`."""
        if self._concerns(request, sub_request):
            self._count -= 1

    def state(self) -> tuple[str, Any] | None:
        """Return the value that further devices must have; None if there is no device yet."""
        return self._value if self._count else None


class DistinctAttribute(_OfRequests):
    """The constraint that no two devices have the same value of an attribute.

    As in kube-scheduler, only one value is kept per request: that of the request's last device.
    """

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._values: dict[str, tuple[str, Any] | None] = {}
        self._count = 0

    def add(self, request: str, sub_request: str, candidate: CandidateDevice) -> bool:
        """Record a device as chosen; return False if its value is taken or missing."""
        if not self._concerns(request, sub_request):
            return True
        attribute = find_attribute(candidate, self._attribute)
        if attribute is None:
            return False
        value = _value(attribute)
        if self._count and self._values and (value is None or value in self._values.values()):
            return False
        self._values[request] = value
        self._count += 1
        return True

    def remove(self, request: str, sub_request: str, candidate: CandidateDevice) -> None:
        """Undo a successful `add`."""
        if self._concerns(request, sub_request):
            self._values.pop(request, None)
            self._count -= 1
