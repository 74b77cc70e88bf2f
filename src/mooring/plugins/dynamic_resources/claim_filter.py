"""Filter and Score: on which nodes a pod's claims can be used or allocated, and how well."""

# kube-scheduler: plugins/dynamicresources/dynamicresources.go (Filter, Score)

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import numpy as np

from mooring.api import DeviceClass, Pod, ResourceClaim
from mooring.framework.handle import Handle
from mooring.framework.listers import Lister
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.status import Status
from mooring.plugins.dynamic_resources.allocator import FoundDevices, NodeAllocationError
from mooring.plugins.dynamic_resources.cel_budget import BudgetExceededError
from mooring.plugins.dynamic_resources.claim_amounts import Statuses
from mooring.plugins.dynamic_resources.claim_reads import ClaimDevicesView
from mooring.plugins.dynamic_resources.device_requests import AllocationError
from mooring.plugins.dynamic_resources.extended import ClassOf, Mappings, with_requests
from mooring.plugins.dynamic_resources.node_devices import NodeBlocks
from mooring.plugins.dynamic_resources.node_groups import GroupAnswer, GroupCache, NodeGroups
from mooring.plugins.dynamic_resources.node_resource_check import Footprint, NodeResourceCheck
from mooring.plugins.dynamic_resources.pod_resource_claims import (
    AskedGroups,
    NodeAllocation,
    PodResourceClaims,
)
from mooring.plugins.dynamic_resources.pools import OPTIONAL_NODE_OPERATIONS, PoolError
from mooring.plugins.node_matching import nodes_matching_terms
from mooring.typing import Ints, Mask

CANNOT_ALLOCATE = Status.unresolvable("cannot allocate all claims")
NOT_AVAILABLE = Status.unresolvable("resourceclaim not available on the node")
STALE_EXTENDED_CLAIM = Status.unresolvable("cannot schedule extended resource claim")
#: Not in kube-scheduler, which has no such limit.
TOO_EXPENSIVE = "the CEL selectors of resource claim {} cost more than the budget of an attempt"
SEARCH_TOO_LONG = "searching devices for resource claim {} costs more than the budget of an attempt"
CANNOT_FIT = Status.unresolvable("cannot fit resource")

#: How long the searches of one attempt may take together, as a multiple of the time for one node.
#: kube-scheduler searches 16 nodes at a time; here one search follows the other.
_ATTEMPT = 3.0

#: How many claims a message names.
_NAMED = 3
#: Names the answers to whether nodes can leave out operations of devices.
_CAN_SKIP = ("DynamicResources", "skips")

T = TypeVar("T")

Claims = Sequence[ResourceClaim]
#: What a search found; an error ends the cycle.
Answer = GroupAnswer | Status
#: A special claim with its requests for some nodes; None if these nodes do not need it.
Special = tuple[ResourceClaim | None, Mappings]


