"""The claims of one pod and their allocations, from PreFilter to PreBind."""

# kube-scheduler: plugins/dynamicresources/claims.go, dynamicresources.go (stateData)

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from mooring.api import NodeTerms, ResourceClaim
from mooring.api.resource import AllocationResult
from mooring.plugins.dynamic_resources.allocator import Allocator, FoundDevices
from mooring.plugins.dynamic_resources.extended import Mappings

#: The score of the first alternative. # api: FirstAvailableDeviceRequestMaxSize
_MOST_ALTERNATIVES = 8


class NodeAllocation(msgspec.Struct, frozen=True):
    """The allocation that Filter found for a node."""

    #: The devices of each claim that has to be allocated.
    found: FoundDevices
    #: The special claim with its requests for this node, and which request serves which container.
    extended_claim: ResourceClaim | None = None
    mappings: Mappings = ()


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
        self.allocator: Allocator | None = None
        #: Allocations by node name.
        self.nodes: dict[str, NodeAllocation] = {}
        #: By node name: indexes of the allocated claims that cannot be used on the node.
        self.unavailable: dict[str, tuple[int, ...]] = {}
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

    def to_allocate(self) -> Iterator[tuple[int, ResourceClaim]]:
        """Yield the claims that are not allocated, with their indexes."""
        for index, claim in enumerate(self.claims):
            if claim.status.allocation is None:
                yield index, claim

    def score(self, node_name: str) -> int:
        """Score a node by the rank of the request alternatives it can satisfy."""
        found = self.nodes.get(node_name)
        if found is None:
            return 0
        left = iter(found.found.answer)
        score = 0
        for claim in self.claims:
            allocation = claim.status.allocation
            if allocation is not None:
                served = {result.request for result in allocation.devices.results}
            else:
                devices = next(left, None)
                served = set() if devices is None else devices.sub_requests()
            for request in claim.spec.devices.requests:
                for i, sub in enumerate(request.first_available):
                    if f"{request.name}/{sub.name}" in served:
                        score += _MOST_ALTERNATIVES - i
        return score
