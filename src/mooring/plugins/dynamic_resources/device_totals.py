"""How many devices of a class each node has, and how many of these are allocated.

The resource plugins score by these numbers if a DeviceClass backs an extended resource that the
node itself does not offer.
"""

# kube-scheduler: plugins/noderesources/resource_allocation.go (calculateDRAResourceTotals)

from __future__ import annotations

import logging

import msgspec
import numpy as np
from msgspec.structs import replace

from mooring.api import DeviceClass, NodeSelector, ResourceSlice
from mooring.api.resource import Device
from mooring.cel.meter import Bill
from mooring.cel.values import CompileError, EvaluationError
from mooring.errors import ObjectError
from mooring.framework.handle import Handle
from mooring.framework.nodes import Nodes, Rows
from mooring.observe.logs import log_error
from mooring.plugins.dynamic_resources.cel_budget import BudgetExceededError, CelBudget
from mooring.plugins.dynamic_resources.pools import parse_selector
from mooring.plugins.dynamic_resources.selectors import SelectorCache, device_variables
from mooring.plugins.dynamic_resources.tracker import DeviceID, claim_tracker
from mooring.plugins.node_matching import nodes_matching_terms
from mooring.typing import Ints, Mask

log = logging.getLogger(__name__)

#: Why the devices of a class are not counted, in the log.
TOO_EXPENSIVE = "the CEL selectors of the class cost more than the budget of an attempt"
_FAILED = "Failed to calculate DRA resource capacity and allocated"


class Totals(msgspec.Struct, frozen=True):
    """Numbers of devices per row of the full snapshot."""

    capacity: Ints
    allocated: Ints


#: A device that a class selects; with an error, it is not known whether it does.
_Candidate = tuple[Device, Exception | None]


class _Selected(msgspec.Struct):
    """The candidates of a slice, and what finding them cost."""

    #: Shows whether the candidates are current.
    slice: ResourceSlice
    candidates: list[_Candidate] = []
    cost: int = 0
    #: The cost of parts that read no device, by expression and number: it counts once per class.
    fixed: dict[tuple[str, int], int] = {}

    def charge(self, budget: CelBudget) -> None:
        """Charge the cost, or raise BudgetExceededError."""
        for key, cost in self.fixed.items():
            if not budget.is_charged(key):
                budget.charge(key, cost)
        budget.charge(self.slice.metadata.name, self.cost)


#: By name of the slice.
_Candidates = dict[str, _Selected]


class _ClassDevices(msgspec.Struct):
    """The devices of one class, as the slices and nodes of some moment have them."""

    device_class: DeviceClass
    versions: tuple[int, int]
    capacity: Ints
    #: Nodes on which nothing can be counted, and the last error that was the reason.
    failed: Mask
    error: Exception | None = None
    #: The row of the node of each device that one node has.
    own: dict[DeviceID, int] = {}
    #: Other devices, with the rows of their nodes, and devices that several slices list.
    others: list[tuple[DeviceID, Rows]] = []
    candidates: _Candidates = {}


