"""The claims of one pod and their allocations, from PreFilter to PreBind."""

# kube-scheduler: plugins/dynamicresources/claims.go, dynamicresources.go (stateData)

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np
from msgspec.structs import replace

from mooring.api import NodeTerms, Pod, PodStatus, ResourceClaim
from mooring.api.resource import AllocationResult, ResourceClaimConsumerReference
from mooring.framework.nodes import Nodes
from mooring.framework.status import Status
from mooring.plugins.dynamic_resources.allocator import Allocator, FoundDevices
from mooring.plugins.dynamic_resources.cel_budget import CelBudget
from mooring.plugins.dynamic_resources.claim_amounts import Statuses
from mooring.plugins.dynamic_resources.claim_reads import ClaimDevicesView
from mooring.plugins.dynamic_resources.extended import Mappings
from mooring.plugins.dynamic_resources.node_groups import NodeGroups
from mooring.plugins.dynamic_resources.results import ClaimDevices
from mooring.typing import Mask

#: The score of the first alternative. # api: FirstAvailableDeviceRequestMaxSize
_MOST_ALTERNATIVES = 8


class NodeAllocation(msgspec.Struct, frozen=True):
    """The allocation that Filter found for a node."""

    #: The devices of each claim that has to be allocated.
    found: FoundDevices
    #: The special claim with its requests for this node, and which request serves which container.
    extended_claim: ResourceClaim | None = None
    mappings: Mappings = ()


class AskedGroups(msgspec.Struct, frozen=True):
    """The groups of nodes that Filter asked for some claims."""

    groups: NodeGroups
    wanted: Sequence[ResourceClaim]


