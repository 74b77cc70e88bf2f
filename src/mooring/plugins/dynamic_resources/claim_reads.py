"""What claims read of devices, as codes: devices with equal codes are the same to the search."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

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
from mooring.cel.meter import Bill
from mooring.cel.reads import Reads
from mooring.cel.values import CompileError, EvaluationError
from mooring.plugins.dynamic_resources.capacity import WHOLE, Rounding, fits
from mooring.plugins.dynamic_resources.cel_budget import BudgetExceededError, CelBudget
from mooring.plugins.dynamic_resources.derived_attributes import DerivedAttributes
from mooring.plugins.dynamic_resources.device_columns import (
    Coded,
    DeviceColumns,
    Projection,
    ValueCodes,
)
from mooring.plugins.dynamic_resources.device_results import DeviceResults, Measured
from mooring.plugins.dynamic_resources.pools import CandidateDevice
from mooring.plugins.dynamic_resources.selectors import SelectorCache, device_variables

#: How many results for all devices are kept; one takes 8 bytes per device.
_KEPT = 128
#: How many devices are kept in the form in which expressions see them.
_DEVICES = 4096
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
    """The results of expressions for all devices, for all claims. Owned by the scheduling loop."""

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
        progress: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare results for the devices of `columns`; `progress` is called per evaluation."""
        self._progress = progress
        self._rounding = rounding
        self._node_resources = node_resources
        self._columns = columns
        self._selectors = selectors
        self._derived = derived
        self._lists = lists
        self._capacity = capacity
        self._epoch = columns.epoch
        #: Results by the text of a selector, by requests for capacity, or by a derived attribute.
        self._results: dict[str | bytes | Derived, DeviceResults] = {}
        #: Devices as expressions see them, by id; each with its device, which keeps the id in use.
        self._variables: dict[int, tuple[Device, dict[str, Any]]] = {}

    def of(self, claims: Sequence[ResourceClaim], classes: Classes) -> ClaimDevicesView:
        """Return what these claims read of all devices.

        Its expressions are compiled, but not evaluated yet.
        """
        columns = self._columns
        if self._epoch != columns.epoch:
            self._epoch = columns.epoch
            self._results.clear()
        inputs: list[Coded] = [columns.natures]
        if self._node_resources:
            inputs.append(columns.node_resources)
        capacities: list[CapacityRequirements | None] = []
        for claim in claims:
            for name in _constrained(claim):
                names = (name, name.partition("/")[2])
                inputs += [columns.attributes[one] for one in names if one in columns.attributes]
            for request in _requests(claim):
                if request.capacity not in capacities:
                    capacities.append(request.capacity)
        expressions = [
            [one for one in found if self._is_enabled(one)]
            for found in expressions_of(claims, classes)
        ]
        results: dict[str | Derived, DeviceResults | CompileError] = {}
        for one in {one: None for texts in expressions for one in texts}:
            try:
                results[one] = self._kept(one, partial(self._evaluated, one))
            except CompileError as error:
                # The search reports it: it is the same for every device.
                results[one] = error
        inputs += [one for one in results.values() if isinstance(one, DeviceResults)]
        fitting: list[DeviceResults] = []
        if self._capacity:
            key = msgspec.json.encode(capacities)
            fitting.append(self._kept(key, partial(self._fitting, capacities)))
        inputs += fitting
        if len(inputs) > _MOST:
            inputs = [columns.serials]
        return ClaimDevicesView(columns, inputs, expressions, results, fitting)

    def work(self, expression: str | Derived) -> int:
        """Compile an expression; return the work that its length does not show."""
        if isinstance(expression, Derived):
            return 0 if self._derived is None else self._derived.work(expression.text)
        return self._selectors.work(expression)

    def _is_enabled(self, expression: str | Derived) -> bool:
        return self._derived is not None or not isinstance(expression, Derived)

    def _kept(self, key: str | bytes | Derived, make: Callable[[], DeviceResults]) -> DeviceResults:
        """Return results that are remembered for later claims."""
        found = self._results.get(key)
        if found is None:
            found = make()
            if len(self._results) >= _KEPT:
                del self._results[next(iter(self._results))]
            self._results[key] = found
        return found

    def _evaluated(self, expression: str | Derived) -> DeviceResults:
        """Return the results of an expression, or raise CompileError."""
        columns = self._columns
        if isinstance(expression, Derived):
            assert self._derived is not None
            reads = self._derived.reads(expression.text)
        else:
            reads = self._selectors.reads(expression)
        try:
            inputs = [columns.drivers, columns.faults, *self._inputs(reads)]
        except _ReadsAllError:
            inputs = [columns.drivers, columns.serials]
        return DeviceResults(columns, inputs, partial(self._measure, expression))

    def _measure(self, expression: str | Derived, driver: str, device: Device) -> Measured:
        """Evaluate an expression for a device."""
        self._progress()
        bill = Bill()
        value: bool | DeviceAttribute | EvaluationText
        try:
            variables = self._variables_of(driver, device)
            if isinstance(expression, Derived):
                assert self._derived is not None
                program = self._derived.compile(expression.text)
                value = self._derived.evaluate(program, variables, bill)
            else:
                program = self._selectors.compile(expression)
                value = self._selectors.evaluate(program, variables, bill)
        except EvaluationError as error:
            value = EvaluationText(str(error))
        return Measured(value, bill.own, bill.fixed)

    def _variables_of(self, driver: str, device: Device) -> dict[str, Any]:
        known = self._variables.get(id(device))
        if known is None:
            variables = device_variables(driver, device, lists=self._lists)
            if len(self._variables) >= _DEVICES:
                self._variables.clear()
            known = self._variables[id(device)] = (device, variables)
        return known[1]

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

    def _fitting(self, capacities: Sequence[CapacityRequirements | None]) -> DeviceResults:
        """Return by which requests enough capacity is found in a device that is not in use."""
        return DeviceResults(
            self._columns,
            [self._columns.drivers, self._columns.contents],
            lambda driver, device: Measured(
                tuple(fits(device, one, None, None, self._rounding) for one in capacities)
            ),
        )