class DeviceTotals:
    """A counter of devices by class and node. Owned by the scheduling loop."""

    def __init__(self, handle: Handle) -> None:
        self._slices = handle.lister(ResourceSlice)
        self._claims = claim_tracker(handle)
        self._lists = handle.features.enabled("DRAListTypeAttributes")
        self._selectors = SelectorCache(lists=self._lists)
        #: By name of the class.
        self._classes: dict[str, _ClassDevices] = {}

    def of(self, device_class: DeviceClass, nodes: Nodes) -> Totals:
        """Return the numbers of a class's devices on all nodes of the snapshot."""
        found = self._devices(device_class, nodes.all)
        taken = self._claims.allocated(shares=True)
        own = [found.own[device] for device in taken.used_of(found.own)]
        allocated = np.bincount(np.array(own, np.intp), minlength=len(found.capacity))
        for device, rows in found.others:
            if taken.is_used(device):
                allocated[rows] += 1
        allocated[found.failed] = 0
        return Totals(found.capacity, allocated)

    def _devices(self, device_class: DeviceClass, nodes: Nodes) -> _ClassDevices:
        name = device_class.metadata.name
        versions = (self._slices.version, nodes.node_generation)
        found = self._classes.get(name)
        if found is None or found.device_class is not device_class or found.versions != versions:
            known: _Candidates = {}
            if found is not None and found.device_class is device_class:
                known = found.candidates
            found = self._classes[name] = _ClassDevices(
                device_class,
                versions,
                capacity=np.zeros(len(nodes), dtype=np.int64),
                failed=np.zeros(len(nodes), dtype=np.bool_),
            )
            self._place(found, nodes, known)
        return found

    def _place(self, found: _ClassDevices, nodes: Nodes, known: _Candidates) -> None:
        """Find the nodes of every device of a class."""
        budget = CelBudget()
        for one in self._slices.list():
            name = one.metadata.name
            selected = known.get(name)
            try:
                if selected is None or selected.slice is not one:
                    selected = self._select(found.device_class, one, budget.left)
                found.candidates[name] = selected
                selected.charge(budget)
                self._place_slice(found, one, selected.candidates, nodes)
            except ObjectError as error:
                # It cannot be told which nodes the devices are for.
                found.error = error
                found.failed[:] = True
            except BudgetExceededError:
                found.error = EvaluationError(TOO_EXPENSIVE)
                found.failed[:] = True
                break
        found.capacity[found.failed] = 0
        if found.error is not None:
            name = found.device_class.metadata.name
            log_error(log, found.error, _FAILED, deviceClass=name)

    def _place_slice(
        self, found: _ClassDevices, one: ResourceSlice, candidates: list[_Candidate], nodes: Nodes
    ) -> None:
        spec = one.spec
        common: Rows | None = None
        if not spec.per_device_node_selection:
            common = _rows(nodes, spec.node_name, spec.all_nodes, spec.node_selector)
        for device, error in candidates:
            rows = common
            if rows is None:
                rows = _rows(nodes, device.node_name, device.all_nodes, device.node_selector)
            if error is not None:
                found.error = error
                found.failed[rows] = True
                continue
            found.capacity[rows] += 1
            key = (spec.driver, spec.pool.name, device.name)
            if len(rows) == 1 and key not in found.own:
                found.own[key] = int(rows[0])
            else:
                found.others.append((key, rows))

    def _select(self, device_class: DeviceClass, one: ResourceSlice, left: int) -> _Selected:
        """Return the devices of a slice that a class selects, or may select.

        Raise BudgetExceededError as soon as that costs more than `left`.
        """
        found = _Selected(one)
        for device in one.spec.devices:
            try:
                if self._matches(device_class, one.spec.driver, device, found):
                    found.candidates.append((device, None))
            except (CompileError, EvaluationError) as error:
                found.candidates.append((device, error))
            if found.cost + sum(found.fixed.values()) > left:
                raise BudgetExceededError
        return found

    def _matches(
        self, device_class: DeviceClass, driver: str, device: Device, found: _Selected
    ) -> bool:
        if device.allow_multiple_allocations:
            # Selectors do not see this here, as in kube-scheduler.
            device = replace(device, allow_multiple_allocations=None)
        for selector in device_class.spec.selectors:
            if selector.cel is not None:
                expression, bill = selector.cel.expression, Bill()
                program = self._selectors.compile(expression)
                variables = device_variables(driver, device, lists=self._lists)
                try:
                    if not self._selectors.evaluate(program, variables, bill):
                        return False
                finally:
                    found.cost += bill.own
                    found.fixed.update(
                        ((expression, part), cost) for part, cost in bill.fixed.items()
                    )
        return True


def device_totals(handle: Handle) -> DeviceTotals:
    """Return the counter that all plugins of all profiles share."""
    return handle.shared("DynamicResources/totals", lambda: DeviceTotals(handle))


def _rows(
    nodes: Nodes, node_name: str | None, all_nodes: bool | None, selector: NodeSelector | None
) -> Rows:
    """Return the rows of the nodes that reach a slice or a device."""
    if node_name:
        rows = nodes.rows_of((node_name,))
        return rows[rows >= 0]
    if all_nodes:
        return np.arange(len(nodes))
    if selector is None:
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(nodes_matching_terms(nodes, parse_selector(selector)))
