"""Allocator: find devices for claims, on one node at a time.

The search goes through the claims' requests one after another and picks for each device the first
candidate that fits. If the remaining requests then cannot be satisfied, it backtracks and tries the
next candidate. The first complete result is returned.
"""

# dynamic-resource-allocation: structured/internal/experimental/allocator_experimental.go. The
# incubating variant makes the same decisions while the gates of alpha features are off.

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec
from msgspec.structs import replace

from mooring.api import DeviceClass, Node, ResourceClaim
from mooring.api.quantity import parse_nanos
from mooring.api.resource import (
    Counter,
    DeviceAttribute,
    DeviceRequest,
    ExactDeviceRequest,
)
from mooring.cel.values import CompileError, EvaluationError
from mooring.framework.listers import Lister
from mooring.plugins.dynamic_resources.capacity import WHOLE, Rounding
from mooring.plugins.dynamic_resources.cel_budget import CelBudget
from mooring.plugins.dynamic_resources.compatibility_groups import PoolGroups, groups_of
from mooring.plugins.dynamic_resources.device_constraints import find_attribute
from mooring.plugins.dynamic_resources.device_requests import (
    MAX_RESULTS,
    AllocationError,
    Wanted,
    make_wanted,
)
from mooring.plugins.dynamic_resources.device_search import PRUNE_AFTER, DeviceSearch
from mooring.plugins.dynamic_resources.pools import CandidateDevice, NodePools, SlicePools
from mooring.plugins.dynamic_resources.results import ClaimDevices
from mooring.plugins.dynamic_resources.tracker import AllocatedDevices, Amounts

# dynamic-resource-allocation: cel/errors.go
_NO_KEY = "no such key:"
_HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with "
    "has() for optional fields"
)

INVALID_POOLS = "invalid resource pools were encountered"


class AllocatorFeatures(msgspec.Struct, frozen=True):
    """The optional parts of the API that are enabled."""

    admin_access: bool = True
    prioritized_list: bool = True
    partitionable_devices: bool = True
    device_taints: bool = True
    binding_conditions: bool = True
    consumable_capacity: bool = True
    list_attributes: bool = False
    derived_attributes: bool = False
    compatibility_groups: bool = False
    #: Whether devices are allocated as in 1.36:
    #: - distinctAttribute compares a device only with the last device of each request;
    #: - all nodes reach the counters of every pool;
    #: - a request for all devices leaves out those with too little capacity;
    #: - each share of a device that consumes no capacity consumes the device's counters again;
    #: - configuration that applies to all requests lists their names;
    #: - expressions read lists of values only if `list_attributes` is on;
    #: - some errors have other texts.
    older_allocator: bool = False
    optional_node_operations: bool = False
    rounding: Rounding = WHOLE

    @property
    def reads_lists(self) -> bool:
        """Whether expressions may read attributes that are lists."""
        return self.list_attributes or not self.older_allocator


class FoundDevices(msgspec.Struct, frozen=True):
    """The result for a node, found on that node or on another of its group."""

    answer: Sequence[ClaimDevices]
    source: NodePools
    here: NodePools
    #: The claims that get the devices.
    wanted: Sequence[ResourceClaim]

    def claims(self) -> Sequence[ClaimDevices]:
        """Return the devices of the node itself, claim by claim."""
        if self.source is self.here and all(
            one.claim is claim for one, claim in zip(self.answer, self.wanted, strict=True)
        ):
            return self.answer
        places = {candidate.id: i for i, candidate in enumerate(self.source.devices)}
        return [
            replace(
                one,
                claim=claim,
                chosen=tuple(
                    replace(device, candidate=self.here.devices[places[device.candidate.id]])
                    for device in one.chosen
                ),
            )
            for one, claim in zip(self.answer, self.wanted, strict=True)
        ]


class NodeAllocationError(Exception):
    """An error in the pools of one node; other nodes may still fit."""


class Evaluations(Protocol):
    """The results of the claims' expressions; both raise CompileError or EvaluationError."""

    def selects(self, expression: str, candidate: CandidateDevice) -> bool:
        """Return whether a selector selects a device."""
        ...

    def derive(self, expression: str, candidate: CandidateDevice) -> DeviceAttribute:
        """Return the value of a derived attribute."""
        ...


