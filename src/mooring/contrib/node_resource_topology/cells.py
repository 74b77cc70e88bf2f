"""NUMA cells: what a NodeResourceTopology says of a node, in numbers.

Amounts are whole billionths, so that they are exact.
"""

# scheduler-plugins: pkg/noderesourcetopology/numaresources.go, pluginhelpers.go,
# nodeconfig/topologymanager.go

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from mooring.api import NodeResourceTopology, Pod, ResourceList
from mooring.api.names import is_native_resource
from mooring.api.node_resource_topology import CELL_PREFIX, NUMA_CELL, TopologyZone
from mooring.api.quantity import parse_nanos
from mooring.errors import ObjectError

SINGLE_NUMA_NODE = "single-numa-node"
POLICIES = ("none", "best-effort", "restricted", SINGLE_NUMA_NODE)
POD_SCOPE = "pod"
CONTAINER_SCOPE = "container"
#: The kubelet's default, and the highest that counts.
DEFAULT_MAX_CELLS = 8
MAX_CELLS = 1024
#: Cells with a higher id are left out.
MAX_CELL_ID = 64

#: The largest distance that is told from others.
_FURTHEST = 2**40

#: Amounts in billionths by resource.
Amounts = dict[str, int]

#: A number of Go's int; Python refuses to read very long ones.
_INTEGER = re.compile(r"([+-]?)0*(\d{1,19})", re.ASCII)
#: So many problems of an object are described, with so many characters each.
_MOST_PROBLEMS, _LONGEST_PROBLEM = 5, 200
_LEVELS = {
    f"{policy}{level}": (name, scope)
    for policy, name in (
        ("SingleNUMANode", SINGLE_NUMA_NODE),
        ("BestEffort", "best-effort"),
        ("Restricted", "restricted"),
    )
    for level, scope in (("PodLevel", POD_SCOPE), ("ContainerLevel", CONTAINER_SCOPE))
}


class TopologyManager(msgspec.Struct, frozen=True):
    """How a kubelet places pods on cells."""

    policy: str = "none"
    scope: str = CONTAINER_SCOPE
    max_cells: int = DEFAULT_MAX_CELLS


class Cell(msgspec.Struct):
    """One NUMA cell: its id, what it has left, and its distance to others by id."""

    id: int
    available: Amounts
    costs: dict[int, int] = {}

    def copy(self) -> Cell:
        """Return a copy whose amounts can be changed."""
        return Cell(self.id, dict(self.available), self.costs)


class NodeCells(msgspec.Struct, frozen=True):
    """What is known of one node."""

    manager: TopologyManager
    cells: list[Cell]
    #: What was wrong with the object, in words.
    problems: tuple[str, ...] = ()
    #: Distances of combinations of cells that were asked for; they do not change with amounts.
    distances: dict[tuple[int, ...], Any] = msgspec.field(default_factory=dict)


def topology_manager(topology: NodeResourceTopology) -> TopologyManager:
    """Return how the node's kubelet places pods; attributes go before topologyPolicies."""
    policy, scope, most = "none", CONTAINER_SCOPE, DEFAULT_MAX_CELLS
    if topology.topology_policies:
        policy, scope = _LEVELS.get(topology.topology_policies[0], (policy, scope))
    for attribute in topology.attributes:
        value = attribute.value
        if attribute.name == "topologyManagerScope" and value in (POD_SCOPE, CONTAINER_SCOPE):
            scope = value
        elif attribute.name == "topologyManagerPolicy" and value in POLICIES:
            policy = value
        elif attribute.name == "topologyManagerMaxNUMANodes":
            number = _integer(value)
            if number is not None and 1 < number < 2**63:
                most = min(number, MAX_CELLS)
    return TopologyManager(policy, scope, most)


def read_cells(topology: NodeResourceTopology) -> NodeCells:
    """Return the cells of a node, in the order in which they are listed.

    An amount that cannot be read counts as 0.
    """
    problems: list[str] = []
    zones = []
    for zone in topology.zones:
        number = cell_id(zone.name)
        if zone.type == NUMA_CELL and number is not None:
            zones.append((number, zone))
    # Cells of one id share the costs of the last.
    costs = {number: _costs(zone) for number, zone in zones}
    cells = [Cell(number, _available(zone, problems), costs[number]) for number, zone in zones]
    return NodeCells(topology_manager(topology), cells, tuple(_shown(problems)))


def _shown(problems: list[str]) -> Iterator[str]:
    for problem in problems[:_MOST_PROBLEMS]:
        yield problem if len(problem) <= _LONGEST_PROBLEM else f"{problem[:_LONGEST_PROBLEM]}…"
    if len(problems) > _MOST_PROBLEMS:
        yield f"and {len(problems) - _MOST_PROBLEMS} more"


def cell_id(name: str) -> int | None:
    """Return the id in the name of a cell ("node-0"); None if it has none, or too high a one."""
    text = name.removeprefix(CELL_PREFIX)
    number = _integer(text)
    if text == name or number is None:
        return None
    return number if 0 <= number <= MAX_CELL_ID else None


def _integer(text: str) -> int | None:
    found = _INTEGER.fullmatch(text)
    return int(found[1] + found[2]) if found is not None else None


def _costs(zone: TopologyZone) -> dict[int, int]:
    return {
        number: max(-_FURTHEST, min(cost.value, _FURTHEST))
        for cost in zone.costs
        if (number := cell_id(cost.name)) is not None
    }


def _available(zone: TopologyZone, problems: list[str]) -> Amounts:
    found: Amounts = {}
    for resource in zone.resources:
        amount = 0
        where = f"zone {zone.name}, resource {resource.name}"
        if resource.available is None:
            problems.append(f"{where}: available is missing, counted as 0")
        else:
            try:
                amount = parse_nanos(resource.available)
            except ObjectError as error:
                problems.append(f"{where}: {error.message}; counted as 0")
            if amount < 0:
                problems.append(f"{where}: available is negative: {resource.available}")
        found[resource.name] = amount
    return found


# Requests.


def amounts_of(requests: ResourceList) -> Amounts:
    """Return requests in billionths."""
    return {name: parse_nanos(quantity) for name, quantity in requests.items()}


def effective_request(pod: Pod) -> Amounts:
    """Return what a pod requests: the sum of its containers, or one init container if that needs
    more, plus its overhead."""
    # scheduler-plugins: pkg/util/resource.go (GetPodEffectiveRequest)
    total: Amounts = {}
    for container in pod.spec.containers:
        for name, amount in amounts_of(container.resources.requests).items():
            total[name] = total.get(name, 0) + amount
    for container in pod.spec.init_containers:
        for name, amount in amounts_of(container.resources.requests).items():
            total[name] = max(total.get(name, amount), amount)
    for name, amount in amounts_of(pod.spec.overhead).items():
        total[name] = total.get(name, 0) + amount
    return total


def is_affine(resource: str) -> bool:
    """Return whether a resource always comes from a cell: cpu, memory and huge pages."""
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")


def is_host_level(resource: str) -> bool:
    """Return whether a resource may be available without coming from a cell."""
    return resource in ("ephemeral-storage", "storage") or not is_native_resource(resource)


def requests_devices(pod: Pod) -> bool:
    """Return whether a container requests a resource that is not Kubernetes' own."""
    return any(
        not is_native_resource(name)
        for container in (*pod.spec.init_containers, *pod.spec.containers)
        for name in container.resources.requests
    )