class PodResourceClaims:
    """A pod's claims, and what was found for them. Shared by clones of the state, as in Go."""

    def __init__(self) -> None:
        #: The pod's own claims, then the special one for extended resources, if any.
        self.claims: list[ResourceClaim] = []
        self.own_count = 0
        #: The special claim's key among allocations in flight.
        self.extended_key = ""
        #: Extended resources that the pod asks for.
        self.resources: list[str] = []
        #: For each claim: the nodes on which it can be used, if that is limited.
        self.terms: list[NodeTerms | None] = []
        #: For each claim: what Reserve allocated.
        self.allocations: list[AllocationResult | None] = []
        #: By index of a claim: the allocation that another pod of the group has made, and that is
        #: not written yet.
        self.pending: dict[int, AllocationResult] = {}
        #: For each of the pod's own claims: the pod, or its group, that the claim is reserved for.
        self.users: list[ResourceClaimConsumerReference] = []
        #: By index of an allocated claim: why the pod may not share it with its other users.
        self.unshareable: dict[int, Status] = {}
        #: A function that returns the node resources that the claims consume on a node, in the
        #: form of the pod's status; None if the gate DRANodeAllocatableResources is off.
        self.statuses_on: Callable[[str], Statuses] | None = None
        #: The results of `statuses_on`, by node name.
        self.statuses: dict[str, Statuses] = {}
        self.allocator: Allocator | None = None
        #: What the expressions of this attempt may cost, for a pod group together.
        self.budget = CelBudget()
        #: What the claims read of devices, by the id of the special claim (None: without it).
        self.views: dict[int | None, ClaimDevicesView] = {}
        #: Allocations by node name.
        self.nodes: dict[str, NodeAllocation] = {}
        #: By node name: indexes of the allocated claims that cannot be used on the node.
        self.unavailable: dict[str, tuple[int, ...]] = {}
        #: By index of an allocated claim: the rows of the nodes on which it cannot be used.
        self.unavailable_rows: dict[int, Mask] = {}
        #: The groups of nodes that were asked, by the id of the special claim (None: without it).
        self.asked: dict[int | None, AskedGroups] = {}
        #: When the searches of this attempt end.
        self.search_until: float | None = None
        #: The special claim with its requests, by the resources it serves.
        self.variants: dict[frozenset[str], tuple[ResourceClaim, Mappings]] = {}

    def __bool__(self) -> bool:
        return bool(self.claims)

    def fill(self, own: list[ResourceClaim], extended: ResourceClaim | None) -> None:
        """Set the pod's claims."""
        self.own_count = len(own)
        self.claims = list(own)
        if extended is not None:
            self.claims.append(extended)
            self.extended_key = extended.metadata.uid
        self.terms = [None] * len(self.claims)
        self.allocations = [None] * len(self.claims)

    @property
    def extended(self) -> ResourceClaim | None:
        """The special claim for extended resources; None if there is none."""
        return self.claims[self.own_count] if len(self.claims) > self.own_count else None

    def user(self, index: int, pod: Pod) -> ResourceClaimConsumerReference:
        """Return what a claim is reserved for: the pod, or its group."""
        if index < len(self.users):
            return self.users[index]
        meta = pod.metadata
        return ResourceClaimConsumerReference(resource="pods", name=meta.name, uid=meta.uid)

    def to_allocate(self) -> Iterator[tuple[int, ResourceClaim]]:
        """Yield the claims that are not allocated, with their indexes."""
        for index, claim in enumerate(self.claims):
            if claim.status.allocation is None:
                yield index, claim

    def to_search(self) -> Iterator[tuple[int, ResourceClaim]]:
        """Yield the claims that devices must be found for, with their indexes."""
        return ((index, claim) for index, claim in self.to_allocate() if index not in self.pending)

    def wanted(self, special: ResourceClaim | None) -> list[ResourceClaim]:
        """Return the claims that devices must be found for.

        `special` replaces the one for extended resources.
        """
        return [
            special if special is not None and index == self.own_count else one
            for index, one in self.to_search()
        ]

    def note_unavailable(self, index: int, nodes: Nodes, refused: Mask) -> None:
        """Remember the nodes on which an allocated claim cannot be used."""
        known = self.unavailable_rows.get(index)
        if known is None:
            known = self.unavailable_rows[index] = np.zeros(len(nodes.all), dtype=np.bool_)
        if nodes.rows is None:
            known |= refused
        else:
            known[nodes.rows[refused]] = True

    def skips_operations(self, index: int) -> bool:
        """Return whether a device of an allocated claim skips operations of its node."""
        allocation = self.claims[index].status.allocation or self.pending.get(index)
        return allocation is not None and any(
            result.skip_node_operations for result in allocation.devices.results
        )

    def has_alternatives(self) -> bool:
        """Return whether a request has alternatives; otherwise all nodes score 0."""
        return any(
            request.first_available
            for claim in self.claims
            for request in claim.spec.devices.requests
        )

    def allocated_score(self) -> int:
        """Return the score of the claims that are allocated already."""
        return sum(
            _rank(claim, {result.request for result in claim.status.allocation.devices.results})
            for claim in self.claims
            if claim.status.allocation is not None
        )

    def score_of(self, found: Sequence[ClaimDevices]) -> int:
        """Score devices that were found by the rank of the alternatives they serve."""
        wanted = (claim for _, claim in self.to_search())
        return sum(
            _rank(claim, one.sub_requests()) for claim, one in zip(wanted, found, strict=True)
        )


def assumed_status(kept: PodResourceClaims | None, pod: Pod, node_name: str) -> PodStatus:
    """Return a pod's status for its assumption on a node: with what its claims consume there."""
    # kube-scheduler: schedule_one.go (assume)
    status = pod.status
    if kept is None or kept.statuses_on is None:
        return status
    statuses = kept.statuses_on(node_name)
    if statuses == status.node_allocatable_resource_claim_statuses:
        return status
    return replace(status, node_allocatable_resource_claim_statuses=statuses)


def _rank(claim: ResourceClaim, served: set[str]) -> int:
    return sum(
        _MOST_ALTERNATIVES - i
        for request in claim.spec.devices.requests
        for i, sub in enumerate(request.first_available)
        if f"{request.name}/{sub.name}" in served
    )