class ClaimFilter:
    """The answers of Filter and Score. Owned by one plugin."""

    def __init__(
        self,
        handle: Handle,
        groups: GroupCache,
        classes: Lister[DeviceClass],
        *,
        backed: Container[str],
        class_of: ClassOf,
        is_hopeless: Callable[[ResourceClaim], bool],
        seconds: float,
        node_check: NodeResourceCheck | None = None,
    ) -> None:
        self._handle = handle
        self._groups = groups
        self._classes = classes
        self._backed = backed
        self._class_of = class_of
        self._is_hopeless = is_hopeless
        #: The check of the node resources that claims consume; None if the gate is off.
        self._node_check = node_check
        #: How long the search of one node may take; 0 for no limit.
        self._seconds = seconds

    # One node.

    def one(self, kept: PodResourceClaims, pod: Pod, node: NodeInfo) -> Status | None:
        """Return why a node does not fit; None if it does."""
        special = self._special_on(kept, pod, node)
        if isinstance(special, Status):
            return special
        claim, mappings = special
        if claim is None and kept.own_count == 0:
            return None
        refusal = self._sharing_refusal(kept, pod, node)
        if refusal is not None:
            return refusal
        planned: NodeAllocation | None = None
        if kept.allocator is not None:
            wanted = kept.wanted(claim)
            allocator = kept.allocator
            view = self._view(kept, wanted, claim)
            if isinstance(view, Status):
                return view
            search = partial(
                allocator.allocate, node.node, wanted, view, self._timer(kept), kept.budget
            )
            try:
                found = _caught(node.name, search)
            except BudgetExceededError:
                return _too_long(wanted)
            if isinstance(found, Status):
                return found
            if found is None:
                return CANNOT_ALLOCATE
            planned = NodeAllocation(found, claim, mappings)
        footprint = self._footprint(kept, pod, node, planned)
        if isinstance(footprint, Status):
            return footprint
        if footprint is not None and self._node_check is not None:
            refusal = self._node_check.shortage(footprint, node)
            if refusal is not None:
                return refusal
        unavailable = tuple(
            index for index, _ in enumerate(kept.claims) if self._is_unavailable(kept, index, node)
        )
        if unavailable:
            kept.unavailable[node.name] = unavailable
            return NOT_AVAILABLE
        if planned is not None:
            kept.nodes[node.name] = planned
        if self._node_check is not None:
            kept.statuses[node.name] = () if footprint is None else footprint.statuses
        return None

    def _view(
        self, kept: PodResourceClaims, wanted: Claims, special: ResourceClaim | None
    ) -> ClaimDevicesView | Status:
        """Return what claims read of devices; a refusal if their expressions cost too much."""
        key = None if special is None else id(special)
        view = kept.views.get(key)
        if view is None:
            groups = self._groups.evaluated
            found = _within_budget(lambda: groups(wanted, self._classes, kept.budget))
            if isinstance(found, Status):
                return found
            view = kept.views[key] = found.view
        return view

    def _sharing_refusal(self, kept: PodResourceClaims, pod: Pod, node: NodeInfo) -> Status | None:
        """Return why one of the pod's claims cannot be shared on a node; None if all can."""
        if self._node_check is None:
            return None
        for index, _ in enumerate(kept.claims):
            if not self._is_out_of_reach(kept, index, node):
                refusal = self._node_check.sharing_refusal(kept, pod, index, node)
                if refusal is not None:
                    return refusal
        return None

    def _footprint(
        self,
        kept: PodResourceClaims,
        pod: Pod,
        node: NodeInfo,
        planned: NodeAllocation | None,
    ) -> Footprint | Status | None:
        """Return what the pod and its claims consume of a node; None if claims consume nothing."""
        if self._node_check is None:
            return None
        found = None if planned is None else planned.found.answer
        return self._node_check.footprint(kept, pod, node.node, found)

    def _special_on(self, kept: PodResourceClaims, pod: Pod, node: NodeInfo) -> Special | Status:
        """Return the special claim with its requests for a node; None if it is not needed."""
        special = kept.extended
        if special is None:
            return None, ()
        if special.spec.devices.requests:
            # The claim is from an earlier attempt: PostFilter deletes it, and the pod is retried.
            return STALE_EXTENDED_CLAIM
        needed = set()
        for resource in kept.resources:
            if resource in self._backed and not node.allocatable.get(resource, 0):
                needed.add(resource)
            elif resource not in node.allocatable:
                return CANNOT_FIT
        return self._variant(kept, pod, frozenset(needed))

    def _variant(self, kept: PodResourceClaims, pod: Pod, needed: frozenset[str]) -> Special:
        if not needed and kept.own_count == 0:
            return None, ()
        if needed not in kept.variants:
            assert kept.extended is not None
            kept.variants[needed] = with_requests(kept.extended, pod, needed, self._class_of)
        return kept.variants[needed]

    def _is_unavailable(self, kept: PodResourceClaims, index: int, node: NodeInfo) -> bool:
        """Return whether an allocated claim cannot be used on a node."""
        if self._is_out_of_reach(kept, index, node):
            return True
        return self._is_hopeless(kept.claims[index])

    def _is_out_of_reach(self, kept: PodResourceClaims, index: int, node: NodeInfo) -> bool:
        """Return whether the devices of an allocated claim cannot be used on a node."""
        terms = kept.terms[index]
        if terms is not None and not terms.matches(node.node):
            return True
        return kept.skips_operations(index) and not _can_skip(node.node.status.declared_features)

    # The search.

    def _timer(self, kept: PodResourceClaims) -> Callable[[], bool]:
        """Return a function that says whether the time for a search has passed."""
        if self._seconds <= 0:
            return lambda: False
        now = self._handle.clock.now
        begin = now()
        if kept.search_until is None:
            kept.search_until = begin + _ATTEMPT * self._seconds
        deadline = min(begin + self._seconds, kept.search_until)
        return lambda: now() > deadline

    def _answer(
        self, kept: PodResourceClaims, wanted: Claims, view: ClaimDevicesView, node: NodeBlocks
    ) -> Answer:
        """Return the answer of a node's group, found on this node."""
        self._handle.progress()
        allocator, pools = kept.allocator, node.pools
        assert allocator is not None
        if pools is None:
            return Status.error(str(node.error))
        found = _caught(
            node.node.metadata.name,
            lambda: allocator.search(pools, wanted, view, self._timer(kept), kept.budget.left),
        )
        if isinstance(found, Status):
            return found if found.is_error else GroupAnswer(pools, (), found, 0, allocator.cost)
        if found is None:
            return GroupAnswer(pools, (), CANNOT_ALLOCATE, 0, allocator.cost)
        return GroupAnswer(pools, found, None, kept.score_of(found), allocator.cost)

    # All nodes.

    def many(
        self, kept: PodResourceClaims, pod: Pod, nodes: Nodes
    ) -> Iterator[tuple[Status, Mask]]:
        """Yield refusals and the nodes they apply to; an error before further nodes are asked."""
        concerned = np.zeros(len(nodes), dtype=np.bool_)
        errors: list[tuple[Status, Mask]] = []
        for special, asked in self._variants(kept, pod, nodes):
            if isinstance(special, Status):
                yield special, asked
                continue
            claim, _ = special
            if claim is None and kept.own_count == 0:
                continue
            for status, mask in self._sharing_refusals(kept, pod, nodes, asked):
                asked = asked & ~mask
                yield status, mask
            concerned |= asked
            groups: NodeGroups | None = None
            if kept.allocator is not None:
                wanted = kept.wanted(claim)
                of = partial(self._groups.of, wanted, self._classes, kept.budget)
                found = _within_budget(of)
                if isinstance(found, Status):
                    concerned &= ~asked
                    yield found, asked
                    continue
                groups = found
                kept.asked[None if claim is None else id(claim)] = AskedGroups(groups, wanted)
                search = partial(self._answer, kept, wanted, groups.view)
                try:
                    for status, mask in groups.ask(nodes, asked, search, kept.budget):
                        concerned &= ~mask
                        yield status, mask
                except BudgetExceededError:
                    concerned &= ~asked
                    yield _too_long(wanted), asked
                    continue
            for status, mask in self._shortages(kept, pod, nodes, asked & concerned, groups):
                concerned &= ~mask
                if status.is_error:
                    errors.append((status, mask))
                else:
                    yield status, mask
        refused = self._unavailable(kept, nodes, concerned)
        if refused.any():
            yield NOT_AVAILABLE, refused
        # An error ends the cycle, so errors come after all refusals, that of the first node first.
        yield from sorted(errors, key=lambda error: int(error[1].argmax()))

    def _variants(
        self, kept: PodResourceClaims, pod: Pod, nodes: Nodes
    ) -> Iterator[tuple[Special | Status, Mask]]:
        """Yield the special claim as the nodes need it, and for which nodes."""
        everywhere = np.ones(len(nodes), dtype=np.bool_)
        special = kept.extended
        if special is None:
            yield (None, ()), everywhere
            return
        if special.spec.devices.requests:
            yield STALE_EXTENDED_CLAIM, everywhere
            return
        needs: dict[str, Mask] = {}
        fitting = everywhere
        for resource in kept.resources:
            if resource in self._backed:
                needs[resource] = nodes.allocatable(resource) == 0
            else:
                fitting = fitting & _listed(nodes, resource)
        if not fitting.all():
            yield CANNOT_FIT, ~fitting
        codes = np.zeros(len(nodes), dtype=np.intp)
        for mask in needs.values():
            codes = np.unique(2 * codes + mask, return_inverse=True)[1]
        for code in np.unique(codes[fitting]).tolist():
            here = fitting & (codes == code)
            example = int(here.argmax())
            needed = frozenset(resource for resource, mask in needs.items() if mask[example])
            yield self._variant(kept, pod, needed), here

    def _shortages(
        self,
        kept: PodResourceClaims,
        pod: Pod,
        nodes: Nodes,
        asked: Mask,
        groups: NodeGroups | None,
    ) -> Iterable[tuple[Status, Mask]]:
        """Return which nodes lack free resources for the pod and its claims, and why."""
        if self._node_check is None:
            return ()
        return self._node_check.shortages(kept, pod, nodes, asked, groups)

    def _sharing_refusals(
        self, kept: PodResourceClaims, pod: Pod, nodes: Nodes, asked: Mask
    ) -> Iterator[tuple[Status, Mask]]:
        """Yield why claims cannot be shared on some nodes, with one reason for each node."""
        if self._node_check is None:
            return
        for index, _ in enumerate(kept.claims):
            usable = self._reach(kept, index, nodes)
            left = asked if usable is None else asked & usable
            for status, mask in self._node_check.sharing_refusals(kept, pod, index, nodes, left):
                asked = asked & ~mask
                yield status, mask

    def _reach(self, kept: PodResourceClaims, index: int, nodes: Nodes) -> Mask | None:
        """Return the nodes on which the devices of an allocated claim are usable; None for all."""
        terms = kept.terms[index]
        skips = kept.skips_operations(index)
        if terms is None and not skips:
            return None
        usable = np.ones(len(nodes), dtype=np.bool_)
        if terms is not None:
            usable &= nodes_matching_terms(nodes, terms)
        if skips:
            usable &= nodes.declared_features.map(_CAN_SKIP, _can_skip)
        return usable

    def _unavailable(self, kept: PodResourceClaims, nodes: Nodes, asked: Mask) -> Mask:
        """Return the nodes on which an allocated claim cannot be used, and remember them."""
        refused = np.zeros(len(nodes), dtype=np.bool_)
        for index, claim in enumerate(kept.claims):
            if self._is_hopeless(claim):
                mask = asked
            elif (usable := self._reach(kept, index, nodes)) is not None:
                mask = asked & ~usable
            else:
                continue
            refused |= mask
            kept.note_unavailable(index, nodes, mask)
        return refused

    # What was found.

    def planned(self, kept: PodResourceClaims, pod: Pod, node_name: str) -> NodeAllocation | None:
        """Return the allocation that Filter found for a node; None if there is none."""
        planned = kept.nodes.get(node_name)
        node = self._handle.snapshot.find(node_name)
        if planned is not None or node is None or not kept.asked:
            return planned
        special = self._special_on(kept, pod, node)
        if isinstance(special, Status):
            return None
        claim, mappings = special
        asked = kept.asked.get(None if claim is None else id(claim))
        answer = None if asked is None else asked.groups.answer(node_name)
        here = self._groups.devices.at(node_name)
        if asked is None or answer is None or answer.refusal is not None:
            return None
        assert here is not None and here.pools is not None
        found = FoundDevices(answer.devices, answer.source, here.pools, asked.wanted)
        planned = kept.nodes[node_name] = NodeAllocation(found, claim, mappings)
        return planned

    def statuses_on(self, kept: PodResourceClaims, pod: Pod, node_name: str) -> Statuses:
        """Return what the claims consume of a node that passed Filter."""
        node = self._handle.snapshot.find(node_name)
        if self._node_check is None or node is None:
            return ()
        known = kept.statuses.get(node_name)
        if known is None:
            planned = self.planned(kept, pod, node_name)
            footprint = self._footprint(kept, pod, node, planned)
            known = footprint.statuses if isinstance(footprint, Footprint) else ()
            kept.statuses[node_name] = known
        return known

    def score(self, kept: PodResourceClaims, pod: Pod, node: NodeInfo) -> int:
        """Score a node by the rank of the request alternatives it can satisfy."""
        planned = self.planned(kept, pod, node.name)
        if planned is None:
            return 0
        return kept.allocated_score() + kept.score_of(planned.found.answer)

    def scores(self, kept: PodResourceClaims, pod: Pod, nodes: Nodes) -> Ints | int:
        """Score the nodes by the rank of the request alternatives they can satisfy."""
        if not kept.has_alternatives():
            return 0
        own = kept.allocated_score()
        scores = np.zeros(len(nodes), dtype=np.int64)
        for special, here in self._variants(kept, pod, nodes) if kept.asked else ():
            claim = None if isinstance(special, Status) else special[0]
            asked = kept.asked.get(None if claim is None else id(claim))
            if asked is not None:
                scores[here] = asked.groups.scores(nodes, own)[here]
        if not kept.nodes:
            return scores
        answered = np.full(len(nodes.all), -1, dtype=np.int64)
        for name, planned in kept.nodes.items():
            answered[nodes.row(name)] = own + kept.score_of(planned.found.answer)
        answered = nodes.gather(answered)
        return np.where(answered < 0, scores, answered)


