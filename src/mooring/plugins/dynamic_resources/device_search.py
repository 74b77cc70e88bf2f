"""DeviceSearch: a backtracking search for devices that satisfy all requests of some claims."""

# dynamic-resource-allocation: structured/internal/incubating/allocator_incubating.go (allocateOne)

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from functools import partial
from typing import Protocol

import msgspec

from mooring.api import ResourceClaim
from mooring.api.quantity import Quantity, parse_nanos
from mooring.api.resource import DeviceAttribute
from mooring.cel.depth import room_for
from mooring.plugins.dynamic_resources.capacity import Rounding, consumption, fits
from mooring.plugins.dynamic_resources.cel_budget import BudgetExceededError
from mooring.plugins.dynamic_resources.compatibility_groups import PoolGroups, admitted
from mooring.plugins.dynamic_resources.device_constraints import (
    DeviceConstraintState,
    Find,
    find_attribute,
    make_constraint,
)
from mooring.plugins.dynamic_resources.device_requests import MAX_RESULTS, AllocationError, Wanted
from mooring.plugins.dynamic_resources.pools import CandidateDevice, PoolError
from mooring.plugins.dynamic_resources.results import ChosenDevice, ClaimDevices
from mooring.plugins.dynamic_resources.search_pruning import Pruning
from mooring.plugins.dynamic_resources.tracker import AllocatedDevices, Amounts, DeviceID

_EFFECTS = ("NoSchedule", "NoExecute")
#: Python frames for each device of a result.
_FRAMES = 4
#: A search that takes more steps than this is pruned; most take one for each device.
PRUNE_AFTER = 256
#: What looking at a device costs in a search that takes more steps.
_LOOK = 8
#: How many failed states are remembered.
_MOST_STATES = 100_000


class _TooManyError(Exception):
    """A choice that would give a claim more devices than it can hold."""


class _NotEnoughError(Exception):
    """There are fewer devices than all claims need together."""


class Features(Protocol):
    """The optional parts of the API that are enabled."""

    @property
    def partitionable_devices(self) -> bool:
        """Whether devices may consume counters."""
        ...

    @property
    def device_taints(self) -> bool:
        """Whether device taints count."""
        ...

    @property
    def binding_conditions(self) -> bool:
        """Whether devices may have to be prepared before binding."""
        ...

    @property
    def consumable_capacity(self) -> bool:
        """Whether devices may be shared by capacity."""
        ...

    @property
    def list_attributes(self) -> bool:
        """Whether attributes may be lists."""
        ...

    @property
    def compatibility_groups(self) -> bool:
        """Whether devices must have a compatibility group in common to share counters."""
        ...

    @property
    def older_allocator(self) -> bool:
        """Whether devices are allocated as in 1.36."""
        ...

    @property
    def optional_node_operations(self) -> bool:
        """Whether devices may skip operations of nodes."""
        ...

    @property
    def rounding(self) -> Rounding:
        """How requests for capacity are rounded."""
        ...


class Ground(Protocol):
    """What the search reads that is the same for every node."""

    @property
    def features(self) -> Features:
        """The optional parts of the API that are enabled."""
        ...

    @property
    def allocated(self) -> AllocatedDevices:
        """The devices that are allocated already."""
        ...

    def selects(self, wanted: Wanted, candidate: CandidateDevice) -> bool:
        """Return whether the selectors match a device."""
        ...

    def evaluate(self, expression: str, candidate: CandidateDevice) -> bool | str:
        """Return the result of a selector, or the text of its error."""
        ...

    def derived_attribute(
        self, wanted: Wanted, candidate: CandidateDevice, name: str
    ) -> DeviceAttribute | None:
        """Return a device's attribute, derived if the request derives it; None if it has none."""
        ...

    def available_counters(self, candidate: CandidateDevice) -> dict[str, Amounts]:
        """Return what is left of the counters of a device's pool."""
        ...

    def groups_in_use(self, candidate: CandidateDevice) -> PoolGroups:
        """Return the compatibility groups that the allocated devices of a device's pool share."""
        ...


