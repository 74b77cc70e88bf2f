"""The arguments of NodeResourceTopologyMatch."""

# scheduler-plugins: apis/config/v1/types.go, defaults.go

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec.structs import force_setattr, replace

from mooring.contrib.resource_weights import ResourceWeight

LEAST_ALLOCATED = "LeastAllocated"
MOST_ALLOCATED = "MostAllocated"
BALANCED_ALLOCATION = "BalancedAllocation"
LEAST_NUMA_NODES = "LeastNUMANodes"
STRATEGIES = (LEAST_ALLOCATED, MOST_ALLOCATED, BALANCED_ALLOCATION, LEAST_NUMA_NODES)

DEFAULT_RESOURCES = (ResourceWeight("cpu", 1), ResourceWeight("memory", 1))


class NumaScoringStrategy(msgspec.Struct, frozen=True):
    """How cells are scored, and the weights of resources; those not listed weigh 1."""

    #: LeastAllocated, MostAllocated, BalancedAllocation or LeastNUMANodes.
    type: str = ""
    #: The resources that count, with their weights.
    resources: tuple[ResourceWeight, ...] = DEFAULT_RESOURCES

    def __post_init__(self) -> None:
        if self.type not in STRATEGIES:
            raise ValueError(
                f'scoringStrategy.type must be one of {", ".join(STRATEGIES)}, got "{self.type}"'
            )
        weighed = tuple(
            replace(one, weight=1) if one.weight == 0 else one
            for one in self.resources or DEFAULT_RESOURCES
        )
        force_setattr(self, "resources", weighed)


class TopologyCacheArgs(msgspec.Struct, frozen=True, rename="camel"):
    """The details of the over-reserve cache."""

    #: Which pods of other schedulers make what is known of their node outdated.
    foreign_pods_detect: Literal["All", "None", "OnlyExclusiveResources"] = "All"
    #: Which pods the fingerprint of a node covers; Autodetect reads it from the node's object.
    resync_method: Literal["Autodetect", "All", "OnlyExclusiveResources"] = "Autodetect"
    #: Which pods of a node count: all that are not pending, as long as they exist (finished pods
    #: are watched for this); or those that run.
    informer_mode: Literal["Dedicated", "Shared"] = "Dedicated"
    #: Whether a changed configuration of a node's kubelet is taken over too.
    resync_scope: Literal["All", "OnlyResources"] = "All"


class TopologyMatchArgs(msgspec.Struct, frozen=True, rename="camel"):
    """How nodes are scored, and what is known of a node between two reports."""

    #: How nodes are scored.
    scoring_strategy: NumaScoringStrategy = NumaScoringStrategy(LEAST_ALLOCATED)
    #: Above 0, what pods take is counted in a cache, which is compared with reports so often.
    cache_resync_period_seconds: int = 0
    #: Whether a node with a reserved pod is left out until the pod is bound; goes before the cache.
    discard_reserved_nodes: bool = False
    #: How the cache learns of pods and reports.
    cache: TopologyCacheArgs = TopologyCacheArgs()