def _caught(name: str, search: Callable[[], T]) -> T | Status:
    """Run a search; return a status if it fails."""
    try:
        return search()
    except TimeoutError:
        return Status.error(f"node {name}: timed out trying to allocate devices")
    except NodeAllocationError as error:
        return Status.unresolvable(str(error))
    except (AllocationError, PoolError) as error:
        return Status.error(str(error))


def _within_budget(evaluate: Callable[[], T]) -> T | Status:
    """Evaluate the expressions of claims; return a status if that costs too much."""
    try:
        return evaluate()
    except BudgetExceededError as error:
        return Status.unresolvable(TOO_EXPENSIVE.format(error.claim)).after_backoff()


def _too_long(claims: Claims) -> Status:
    """Return the status of nodes whose search costs too much."""
    names = ", ".join(claim.key for claim in claims[:_NAMED])
    more = "" if len(claims) <= _NAMED else f" and {len(claims) - _NAMED} more"
    return Status.unresolvable(SEARCH_TOO_LONG.format(f"{names}{more}")).after_backoff()


def _listed(nodes: Nodes, resource: str) -> Mask:
    """Return which nodes list a resource, even if they have none of it."""

    def read(some: Nodes) -> Mask:
        return np.fromiter(
            (resource in info.allocatable for info in some.infos()), np.bool_, len(some)
        )

    return nodes.follow(("DynamicResources", resource), read)


def _can_skip(features: Container[str] | None) -> bool:
    """Return whether a node that declares these features can leave out operations of devices."""
    return features is not None and OPTIONAL_NODE_OPERATIONS in features