class _Claim(msgspec.Struct):
    claim: ResourceClaim
    #: For each request, its alternatives.
    wanted: list[list[Wanted]]
    constraints: list[DeviceConstraintState]
    chosen: list[ChosenDevice] = []
    #: For each request, the index of the alternative taken.
    taken: list[int] = []


class DeviceSearch:
    """A search for devices on one node. Used once."""

    def __init__(
        self,
        ground: Ground,
        candidates: list[CandidateDevice],
        expired: Callable[[], bool],
        prune_after: int = PRUNE_AFTER,
        most: int | None = None,
    ) -> None:
        """Prepare a search that costs at most `most`, in units of CEL cost; None for no limit."""
        self._ground = ground
        self._most = most
        self._prune_after = prune_after
        self._candidates = candidates
        self._expired = expired
        self._claims: list[_Claim] = []
        self._selectable: dict[tuple[int, DeviceID], bool] = {}
        #: Devices chosen exclusively, with the indexes of their claims.
        self._in_use: dict[DeviceID, set[int]] = {}
        #: What the choices so far consume of shared devices.
        self._planned: dict[DeviceID, Amounts] = {}
        #: What the choices so far consume of counters, by pool and counter set.
        self._counters: dict[tuple[str, str], dict[str, Amounts]] = {}
        #: The compatibility groups that the users of counters share, with the choices so far, by
        #: pool.
        self._groups: dict[tuple[str, str], PoolGroups] = {}
        #: How many devices were looked for.
        self.steps = 0
        #: What the search cost so far: nothing, as long as it is short.
        self.cost = 0
        self._pruning: Pruning | None = None
        #: States from which the search has failed.
        self._failed: set[Hashable] = set()

    def add_claim(self, claim: ResourceClaim, wanted: list[list[Wanted]]) -> None:
        """Add a claim; claims are served in the order they were added."""
        constraints = []
        features = self._ground.features
        for i, constraint in enumerate(claim.spec.devices.constraints):
            made = make_constraint(
                constraint,
                lists=features.list_attributes,
                distinct_by_request=features.older_allocator,
            )
            if made is None:
                raise AllocationError(
                    f"claim {claim.key}, constraint #{i}: empty constraint "
                    "(unsupported constraint type?)"
                )
            constraints.append(made)
        self._claims.append(_Claim(claim, wanted, constraints, taken=[0] * len(wanted)))

    def run(self) -> bool:
        """Choose devices for all claims; return False if that is not possible."""
        devices = sum(
            max(wanted.count for wanted in alternatives)
            for one in self._claims
            for alternatives in one.wanted
        )
        try:
            with room_for(devices + 2 * len(self._claims), _FRAMES):
                return self._request(0, 0)
        except (_TooManyError, _NotEnoughError):
            return False

    def found(self) -> list[ClaimDevices]:
        """Return the chosen devices, in the order of the claims."""
        return [
            ClaimDevices(
                one.claim,
                tuple(one.chosen),
                tuple(
                    alternatives[taken]
                    for alternatives, taken in zip(one.wanted, one.taken, strict=True)
                ),
            )
            for one in self._claims
        ]

    # The search. Each step makes one choice and calls the next step for the rest; if the rest
    # fails, it makes another choice.

    def _request(self, claim_index: int, request_index: int) -> bool:
        """Serve a claim's requests from an index on, then the claims after it."""
        if claim_index == len(self._claims):
            return True
        one = self._claims[claim_index]
        if request_index == len(one.wanted):
            try:
                return self._request(claim_index + 1, 0)
            except _TooManyError:
                # Another choice for an earlier claim may allow a smaller alternative.
                return False
        alternatives = one.wanted[request_index]
        if not alternatives[0].sub_request:
            return self._devices(claim_index, request_index, alternatives[0], 0, 0)
        too_many = True
        for number, wanted in enumerate(alternatives):
            try:
                success = self._devices(claim_index, request_index, wanted, 0, 0)
            except _TooManyError:
                continue
            too_many = False
            if success:
                one.taken[request_index] = number
                return True
        if too_many:
            raise _TooManyError
        return False

    def _devices(
        self, claim_index: int, request_index: int, wanted: Wanted, number: int, start: int
    ) -> bool:
        """Choose a request's devices from `number` on, among the candidates from `start` on."""
        if self._expired():
            raise TimeoutError
        if wanted.wants_all and not wanted.everything:
            return False
        if number >= wanted.count:
            return self._request(claim_index, request_index + 1)
        one = self._claims[claim_index]
        if len(one.chosen) + wanted.count - number > MAX_RESULTS:
            raise _TooManyError
        if wanted.everything is not None:
            candidate = wanted.everything[number]
            undo = self._choose(claim_index, wanted, candidate, must=True)
            return undo is not None and self._go_on(
                undo, claim_index, request_index, wanted, number, 0
            )
        self.steps += 1
        state = None
        if self.steps > self._prune_after:
            # The state is computed from all candidates, and then those from `start` on are tried.
            self._spend(_LOOK * (2 * len(self._candidates) - start))
            state = self._state(claim_index, request_index, wanted, number, start)
            if state in self._failed:
                return False
        for place in range(start, len(self._candidates)):
            candidate = self._candidates[place]
            if (
                self._is_in_use(claim_index, wanted, candidate.id)
                or not self.is_selectable(wanted, candidate)
                or not self.has_capacity(wanted, candidate)
            ):
                continue
            undo = self._choose(claim_index, wanted, candidate)
            # The order of a request's devices does not matter, so try only later candidates next.
            if undo is not None and self._go_on(
                undo, claim_index, request_index, wanted, number, place + 1
            ):
                return True
        if state is not None and len(self._failed) < _MOST_STATES:
            self._failed.add(state)
        return False

    def _spend(self, cost: int) -> None:
        self.cost += cost
        if self._most is not None and self.cost > self._most:
            raise BudgetExceededError

    # Pruning: what follows changes how long the search takes, not what it finds.

    def _state(
        self, claim_index: int, request_index: int, wanted: Wanted, number: int, start: int
    ) -> Hashable | None:
        """Return what decides whether the rest can succeed; None if it may end in an error.

        A state that cannot succeed is put among the failed ones.
        """
        if self._pruning is None:
            features = self._ground.features
            self._pruning = Pruning(
                self._candidates,
                [(one.claim, one.wanted) for one in self._claims],
                self._ground.allocated,
                self._ground.evaluate,
                self._ground.derived_attribute,
                taints=features.device_taints,
                capacity=features.consumable_capacity,
                rounding=features.rounding,
                older_distinct=features.older_allocator,
            )
            if self._pruning.is_usable and not self._pruning.is_ever_possible():
                raise _NotEnoughError
        pruning = self._pruning
        if not pruning.is_usable:
            return None
        # Devices in use are of no more use, unless a request has admin access.
        skips = not pruning.has_admin
        chosen: list[Hashable] = []
        before: list[Hashable] = []
        free: Counter[int] = Counter()
        for place, (candidate, code) in enumerate(
            zip(self._candidates, pruning.codes, strict=True)
        ):
            users = self._in_use.get(candidate.id)
            planned = self._planned.get(candidate.id)
            if not users:
                free[code] += 1
            elif skips:
                chosen.append(code)
                continue
            if users or planned is not None:
                amounts = () if planned is None else tuple(sorted(planned.items()))
                mine = users is not None and claim_index in users
                chosen.append((code, bool(users), mine, amounts, place < start))
            elif place < start:
                before.append(code)
        one = self._claims[claim_index]
        state = (
            claim_index,
            request_index,
            id(wanted),
            number,
            len(one.chosen),
            tuple(each.state() for each in one.constraints),
            frozenset(
                (pool, name, key, amount)
                for pool, sets in self._counters.items()
                for name, consumed in sets.items()
                for key, amount in consumed.items()
                if amount
            ),
            frozenset(Counter(chosen).items()),
            frozenset(Counter(before).items()),
        )
        if not pruning.is_possible(claim_index, request_index, wanted, number, free):
            self._failed.add(state)
        return state

    def _go_on(
        self,
        undo: list[Callable[[], object]],
        claim_index: int,
        request_index: int,
        wanted: Wanted,
        number: int,
        start: int,
    ) -> bool:
        done = False
        try:
            done = self._devices(claim_index, request_index, wanted, number + 1, start)
        finally:
            if not done:
                _take_back(undo)
        return done

    # One device.

    def _is_in_use(self, claim_index: int, wanted: Wanted, device: DeviceID) -> bool:
        if wanted.is_admin:
            return claim_index in self._in_use.get(device, ())
        return self._ground.allocated.is_taken(device) or bool(self._in_use.get(device))

    def is_selectable(self, wanted: Wanted, candidate: CandidateDevice) -> bool:
        """Return whether a device matches the request and can be reached from the node."""
        key = (id(wanted), candidate.id)
        found = self._selectable.get(key)
        if found is None:
            found = self._selectable[key] = self._select(wanted, candidate)
        return found

    def _select(self, wanted: Wanted, candidate: CandidateDevice) -> bool:
        device = candidate.device
        if device.binding_conditions and not self._ground.features.binding_conditions:
            return False
        if not self._ground.selects(wanted, candidate):
            return False
        if isinstance(candidate.reachable, PoolError):
            raise candidate.reachable
        return candidate.reachable

    def is_one_of_all(self, wanted: Wanted, candidate: CandidateDevice) -> bool:
        """Return whether a request for all devices includes this one.

        It does even if too little of the device's capacity is left; the request then fails. In
        1.36, the request leaves out such a device.
        """
        features = self._ground.features
        if features.older_allocator:
            return self.has_capacity(wanted, candidate)
        return not features.consumable_capacity or fits(
            candidate.device, wanted.capacity, None, None, features.rounding
        )

    def has_capacity(self, wanted: Wanted, candidate: CandidateDevice) -> bool:
        """Return whether enough of a device's capacity is left."""
        if not self._ground.features.consumable_capacity:
            return True
        consumed = self._ground.allocated.consumed(candidate.id)
        planned = self._planned.get(candidate.id)
        rounding = self._ground.features.rounding
        return fits(candidate.device, wanted.capacity, consumed, planned, rounding)

    def _choose(
        self, claim_index: int, wanted: Wanted, candidate: CandidateDevice, *, must: bool = False
    ) -> list[Callable[[], object]] | None:
        """Choose a device; return the steps that undo the choice, or None if it is not possible.

        With `must` there is no other candidate, so a constraint that forbids it is an error.
        """
        features, device = self._ground.features, candidate.device
        shared = features.consumable_capacity and bool(device.allow_multiple_allocations)
        if not (shared and wanted.is_admin) and self._is_in_use(claim_index, wanted, candidate.id):
            return None
        if candidate.slice.spec.skip_node_operations and not (
            features.optional_node_operations and candidate.pool.skips_operations
        ):
            return None
        undo: list[Callable[[], object]] = []
        if not self._consume_counters(candidate, shared, undo):
            _take_back(undo)
            return None
        if features.device_taints and any(
            taint.effect in _EFFECTS and not wanted.tolerates(taint) for taint in device.taints
        ):
            _take_back(undo)
            return None
        one = self._claims[claim_index]
        find: Find = find_attribute
        if wanted.derived:
            find = partial(self._ground.derived_attribute, wanted)
        for constraint in one.constraints:
            if not constraint.add(wanted.request, wanted.sub_request, candidate, find):
                _take_back(undo)
                if must:
                    raise AllocationError(
                        f"claim {one.claim.key}, request {wanted.own_name}: cannot add device "
                        f"{'/'.join(candidate.id)} because a claim constraint would not be "
                        "satisfied"
                    )
                return None
            undo.append(_removal(constraint, wanted, candidate))
        if not shared:
            users = self._in_use.setdefault(candidate.id, set())
            users.add(claim_index)
            undo.append(lambda: users.discard(claim_index))
        if not self.has_capacity(wanted, candidate):
            _take_back(undo)
            return None
        consumed = self._consume_capacity(wanted, candidate, undo) if shared else {}
        one.chosen.append(ChosenDevice(wanted, candidate, shared, consumed))
        undo.append(one.chosen.pop)
        return undo

    def _consume_capacity(
        self, wanted: Wanted, candidate: CandidateDevice, undo: list[Callable[[], object]]
    ) -> dict[str, Quantity]:
        """Plan the capacity that a request consumes of a shared device, and return it."""
        consumed = consumption(candidate.device, wanted.capacity, self._ground.features.rounding)
        before = self._planned.get(candidate.id)
        after = dict(before or {})
        for name, quantity in consumed.items():
            after[name] = after.get(name, 0) + quantity.nanos
        self._planned[candidate.id] = after
        undo.append(lambda: self._plan(candidate.id, before))
        return consumed

    def _consume_counters(
        self, candidate: CandidateDevice, shared: bool, undo: list[Callable[[], object]]
    ) -> bool:
        """Consume a device's counters; return False if that is impossible."""
        if not candidate.device.consumes_counters:
            return True
        features = self._ground.features
        if not features.partitionable_devices:
            return False
        # A shared device consumes counters once, however many claims share it.
        if shared and self._is_shared_already(candidate.id):
            return True
        if features.compatibility_groups and not self._join(candidate, undo):
            return False
        if not self._count(candidate):
            return False
        undo.append(lambda: self._add_counters(candidate, -1))
        return True

    def _join(self, candidate: CandidateDevice, undo: list[Callable[[], object]]) -> bool:
        """Add a device to the users of its pool's counters; return False if no group fits."""
        pool = candidate.pool.id
        before = self._groups.get(pool)
        if before is None:
            before = self._ground.groups_in_use(candidate)
        after = admitted(candidate.device, before)
        if after is None:
            return False
        self._groups[pool] = after
        undo.append(lambda: self._groups.__setitem__(pool, before))
        return True

    def _plan(self, device: DeviceID, amounts: Amounts | None) -> None:
        if amounts is None:
            del self._planned[device]
        else:
            self._planned[device] = amounts

    def _is_shared_already(self, device: DeviceID) -> bool:
        allocated = self._ground.allocated
        if device in self._planned or allocated.consumed(device) is not None:
            return True
        # In 1.36, a share that consumes no capacity is ignored.
        return not self._ground.features.older_allocator and allocated.is_shared(device)

    def _count(self, candidate: CandidateDevice) -> bool:
        """Consume a device's counters; return False if not enough is left."""
        self._add_counters(candidate, 1)
        consumed = self._counters[candidate.pool.id]
        for name, left in self._ground.available_counters(candidate).items():
            used = consumed.get(name, {})
            if any(amount < used.get(key, 0) for key, amount in left.items()):
                self._add_counters(candidate, -1)
                return False
        return True

    def _add_counters(self, candidate: CandidateDevice, sign: int) -> None:
        consumed = self._counters.setdefault(candidate.pool.id, {})
        for taken in candidate.device.consumes_counters:
            amounts = consumed.setdefault(taken.counter_set, {})
            for key, counter in taken.counters.items():
                amounts[key] = amounts.get(key, 0) + sign * parse_nanos(counter.value)


def _removal(
    constraint: DeviceConstraintState, wanted: Wanted, candidate: CandidateDevice
) -> Callable[[], object]:
    return lambda: constraint.remove(wanted.request, wanted.sub_request, candidate)


def _take_back(undo: list[Callable[[], object]]) -> None:
    for step in reversed(undo):
        step()