class Allocator:
    """The search for devices during one scheduling cycle."""

    def __init__(
        self,
        features: AllocatorFeatures,
        allocated: AllocatedDevices,
        classes: Lister[DeviceClass],
        pools: SlicePools,
        *,
        prune_after: int = PRUNE_AFTER,
    ) -> None:
        """Prepare a search; it is pruned after `prune_after` steps, which changes no result."""
        self._prune_after = prune_after
        #: How many devices have been looked for.
        self.steps = 0
        #: What the last search cost.
        self.cost = 0
        self.features = features
        self.allocated = allocated
        self._classes = classes
        self._pools = pools
        self._evaluations: Evaluations
        self._groups: dict[tuple[str, str], PoolGroups] = {}
        self._wanted: dict[tuple[int, int], list[Wanted]] = {}
        self._counters: dict[tuple[str, str], dict[str, Amounts]] = {}
        #: Results by the ids of the node's pools and of the claims.
        self._answers: dict[tuple[int, ...], tuple[NodePools, list[ClaimDevices] | None]] = {}

    def allocate(
        self,
        node: Node,
        claims: Sequence[ResourceClaim],
        evaluations: Evaluations,
        expired: Callable[[], bool],
        budget: CelBudget,
    ) -> FoundDevices | None:
        """Return devices for every claim, or None. The claims must outlive the allocator.

        Raise AllocationError if claims or classes are invalid, NodeAllocationError if the node's
        pools are, and TimeoutError once `expired` returns True. The cost of a long search is
        charged; raise BudgetExceededError if it is more than the budget.
        """
        reached = self._pools.of(node)
        key = (id(reached), *map(id, claims))
        known = self._answers.get(key)
        if known is None:
            known = self._answers[key] = (
                reached,
                self.search(reached, claims, evaluations, expired, budget.left),
            )
            budget.spend(self.cost)
        answer = known[1]
        return None if answer is None else FoundDevices(answer, reached, reached, claims)

    def search(
        self,
        reached: NodePools,
        claims: Sequence[ResourceClaim],
        evaluations: Evaluations,
        expired: Callable[[], bool],
        most: int | None = None,
    ) -> list[ClaimDevices] | None:
        """Return devices of a node's pools for every claim, or None; raise as `allocate` does.

        `cost` is then the cost of the search, which is at most `most`.
        """
        self._evaluations = evaluations
        search = DeviceSearch(self, reached.devices, expired, self._prune_after, most)
        for claim in claims:
            wanted = []
            total = 0
            for index, request in enumerate(claim.spec.devices.requests):
                wanted.append(self._alternatives(claim, index, request, reached, search))
                least = min(one.count for one in wanted[-1])
                if total + least > MAX_RESULTS and not self.features.older_allocator:
                    raise AllocationError(
                        f"claim {claim.key}, request {request.name}: adding {least} devices "
                        f"exceeds the claim limit of {MAX_RESULTS}, with {total} already "
                        "accounted for"
                    )
                total += least
            if total > MAX_RESULTS:
                raise AllocationError(
                    f"claim {claim.key}: number of requested devices {total} exceeds the claim "
                    f"limit of {MAX_RESULTS}"
                )
            search.add_claim(claim, wanted)
        try:
            if search.run():
                return search.found()
        finally:
            self.steps += search.steps
            self.cost = search.cost
        if any(pool.invalid for pool in reached.pools):
            raise NodeAllocationError(INVALID_POOLS)
        return None

    def _alternatives(
        self,
        claim: ResourceClaim,
        index: int,
        request: DeviceRequest,
        reached: NodePools,
        search: DeviceSearch,
    ) -> list[Wanted]:
        """Return the alternatives of a request (one if it has none), as they apply to a node."""
        found = self._wanted.get((id(claim), index))
        if found is None:
            found = self._wanted[id(claim), index] = self._read(claim, request)
        if not any(wanted.wants_all for wanted in found):
            return found
        found = [copy.copy(wanted) for wanted in found]
        for wanted in found:
            if wanted.wants_all:
                self._want_all(wanted, reached, search)
        return found

    def _read(self, claim: ResourceClaim, request: DeviceRequest) -> list[Wanted]:
        where = f"claim {claim.key}, request {request.name}"
        parts: list[tuple[str, ExactDeviceRequest]]
        if request.first_available:
            if not self.features.prioritized_list:
                raise AllocationError(
                    f"{where}: has subrequests, but the DRAPrioritizedList feature is disabled"
                )
            parts = [
                (
                    sub.name,
                    ExactDeviceRequest(
                        device_class_name=sub.device_class_name,
                        selectors=sub.selectors,
                        allocation_mode=sub.allocation_mode,
                        count=sub.count,
                        tolerations=sub.tolerations,
                        capacity=sub.capacity,
                        derived_attributes=sub.derived_attributes,
                    ),
                )
                for sub in request.first_available
            ]
        else:
            parts = [("", request.exactly or ExactDeviceRequest())]
        found = []
        for name, exactly in parts:
            if exactly.capacity is not None and not self.features.consumable_capacity:
                what = f"subrequest {name}" if name else f"request {request.name}"
                raise AllocationError(
                    f"claim {claim.key}, {what}: has capacity requests, but the "
                    "DRAConsumableCapacity feature is disabled"
                )
            if exactly.derived_attributes and not self.features.derived_attributes:
                raise AllocationError(
                    f"claim {claim.key}, request {name or request.name}: cannot handle request "
                    "with derived attributes, the feature is disabled"
                )
            if exactly.admin_access is not None and not self.features.admin_access:
                raise AllocationError(
                    f"{where}: admin access is requested, but the feature is disabled"
                )
            device_class = self._classes.get(exactly.device_class_name)
            found.append(make_wanted(claim, request.name, name, exactly, device_class))
        return found

    def _want_all(self, wanted: Wanted, reached: NodePools, search: DeviceSearch) -> None:
        where = f"claim {wanted.claim.key}, request {wanted.own_name}: asks for all devices"
        everything: list[CandidateDevice] = []
        for pool in reached.pools:
            if pool.is_incomplete:
                raise AllocationError(
                    f"{where}, but resource pool {pool.name} is currently being updated"
                )
            if pool.invalid:
                raise AllocationError(
                    f"{where}, but resource pool {pool.name} is currently invalid"
                )
            everything += [
                candidate
                for candidate in pool.devices
                if search.is_selectable(wanted, candidate)
                and search.is_one_of_all(wanted, candidate)
            ]
        wanted.everything = everything
        wanted.count = len(everything)

    # What the search reads repeatedly.

    def selects(self, wanted: Wanted, candidate: CandidateDevice) -> bool:
        """Return whether the selectors of the class and of the request match a device."""
        for device_class, i, expression in wanted.selectors:
            where = f"{_owner(wanted, device_class)}: selector #{i}"
            try:
                if not self._evaluations.selects(expression, candidate):
                    return False
            except CompileError as error:
                raise AllocationError(f"{where}: CEL compile error: {error}") from None
            except EvaluationError as error:
                text = str(error)
                if not self.features.older_allocator:
                    where += f" on device {'/'.join(candidate.id)}"
                    text += _HINT if _NO_KEY in text else ""
                raise AllocationError(f"{where}: CEL runtime error: {text}") from None
        return True

    def evaluate(self, expression: str, candidate: CandidateDevice) -> bool | str:
        """Return the result of a selector, or the text of its error."""
        try:
            return self._evaluations.selects(expression, candidate)
        except (CompileError, EvaluationError) as error:
            return str(error)

    def derived_attribute(
        self, wanted: Wanted, candidate: CandidateDevice, name: str
    ) -> DeviceAttribute | None:
        """Return a device's attribute, derived if the request derives it; None if it has none."""
        expression = wanted.derived.get(name)
        if expression is None:
            return find_attribute(candidate, name)
        try:
            return self._evaluations.derive(expression, candidate)
        except CompileError as error:
            raise AllocationError(f"compile derived attribute {name} failed: {error}") from None
        except EvaluationError as error:
            raise AllocationError(
                f"evaluate derived attribute {name} on device {'/'.join(candidate.id)} "
                f"failed: {error}"
            ) from None

    def available_counters(self, candidate: CandidateDevice) -> dict[str, Amounts]:
        """Return what is left of the counters of a device's pool, beside allocated devices."""
        pool = candidate.pool
        found = self._counters.get(pool.id)
        if found is None:
            found = self._counters[pool.id] = {
                name: {key: _nanos(counter) for key, counter in counters.counters.items()}
                for name, counters in pool.counter_sets.items()
            }
            for device_id, device in pool.all_devices:
                if device.consumes_counters and self.allocated.is_used(device_id):
                    for consumption in device.consumes_counters:
                        left = found[consumption.counter_set]
                        for key, counter in consumption.counters.items():
                            left[key] -= _nanos(counter)
        return found

    def groups_in_use(self, candidate: CandidateDevice) -> PoolGroups:
        """Return the compatibility groups that the allocated devices of a device's pool share."""
        pool = candidate.pool
        found = self._groups.get(pool.id)
        if found is None:
            found = self._groups[pool.id] = groups_of(
                device
                for device_id, device in pool.all_devices
                if device.consumes_counters and self.allocated.is_used(device_id)
            )
        return found


def _nanos(counter: Counter) -> int:
    return parse_nanos(counter.value)


def _owner(wanted: Wanted, device_class: DeviceClass | None) -> str:
    if device_class is not None:
        return f"class {device_class.metadata.name}"
    return f"claim {wanted.claim.key}"
