"""Pruning: which branches of a search for devices cannot succeed.

Claims that compete for too few devices make an exhaustive search exponential. Two facts end most of
it early, with the same result. Devices that are the same to all requests are interchangeable, so a
state that failed fails again with other such devices. And if the remaining requests cannot get
devices even without constraints, they cannot get them with constraints.

This holds only for a search that cannot end in an error, and without the constraint
distinctAttribute of 1.36, which forgets values when the search takes a device back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise

import msgspec

from mooring.api import ResourceClaim
from mooring.api.resource import DeviceAttribute
from mooring.plugins.dynamic_resources.capacity import Rounding, fits
from mooring.plugins.dynamic_resources.device_constraints import find_attribute
from mooring.plugins.dynamic_resources.device_requests import MAX_RESULTS, AllocationError, Wanted
from mooring.plugins.dynamic_resources.pools import CandidateDevice, PoolError
from mooring.plugins.dynamic_resources.tracker import AllocatedDevices

#: The most pairs of requests and devices, both by kind, for which flows are computed.
_MOST_PAIRS = 4096

#: Which devices serve a request, by code.
Accepted = frozenset[int]
#: How many devices are needed, by which devices serve.
Needs = dict[Accepted, int]

#: Evaluates a selector: a result, or the text of an error.
Evaluate = Callable[[str, CandidateDevice], bool | str]
#: Returns a device's attribute, derived if the request derives it; may raise AllocationError.
Derive = Callable[[Wanted, CandidateDevice, str], DeviceAttribute | None]


class Pruning:
    """What is known in advance about the devices of one node and the requests of some claims."""

    def __init__(
        self,
        candidates: Sequence[CandidateDevice],
        claims: Sequence[tuple[ResourceClaim, list[list[Wanted]]]],
        allocated: AllocatedDevices,
        evaluate: Evaluate,
        derive: Derive,
        *,
        taints: bool,
        capacity: bool,
        rounding: Rounding,
        older_distinct: bool,
    ) -> None:
        """Find interchangeable devices; with `older_distinct`, distinctAttribute is as in 1.36."""
        self._rounding = rounding
        self._allocated = allocated
        self._taints = taints
        self._capacity = capacity
        every = [wanted for _, requests in claims for request in requests for wanted in request]
        expressions = list(dict.fromkeys(text for one in every for _, _, text in one.selectors))
        attributes = _constrained_attributes(claim for claim, _ in claims)
        results = [
            [evaluate(expression, candidate) for expression in expressions]
            for candidate in candidates
        ]
        #: Whether branches may be pruned at all.
        self.is_usable = (
            not any(isinstance(result, str) for row in results for result in row)
            and not any(isinstance(one.reachable, PoolError) for one in candidates)
            and all(_cannot_fail(claim, requests, older_distinct) for claim, requests in claims)
        )
        if not self.is_usable:
            return
        try:
            derived = _derived_values(every, attributes, candidates, derive)
        except AllocationError:
            self.is_usable = False
            return
        index: dict[Hashable, int] = {}
        #: For each candidate, a code that is equal for devices that are interchangeable.
        self.codes = [
            index.setdefault(
                (
                    tuple(row),
                    *_traits(candidate, attributes),
                    allocated.state_of(candidate.id),
                    values,
                ),
                len(index),
            )
            for candidate, row, values in zip(candidates, results, derived, strict=True)
        ]
        examples = {
            code: (candidate, dict(zip(expressions, row, strict=True)))
            for code, candidate, row in zip(self.codes, candidates, results, strict=True)
        }
        #: Whether a request may get devices that are in use.
        self.has_admin = any(one.is_admin for one in every)
        self._shared = frozenset(
            code
            for code, (candidate, _) in examples.items()
            if capacity and candidate.device.allow_multiple_allocations
        )
        accepted = {
            id(one): frozenset(
                code
                for code, (candidate, selected) in examples.items()
                if self._serves(one, candidate, selected)
            )
            for one in every
        }
        self._accepted = accepted
        #: What a request and all later ones need: by claim, by request.
        self._needs = self._remaining_needs([requests for _, requests in claims])

    def _remaining_needs(self, claims: Sequence[list[list[Wanted]]]) -> list[list[Needs]]:
        needs: list[list[Needs]] = []
        after: Needs = {}
        for requests in reversed(claims):
            row: list[Needs] = [after]
            for request in reversed(requests):
                after = self._with(after, request)
                row.append(after)
            needs.append(row[::-1])
        return needs[::-1]

    def _serves(
        self, wanted: Wanted, candidate: CandidateDevice, selected: dict[str, bool | str]
    ) -> bool:
        """Return whether a device can serve a request before anything else is chosen."""
        device = candidate.device
        if not all(selected[text] for _, _, text in wanted.selectors):
            return False
        if candidate.reachable is not True or self._allocated.is_taken(candidate.id):
            return False
        if self._taints and any(
            taint.effect in ("NoSchedule", "NoExecute") and not wanted.tolerates(taint)
            for taint in device.taints
        ):
            return False
        consumed = self._allocated.consumed(candidate.id)
        return not self._capacity or fits(device, wanted.capacity, consumed, None, self._rounding)

    def _with(self, needs: Needs, request: list[Wanted]) -> Needs:
        """Return needs with those of another request added: its least, from any alternative."""
        if any(one.wants_all or one.is_admin for one in request):
            return needs
        accepted = frozenset().union(*(self._accepted[id(one)] for one in request))
        return self._added(needs, accepted, min(one.count for one in request))

    def _added(self, needs: Needs, accepted: Accepted, count: int) -> Needs:
        if accepted & self._shared:
            # One device may serve many requests.
            return needs
        return {**needs, accepted: needs.get(accepted, 0) + count}

    def is_possible(
        self,
        claim_index: int,
        request_index: int,
        wanted: Wanted,
        number: int,
        free: Counter[int],
    ) -> bool:
        """Return whether there can be enough devices for a request from `number` on, and the rest.

        `free` counts the devices that are not chosen, by code.
        """
        needs = self._needs[claim_index][request_index + 1]
        if not wanted.is_admin:
            needs = self._added(needs, self._accepted[id(wanted)], wanted.count - number)
        return _suffices(needs, free)

    def is_ever_possible(self) -> bool:
        """Return whether there can be enough devices for all claims."""
        return _suffices(self._needs[0][0], Counter(self.codes))


def _constrained_attributes(claims: Iterable[ResourceClaim]) -> list[str]:
    """Return the names of the attributes that constraints of the claims compare."""
    return sorted(
        {
            constraint.match_attribute or constraint.distinct_attribute or ""
            for claim in claims
            for constraint in claim.spec.devices.constraints
        }
    )


def _derived_values(
    every: Iterable[Wanted],
    attributes: Sequence[str],
    candidates: Iterable[CandidateDevice],
    derive: Derive,
) -> list[tuple[DeviceAttribute | None, ...]]:
    """Return the attributes that requests derive for each device; raise AllocationError."""
    derived = {
        (name, one.derived[name]): one
        for one in every
        for name in attributes
        if name in one.derived
    }
    return [
        tuple(derive(one, candidate, name) for (name, _), one in derived.items())
        for candidate in candidates
    ]


def _suffices(needs: Needs, free: Counter[int]) -> bool:
    """Return whether there are enough devices, without regard to constraints."""
    if any(count > sum(free[code] for code in codes) for codes, count in needs.items()):
        return False
    if sum(needs.values()) > sum(free[code] for code in frozenset().union(*needs)):
        return False
    if len(needs) < 2 or len(needs) * len(free) > _MOST_PAIRS:
        return True
    return can_flow(list(needs.items()), free)


def _cannot_fail(claim: ResourceClaim, requests: list[list[Wanted]], older_distinct: bool) -> bool:
    """Return whether a claim can neither raise an error nor exceed its number of devices."""
    constraints = claim.spec.devices.constraints
    if older_distinct and any(one.match_attribute is None for one in constraints):
        return False
    if constraints and any(wanted.wants_all for request in requests for wanted in request):
        return False
    return sum(max(wanted.count for wanted in request) for request in requests) <= MAX_RESULTS


def _traits(candidate: CandidateDevice, attributes: Sequence[str]) -> tuple[Hashable, ...]:
    """Return what the search reads of a device besides its selectors."""
    device = candidate.device
    counters = device.consumes_counters
    return (
        candidate.reachable is True,
        bool(candidate.slice.spec.skip_node_operations) and candidate.pool.skips_operations,
        bool(candidate.slice.spec.skip_node_operations),
        tuple((taint.key, taint.value, taint.effect) for taint in device.taints),
        bool(device.binding_conditions),
        bool(device.allow_multiple_allocations),
        frozenset(device.capacity.items()),
        (candidate.pool.id, msgspec.json.encode(counters)) if counters else None,
        tuple(find_attribute(candidate, name) for name in attributes),
    )


def can_flow(needs: Sequence[tuple[Accepted, int]], free: Counter[int]) -> bool:
    """Return whether all needs can be met at once, each from the devices that it accepts."""
    spare = dict(free)
    given: list[Counter[int]] = [Counter() for _ in needs]
    for number, (_, count) in enumerate(needs):
        while count:
            path = _find_path(number, needs, given, spare)
            if path is None:
                return False
            # The path leads from this need to a spare device; needs on the way change theirs.
            amount = min(count, spare[path[-1][1]])
            for (_, code), (taker, _) in pairwise(path):
                amount = min(amount, given[taker][code])
            spare[path[-1][1]] -= amount
            for place, (taker, code) in enumerate(path):
                given[taker][code] += amount
                if place:
                    given[taker][path[place - 1][1]] -= amount
            count -= amount
    return True


def _find_path(
    number: int,
    needs: Sequence[tuple[Accepted, int]],
    given: Sequence[Counter[int]],
    spare: dict[int, int],
) -> list[tuple[int, int]] | None:
    """Return pairs of a need and the code it takes next, up to a code with spare devices."""
    paths: list[list[tuple[int, int]]] = [[(number, code)] for code in sorted(needs[number][0])]
    seen = set(needs[number][0])
    while paths:
        longer: list[list[tuple[int, int]]] = []
        for path in paths:
            code = path[-1][1]
            if spare.get(code, 0):
                return path
            for taker, amounts in enumerate(given):
                if not amounts[code]:
                    continue
                for other in sorted(needs[taker][0] - seen):
                    seen.add(other)
                    longer.append([*path, (taker, other)])
        paths = longer
    return None
