"""Constraints on all devices of a claim together."""

# dynamic-resource-allocation: structured/internal/experimental/allocator_experimental.go,
# constraint.go

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Any, Protocol

from mooring.api.resource import Device, DeviceAttribute, DeviceConstraint
from mooring.plugins.dynamic_resources.pools import CandidateDevice

#: The value of an attribute, with its kind. None if the kind is unknown.
_Scalar = tuple[str, Any] | None
#: The values of an attribute that may be a list. None if there is none, or if the kind is unknown.
_Values = frozenset[tuple[str, Any]] | None

#: The kinds of values, in the order in which kube-scheduler looks for them.
_SCALARS = ("string", "int", "bool", "version")
_KINDS = ("int", "bool", "string", "version")


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


#: Returns the attribute of a device with a name, or None.
Find = Callable[[CandidateDevice, str], DeviceAttribute | None]


class DeviceConstraintState(Protocol):
    """A constraint that keeps track of the devices that the search has chosen."""

    def add(
        self, request: str, sub_request: str, candidate: CandidateDevice, find: Find = ...
    ) -> bool:
        """Record a device as chosen; return False if the constraint forbids it."""
        ...

    def remove(self, request: str, sub_request: str, candidate: CandidateDevice) -> None:
        """Undo a successful `add`."""
        ...

    def state(self) -> Hashable:
        """Return everything that decides whether further devices are accepted."""
        ...


def make_constraint(
    constraint: DeviceConstraint, *, lists: bool = False, distinct_by_request: bool = False
) -> DeviceConstraintState | None:
    """Return the state of a constraint; None if its kind is unknown.

    With `lists`, attributes may be lists. With `distinct_by_request`, distinctAttribute compares
    a device with the last device of each request only.
    """
    requests = constraint.requests
    if constraint.match_attribute is not None:
        if lists:
            return MatchAnyValue(requests, constraint.match_attribute)
        return MatchAttribute(requests, constraint.match_attribute)
    if constraint.distinct_attribute is None:
        return None
    if lists:
        return DistinctValues(requests, constraint.distinct_attribute)
    if distinct_by_request:
        return DistinctByRequest(requests, constraint.distinct_attribute)
    return DistinctAttribute(requests, constraint.distinct_attribute)


def _scalar(attribute: DeviceAttribute) -> _Scalar:
    for kind in _SCALARS:
        value = getattr(attribute, f"{kind}_value")
        if value is not None:
            return kind, value
    return None


def _values(attribute: DeviceAttribute) -> _Values:
    for kind in _KINDS:
        values = getattr(attribute, f"{kind}_values")
        if values:
            return frozenset((kind, value) for value in values)
    for kind in _KINDS:
        value = getattr(attribute, f"{kind}_value")
        if value is not None:
            return frozenset({(kind, value)})
    return None


class _AttributeConstraint(ABC):
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

    def add(
        self,
        request: str,
        sub_request: str,
        candidate: CandidateDevice,
        find: Find = find_attribute,
    ) -> bool:
        """Record a device as chosen; return False if the constraint forbids it."""
        if not self._concerns(request, sub_request):
            return True
        attribute = find(candidate, self._attribute)
        return attribute is not None and self._accept(request, attribute)

    def remove(self, request: str, sub_request: str, candidate: CandidateDevice) -> None:
        """Undo a successful `add`."""
        if self._concerns(request, sub_request):
            self._take_back(request)

    @abstractmethod
    def _accept(self, request: str, attribute: DeviceAttribute) -> bool: ...

    @abstractmethod
    def _take_back(self, request: str) -> None: ...


class MatchAttribute(_AttributeConstraint):
    """The constraint that all devices have the same value of an attribute."""

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._value: _Scalar = None
        self._count = 0

    def _accept(self, request: str, attribute: DeviceAttribute) -> bool:
        value = _scalar(attribute)
        if self._count == 0:
            self._value = value
        elif value is None or value != self._value:
            return False
        self._count += 1
        return True

    def _take_back(self, request: str) -> None:
        self._count -= 1

    def state(self) -> Hashable:
        """Return the value that further devices must have; None before the first device."""
        return (self._value,) if self._count else None


class MatchAnyValue(_AttributeConstraint):
    """The constraint that all devices have a value of an attribute in common."""

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        super().__init__(requests, attribute)
        #: The values in common after each device.
        self._common: list[frozenset[tuple[str, Any]]] = []

    def _accept(self, request: str, attribute: DeviceAttribute) -> bool:
        values = _values(attribute)
        if values is None:
            return False
        if self._common:
            values &= self._common[-1]
        if not values:
            return False
        self._common.append(values)
        return True

    def _take_back(self, request: str) -> None:
        self._common.pop()

    def state(self) -> Hashable:
        """Return the value that further devices must have; None before the first device."""
        return self._common[-1] if self._common else None


class DistinctAttribute(_AttributeConstraint):
    """The constraint that no two devices have the same value of an attribute."""

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._taken: list[_Scalar] = []

    def _accept(self, request: str, attribute: DeviceAttribute) -> bool:
        value = _scalar(attribute)
        if self._taken and (value is None or value in self._taken):
            return False
        self._taken.append(value)
        return True

    def _take_back(self, request: str) -> None:
        self._taken.pop()

    def state(self) -> Hashable:
        """Return the values that further devices must not have."""
        return frozenset(self._taken)


class DistinctValues(_AttributeConstraint):
    """The constraint that no two devices have a value of an attribute in common."""

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._taken: list[frozenset[tuple[str, Any]]] = []

    def _accept(self, request: str, attribute: DeviceAttribute) -> bool:
        values = _values(attribute)
        if values is None or any(values & others for others in self._taken):
            return False
        self._taken.append(values)
        return True

    def _take_back(self, request: str) -> None:
        self._taken.pop()

    def state(self) -> Hashable:
        """Return the values that further devices must not have."""
        return frozenset(self._taken)


class DistinctByRequest(_AttributeConstraint):
    """The constraint that no two devices have the same value of an attribute, as in 1.36.

    Only one value is kept per request: that of the request's last device.
    """

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._taken: dict[str, _Scalar] = {}
        self._count = 0

    def _accept(self, request: str, attribute: DeviceAttribute) -> bool:
        value = _scalar(attribute)
        if self._count and self._taken and (value is None or value in self._taken.values()):
            return False
        self._taken[request] = value
        self._count += 1
        return True

    def _take_back(self, request: str) -> None:
        self._taken.pop(request, None)
        self._count -= 1

    def state(self) -> Hashable:
        """Return the values that further devices must not have, by request."""
        return self._count, frozenset(self._taken.items())
