"""How much of each node is allocated, from which both resource plugins compute their scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from mooring.api import is_counted, is_scalar_resource
from mooring.api.pod_resource_requests import CPU, MEMORY
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.plugins.args import ResourceSpec
from mooring.plugins.dynamic_resources.device_totals import Totals
from mooring.plugins.normalize import EXACT_LIMIT
from mooring.typing import Ints, Mask

Floats = npt.NDArray[np.float64]


class Capacity(msgspec.Struct, frozen=True):
    """The allocatable amounts of one resource on the full snapshot, prepared for division."""

    amounts: Ints
    #: The amounts, with 1 for a node that offers none.
    divisor: Floats
    #: Which nodes offer some; None if all do.
    present: Mask | None
    #: Whether every amount is below EXACT_LIMIT.
    exact: bool


class BackedAmounts(msgspec.Struct, frozen=True):
    """The amounts of a resource that a DeviceClass backs, per row of the full snapshot.

    On a node that does not offer the resource itself, its devices count.
    """

    capacity: Capacity
    allocated: Ints


class Share(msgspec.Struct, frozen=True):
    """One resource in a score: its weight, and the incoming pod's request."""

    resource: str
    weight: int
    request: int
    #: None if no DeviceClass backs the resource.
    backed: BackedAmounts | None = None


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


def any_devices(shares: Iterable[Share]) -> bool:
    """Return whether devices count, so that nodes with equal resources can differ."""
    return any(share.backed is not None for share in shares)


def node_amounts(node: NodeInfo, share: Share, non_zero: bool) -> tuple[int, int]:
    """Return (allocatable, allocated) of one node."""
    resource = share.resource
    if non_zero and resource in (CPU, MEMORY):
        return node.allocatable.get(resource, 0), node.non_zero_requested[resource]
    if share.backed is not None:
        backed = share.backed
        return int(backed.capacity.amounts[node.row]), int(backed.allocated[node.row])
    return node.allocatable.get(resource, 0), node.requested.get(resource, 0)


def non_zero_allocated(nodes: Nodes, share: Share) -> Ints:
    """Return what is allocated on each node; cpu and memory not requested count by defaults."""
    if share.backed is not None:
        return nodes.gather(share.backed.allocated)
    if share.resource in (CPU, MEMORY):
        return nodes.non_zero_requested(share.resource)
    return nodes.requested(share.resource)


def allocated_floats(nodes: Nodes, share: Share, *, non_zero: bool = True) -> Floats:
    """Return what is allocated on each node as floats; with `non_zero`, by defaults, too."""
    if share.backed is not None:
        return nodes.gather(share.backed.allocated).astype(np.float64)
    return nodes.requested_floats(
        share.resource, non_zero=non_zero and share.resource in (CPU, MEMORY)
    )


def capacity_of(nodes: Nodes, share: Share) -> Capacity:
    """Return the capacity of a resource; computed again only when a node changes."""
    if share.backed is not None:
        return share.backed.capacity
    resource = share.resource
    return nodes.derive(
        ("NodeResources/capacity", resource), lambda every: _work_out(every.allocatable(resource))
    )


def backed_amounts(nodes: Nodes, resource: str, devices: Totals) -> BackedAmounts:
    """Return the amounts of a backed resource: those of the nodes, or else of their devices."""
    every = nodes.all
    offered, requested = every.allocatable(resource), every.requested(resource)
    by_devices = (offered == 0) & (devices.capacity > 0)
    return BackedAmounts(
        _work_out(np.where(by_devices, devices.capacity, offered)),
        np.where(by_devices, devices.allocated, requested),
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
        allocatable, allocated = node_amounts(node, share, non_zero)
        if allocatable:
            found.append((share, allocatable, allocated))
    return found