class ClaimDevicesView:
    """What some claims read of all devices: codes, and the results of expressions."""

    def __init__(
        self,
        columns: DeviceColumns,
        inputs: Sequence[Coded],
        expressions: Sequence[Sequence[str | Derived]],
        results: Mapping[str | Derived, DeviceResults | CompileError],
        fitting: Sequence[DeviceResults],
    ) -> None:
        self._columns = columns
        #: Codes that are equal for devices that are the same to the claims.
        self.codes = Projection(columns, inputs)
        #: For each claim, the expressions of its requests and their classes.
        self.expressions = expressions
        self._results = results
        self._fitting = fitting

    def evaluate(self, claims: Sequence[ResourceClaim], budget: CelBudget) -> None:
        """Evaluate the expressions for all devices and charge what that costs.

        `claims` are as they were passed to `ClaimReads.of`, perhaps with other names. Raise
        BudgetExceededError, with the claim, if it is more than the budget.
        """
        for claim, expressions in zip(claims, self.expressions, strict=True):
            for expression in expressions:
                results = self._results[expression]
                if isinstance(results, CompileError):
                    continue
                try:
                    if budget.is_charged(expression):
                        results.refresh()
                    else:
                        budget.charge(expression, results.refresh(budget.left))
                except BudgetExceededError:
                    raise budget.exceeded(claim.key) from None
        for results in self._fitting:
            results.refresh()

    def selects(self, expression: str, candidate: CandidateDevice) -> bool:
        """Return whether a selector selects a device; raise CompileError or EvaluationError."""
        return bool(self._value(expression, candidate))

    def derive(self, expression: str, candidate: CandidateDevice) -> DeviceAttribute:
        """Return the value of a derived attribute; raise CompileError or EvaluationError."""
        value: DeviceAttribute = self._value(Derived(expression), candidate)
        return value

    def _value(self, expression: str | Derived, candidate: CandidateDevice) -> Any:
        results = self._results[expression]
        if isinstance(results, CompileError):
            raise CompileError(*results.args)
        value = results.value(self._columns.row_of(candidate.id, candidate.device))
        if isinstance(value, EvaluationText):
            raise EvaluationError(value.text)
        return value


class Derived(msgspec.Struct, frozen=True):
    """The expression of a derived attribute, as a key that no selector is equal to."""

    text: str


def text_of(expression: str | Derived) -> str:
    """Return the text of an expression."""
    return expression.text if isinstance(expression, Derived) else expression


class EvaluationText(msgspec.Struct, frozen=True):
    """The error of an evaluation."""

    text: str


class _ReadsAllError(Exception):
    """A selector that may read any attribute."""


def _named(group: Mapping[str, ValueCodes], domain: str, name: str) -> list[ValueCodes]:
    """Return the columns of an attribute: its driver may leave out its own domain."""
    return [group[one] for one in (f"{domain}/{name}", name) if one in group]


def expressions_of(
    claims: Sequence[ResourceClaim], classes: Classes
) -> Sequence[Sequence[str | Derived]]:
    """Return the expressions that the search may evaluate for each claim, each once per claim.

    Of derived attributes, only those that a constraint compares.
    """
    constrained = {name for claim in claims for name in _constrained(claim)}
    return [_expressions(claim, classes, constrained) for claim in claims]


def _expressions(
    claim: ResourceClaim, classes: Classes, constrained: Container[str]
) -> Sequence[str | Derived]:
    found: dict[str | Derived, None] = {}
    for request in _requests(claim):
        device_class = classes.get(request.device_class_name)
        if device_class is not None:
            found.update(dict.fromkeys(_texts(device_class.spec.selectors)))
        found.update(dict.fromkeys(_texts(request.selectors)))
        found.update(
            (Derived(attribute.expression), None)
            for attribute in request.derived_attributes
            if attribute.name in constrained
        )
    return list(found)


def _constrained(claim: ResourceClaim) -> dict[str, None]:
    """Return the names of the attributes that constraints of a claim compare."""
    return dict.fromkeys(
        one.match_attribute or one.distinct_attribute or ""
        for one in claim.spec.devices.constraints
    )


def _requests(claim: ResourceClaim) -> Iterator[ExactDeviceRequest | DeviceSubRequest]:
    for request in claim.spec.devices.requests:
        if request.exactly is not None:
            yield request.exactly
        yield from request.first_available


def _texts(selectors: Sequence[DeviceSelector]) -> Iterator[str]:
    for selector in selectors:
        if selector.cel is not None:
            yield selector.cel.expression
