"""What claims read of devices, as codes: devices with equal codes are the same to the search."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol

import msgspec

from mooring.api import DeviceClass, ResourceClaim
from mooring.api.resource import (
    CapacityRequirements,
    Device,
    DeviceAttribute,
    DeviceSelector,
    DeviceSubRequest,
    ExactDeviceRequest,
)
from mooring.cel.reads import Reads
from mooring.cel.values import CompileError, EvaluationError
from mooring.plugins.dynamic_resources.capacity import WHOLE, Rounding, fits
from mooring.plugins.dynamic_resources.derived_attributes import DerivedAttributes
from mooring.plugins.dynamic_resources.device_columns import (
    Coded,
    DeviceColumns,
    Projection,
    ValueCodes,
)
from mooring.plugins.dynamic_resources.selectors import (
    ProgramCache,
    SelectorCache,
    device_variables,
)

#: How many results for all devices are kept; one takes 4 bytes per device.
_KEPT = 128
#: Above this many columns, every device counts as different: comparing them would take too long.
_MOST = 256
_DEVICE = "device"
#: Keys of an attribute or capacity: the variable, the field, the domain and the name.
_DEPTH = 4


class Classes(Protocol):
    """A source of device classes by name."""

    def get(self, name: str, namespace: str = "") -> DeviceClass | None:
        """Return one class, or None."""
        ...


class ClaimReads:
    """The codes of all devices, by what some claims read of them. Owned by the scheduling loop."""

    def __init__(
        self,
        columns: DeviceColumns,
        selectors: SelectorCache,
        *,
        lists: bool,
        capacity: bool,
        rounding: Rounding = WHOLE,
        derived: DerivedAttributes | None = None,
        node_resources: bool = False,
    ) -> None:
        self._rounding = rounding
        self._node_resources = node_resources
        self._columns = columns
        self._selectors = selectors
        self._derived = derived
        self._lists = lists
        self._capacity = capacity
        self._epoch = columns.epoch
        #: Codes by the text of a selector, by requests for capacity, or by a derived attribute.
        self._results: dict[str | bytes | _Derived, Coded] = {}

    def of(self, claims: Sequence[ResourceClaim], classes: Classes) -> Projection:
        """Return codes that are equal for devices that are the same to these claims."""
        columns = self._columns
        if self._epoch != columns.epoch:
            self._epoch = columns.epoch
            self._results.clear()
        inputs: list[Coded] = [columns.natures]
        if self._node_resources:
            inputs.append(columns.node_resources)
        expressions: dict[str, None] = {}
        derived: dict[_Derived, None] = {}
        capacities: list[CapacityRequirements | None] = []
        for claim in claims:
            constrained: set[str] = set()
            for constraint in claim.spec.devices.constraints:
                name = constraint.match_attribute or constraint.distinct_attribute or ""
                constrained.add(name)
                names = (name, name.partition("/")[2])
                inputs += [columns.attributes[one] for one in names if one in columns.attributes]
            for request in _requests(claim):
                device_class = classes.get(request.device_class_name)
                if device_class is not None:
                    expressions.update(dict.fromkeys(_texts(device_class.spec.selectors)))
                expressions.update(dict.fromkeys(_texts(request.selectors)))
                if request.capacity not in capacities:
                    capacities.append(request.capacity)
                derived.update(
                    (_Derived(attribute.expression), None)
                    for attribute in request.derived_attributes
                    if attribute.name in constrained
                )
        if len(inputs) + len(expressions) + len(derived) > _MOST:
            return Projection(columns, [columns.serials])
        inputs += [self._kept(text, partial(self._select, text)) for text in expressions]
        if self._derived is not None:
            inputs += [self._kept(one, partial(self._derive, one.expression)) for one in derived]
        if self._capacity:
            key = msgspec.json.encode(capacities)
            inputs.append(self._kept(key, partial(self._fitting, capacities)))
        return Projection(columns, inputs)

    def _kept(self, key: str | bytes | _Derived, make: Callable[[], Coded]) -> Coded:
        """Return codes that are remembered for later claims."""
        found = self._results.get(key)
        if found is None:
            found = make()
            if len(self._results) >= _KEPT:
                del self._results[next(iter(self._results))]
            self._results[key] = found
        return found

    def _select(self, expression: str) -> Coded:
        """Return codes by the result of a selector."""
        return self._by_result(self._selectors, expression, partial(self._evaluate, expression))

    def _derive(self, expression: str) -> Coded:
        """Return codes by the value of a derived attribute."""
        assert self._derived is not None
        return self._by_result(self._derived, expression, partial(self._value, expression))

    def _by_result(
        self, programs: ProgramCache, expression: str, ask: Callable[[str, Device], Hashable]
    ) -> Coded:
        """Return codes by what `ask` returns for a device; it is called once per distinct input."""
        columns = self._columns
        try:
            reads = programs.reads(expression)
            inputs = [columns.drivers, columns.faults, *self._inputs(reads)]
        except CompileError:
            # The search reports the error, which is the same for every device.
            return columns.drivers
        except _ReadsAllError:
            return columns.serials
        return Projection(columns, inputs, ask)

    def _inputs(self, reads: Reads) -> Iterator[Coded]:
        """Yield the columns that a selector reads; raise _ReadsAllError if that is all of them."""
        columns = self._columns
        for path, texts in reads.items():
            if path[0] != _DEVICE:
                continue
            if len(path) > 1 and path[1] == "driver":
                continue
            if len(path) > 1 and path[1] == "allowMultipleAllocations":
                yield columns.natures
            elif len(path) < _DEPTH:
                raise _ReadsAllError
            elif path[1] == "capacity":
                yield from _named(columns.capacities, path[2], path[3])
            else:
                for column in _named(columns.attributes, path[2], path[3]):
                    yield column if texts is None else column.compared_with(texts)

    def _evaluate(self, expression: str, driver: str, device: Device) -> bool | str:
        try:
            variables = device_variables(driver, device, lists=self._lists)
            return self._selectors.evaluate(self._selectors.compile(expression), variables)
        except EvaluationError as error:
            return str(error)

    def _value(self, expression: str, driver: str, device: Device) -> DeviceAttribute | str:
        assert self._derived is not None
        try:
            variables = device_variables(driver, device, lists=self._lists)
            return self._derived.evaluate(self._derived.compile(expression), variables)
        except EvaluationError as error:
            return str(error)

    def _fitting(self, capacities: Sequence[CapacityRequirements | None]) -> Projection:
        """Return codes by which requests find enough capacity in a device that is not in use."""
        return Projection(
            self._columns,
            [self._columns.drivers, self._columns.contents],
            lambda driver, device: tuple(
                fits(device, one, None, None, self._rounding) for one in capacities
            ),
        )


class _Derived(msgspec.Struct, frozen=True):
    """The expression of a derived attribute, as a cache key that no selector is equal to."""

    expression: str


class _ReadsAllError(Exception):
    """A selector that may read any attribute."""


def _named(group: Mapping[str, ValueCodes], domain: str, name: str) -> list[ValueCodes]:
    """Return the columns of an attribute: its driver may leave out its own domain."""
    return [group[one] for one in (f"{domain}/{name}", name) if one in group]


def _requests(claim: ResourceClaim) -> Iterator[ExactDeviceRequest | DeviceSubRequest]:
    for request in claim.spec.devices.requests:
        if request.exactly is not None:
            yield request.exactly
        yield from request.first_available


def _texts(selectors: Sequence[DeviceSelector]) -> Iterator[str]:
    for selector in selectors:
        if selector.cel is not None:
            yield selector.cel.expression
