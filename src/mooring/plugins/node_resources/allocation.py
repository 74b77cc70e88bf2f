"""How much of each node is allocated, from which both resource plugins compute their scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from mooring.api import is_scalar_resource
from mooring.api.pod_requests import CPU, MEMORY
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.plugins.args import ResourceSpec
from mooring.plugins.node_resources.requested_amounts import is_counted
from mooring.plugins.normalize import EXACT_LIMIT
from mooring.typing import Ints, Mask

Floats = npt.NDArray[np.float64]


class Share(msgspec.Struct, frozen=True):
    """One resource in a score: its weight, and the incoming pod's request."""

    resource: str
    weight: int
    request: int


def shares_of(resources: Iterable[ResourceSpec], requests: Mapping[str, int]) -> tuple[Share, ...]:
    """Return the resources that count in the score of a pod.

    Left out are resources that nodes have no counts of, and scalar ones that the pod does not
    request.
    """
    # kube-scheduler: plugins/noderesources/resource_allocation.go (calculateNodeAllocatableRequest)
    return tuple(
        Share(spec.name, spec.weight, requests.get(spec.name, 0))
        for spec in resources
        if is_counted(spec.name)
        and (requests.get(spec.name, 0) or not is_scalar_resource(spec.name))
    )


def node_amounts(node: NodeInfo, resource: str, non_zero: bool) -> tuple[int, int]:
    """Return (allocatable, allocated) of one node."""
    if non_zero and resource in (CPU, MEMORY):
        return node.allocatable.get(resource, 0), node.non_zero_requested[resource]
    return node.allocatable.get(resource, 0), node.requested.get(resource, 0)


def non_zero_allocated(nodes: Nodes, resource: str) -> Ints:
    """Return what is allocated on each node; cpu and memory not requested count by defaults."""
    if resource in (CPU, MEMORY):
        return nodes.non_zero_requested(resource)
    return nodes.requested(resource)


def allocated_floats(nodes: Nodes, resource: str) -> Floats:
    """Return `non_zero_allocated` as floats."""
    return nodes.requested_floats(resource, non_zero=resource in (CPU, MEMORY))


class Capacity(msgspec.Struct, frozen=True):
    """The allocatable amounts of one resource on the full snapshot, prepared for division."""

    amounts: Ints
    #: The amounts, with 1 for a node that offers none.
    divisor: Floats
    #: Which nodes offer some; None if all do.
    present: Mask | None
    #: Whether every amount is below EXACT_LIMIT.
    exact: bool


def capacity_of(nodes: Nodes, resource: str) -> Capacity:
    """Return the capacity of a resource; computed again only when a node changes."""
    return nodes.derive(
        ("NodeResources/capacity", resource), lambda every: _work_out(every.allocatable(resource))
    )


def _work_out(amounts: Ints) -> Capacity:
    present = amounts != 0
    return Capacity(
        amounts=amounts.copy(),
        divisor=np.where(present, amounts, 1).astype(np.float64),
        present=None if present.all() else present,
        exact=bool((np.abs(amounts) < EXACT_LIMIT).all()),
    )


def percent(part: int, whole: int) -> int:
    """Return part * 100 / whole as Go computes it in int64: wrapping, truncated toward zero."""
    return quotient((part * 100 + 2**63) % 2**64 - 2**63, whole)


def quotient(dividend: int, divisor: int) -> int:
    """Divide by a positive number, truncating toward zero as Go does."""
    return dividend // divisor if dividend >= 0 else -(-dividend // divisor)


def percent_of_nodes(nodes: Nodes, part: Ints, capacity: Capacity) -> Floats:
    """Return part * 100 / capacity for each node, as whole numbers."""
    divisor = nodes.gather(capacity.divisor)
    if capacity.exact:
        scaled: Floats = np.multiply(part, 100.0, dtype=np.float64)
        scaled /= divisor
        return np.trunc(scaled, out=scaled)
    wholes = nodes.gather(capacity.amounts)
    percents = [percent(p, w or 1) for p, w in zip(part.tolist(), wholes.tolist(), strict=True)]
    return np.array(percents, dtype=np.float64)


def amounts_of(
    node: NodeInfo, shares: Sequence[Share], non_zero: bool
) -> list[tuple[Share, int, int]]:
    """Return (share, allocatable, allocated) of one node, for the resources that it offers."""
    found = []
    for share in shares:
        allocatable, allocated = node_amounts(node, share.resource, non_zero)
        if allocatable:
            found.append((share, allocatable, allocated))
    return found
