"""Filter for one node: whether every container, or the whole pod, fits into one cell."""

# scheduler-plugins: pkg/noderesourcetopology/filter.go

from __future__ import annotations

from collections.abc import Container as ContainerOf
from collections.abc import Hashable, Sequence

import msgspec

from mooring import Status
from mooring.api import Pod
from mooring.api.pod_qos import BEST_EFFORT, GUARANTEED, qos_class
from mooring.contrib.node_resource_topology.cells import (
    POD_SCOPE,
    SINGLE_NUMA_NODE,
    Amounts,
    Cell,
    NodeCells,
    amounts_of,
    effective_request,
    is_affine,
    is_host_level,
    requests_devices,
)

OUTDATED = Status.unschedulable("invalid node topology data")
CANNOT_ALIGN_POD = Status.unschedulable("cannot align pod")
CANNOT_ALIGN_CONTAINER = Status.unschedulable("cannot align container")
CANNOT_ALIGN_INIT = Status.unschedulable("cannot align init container")
CANNOT_ALIGN_SIDECAR = Status.unschedulable("cannot align sidecar container")


class PodNeeds(msgspec.Struct, frozen=True):
    """What a pod needs of cells; in billionths."""

    #: Equal for pods that need the same.
    key: Hashable

    guaranteed: bool
    #: False for pods that every node suits: BestEffort, without devices.
    aligned: bool
    whole: Amounts
    #: The requests of init containers, with the refusal of a node that has no room for one.
    init: tuple[tuple[Amounts, Status], ...]
    containers: tuple[Amounts, ...]


def needs_of(pod: Pod) -> PodNeeds:
    """Return what a pod needs of cells."""
    quality = qos_class(pod)
    spec = pod.spec
    init = tuple(
        (
            amounts_of(one.resources.requests),
            CANNOT_ALIGN_SIDECAR if one.is_sidecar else CANNOT_ALIGN_INIT,
        )
        for one in spec.init_containers
    )
    containers = tuple(amounts_of(one.resources.requests) for one in spec.containers)
    key = (
        quality,
        tuple((tuple(request.items()), refusal) for request, refusal in init),
        tuple(tuple(request.items()) for request in containers),
        tuple(spec.overhead.items()),
    )
    return PodNeeds(
        key,
        quality == GUARANTEED,
        quality != BEST_EFFORT or requests_devices(pod),
        effective_request(pod),
        init,
        containers,
    )


#: The codes of a node's answer: it has room; it has none for the whole pod; or it has none for a
#: container, whose position among the init containers and containers is added to the last code.
FITS = 0
POD_REFUSED = 1
CONTAINER_REFUSED = 2


def status_of(needs: PodNeeds, code: int) -> Status | None:
    """Return the refusal that a code stands for."""
    if code == FITS:
        return None
    if code == POD_REFUSED:
        return CANNOT_ALIGN_POD
    container = code - CONTAINER_REFUSED
    return needs.init[container][1] if container < len(needs.init) else CANNOT_ALIGN_CONTAINER


def align(needs: PodNeeds, node: NodeCells, offered: ContainerOf[str]) -> int:
    """Return whether a node's kubelet would admit a pod, and if not which container it refuses.

    `offered` are the resources that the node has as a whole.
    """
    if node.manager.policy != SINGLE_NUMA_NODE:
        return FITS
    if node.manager.scope == POD_SCOPE:
        fits = find_cell(needs, needs.whole, node.cells, offered) is not None
        return FITS if fits else POD_REFUSED
    for code, (request, _) in enumerate(needs.init, CONTAINER_REFUSED):
        if find_cell(needs, request, node.cells, offered) is None:
            return code
    cells = [cell.copy() for cell in node.cells]
    for code, request in enumerate(needs.containers, CONTAINER_REFUSED + len(needs.init)):
        chosen = find_cell(needs, request, cells, offered)
        if chosen is None:
            return code
        for cell in cells:
            if cell.id == chosen:
                _take(needs, request, cell)
    return FITS


def find_cell(
    needs: PodNeeds, request: Amounts, cells: Sequence[Cell], offered: ContainerOf[str]
) -> int | None:
    """Return the lowest id of a cell that has room for a request, as the kubelet chooses; None if
    none has. A request that no cell is needed for gets id 0."""
    suitable: set[int] | None = None
    for resource, amount in request.items():
        if amount == 0:
            continue
        if resource not in offered:
            return None
        listed = [cell for cell in cells if resource in cell.available]
        if not listed and is_host_level(resource):
            continue
        ignored = not needs.guaranteed and is_affine(resource)
        found = {cell.id for cell in listed if ignored or cell.available[resource] >= amount}
        suitable = found if suitable is None else suitable & found
        if not suitable:
            return None
    return 0 if suitable is None else min(suitable)


def _take(needs: PodNeeds, request: Amounts, cell: Cell) -> None:
    for resource, amount in request.items():
        if resource in cell.available and (needs.guaranteed or not is_affine(resource)):
            cell.available[resource] -= amount
