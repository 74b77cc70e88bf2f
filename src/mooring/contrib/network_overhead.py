"""NetworkOverhead: place the workloads of an application near those that they depend on."""

# scheduler-plugins: pkg/networkaware/networkoverhead/networkoverhead.go

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import force_setattr

from mooring import (
    ActionType,
    ClusterEvent,
    CycleState,
    EventResource,
    Handle,
    NodeInfo,
    Nodes,
    Plugin,
    PodInfo,
    QueueingHint,
    Status,
)
from mooring.api import AppGroup, NetworkTopology, Node, Pod
from mooring.api.app_group import AppGroupDependency
from mooring.api.network_topology import NETPERF_COSTS, NetworkWeights
from mooring.contrib.app_groups import app_group_name, find_in, search, workload_of
from mooring.contrib.score_ranges import highest_to_lowest, wrapped
from mooring.framework.listers import Lister
from mooring.framework.nodes import Rows
from mooring.typing import Codes, Ints, Mask, Scores

REGION = "topology.kubernetes.io/region"
ZONE = "topology.kubernetes.io/zone"

#: The costs of the same node, of another node in the same zone, and of a place nothing is known of.
SAME_NODE = 0
SAME_ZONE = 1
UNKNOWN = 100

REFUSED = (
    "Node {node} does not meet several network requirements from Workload dependencies: "
    "Satisfied: {satisfied} Violated: {violated}"
)
NO_SUCH_NODE = 'pod hostname not found: nodeinfo not found for node name "{}"'

#: The index of the pods of each workload, by AppGroup and workload.
_INDEX = "NetworkOverhead/workload"
_ACCEPTED = -1

#: A node's region and zone; "" if it has no such label.
Place = tuple[str, str]
#: What the network costs from an origin to a destination.
Costs = dict[tuple[str, str], int]
#: The nodes that run dependencies, with the highest allowed cost of each.
Needs = dict[str, list[int]]


class Overhead(msgspec.Struct, frozen=True):
    """What a pod's dependencies mean for every node of the snapshot."""

    cycle_only = True

    satisfied: Ints
    violated: Ints
    cost: Ints
    #: Rows of the nodes that are refused.
    refused: Rows
    #: The nodes that run dependencies, with the highest allowed cost of each.
    needs: Needs


class NetworkOverhead(Plugin):
    """The plugin that keeps pods of an AppGroup near the workloads that they depend on.

    Choose it for applications whose workloads call one another in a cluster with several zones or
    regions. An AppGroup lists the dependencies and what each may cost at most; a NetworkTopology
    lists what it costs to talk from one zone or region to another. A node is refused if more
    dependencies are violated than satisfied there; the nodes with the lowest total cost score best.

    A pod outside any AppGroup passes and scores 0 everywhere, and so does a pod whose AppGroup or
    NetworkTopology does not exist.
    """

    name = "NetworkOverhead"

    class Args(msgspec.Struct, frozen=True, rename="camel"):
        """Where AppGroups and the NetworkTopology are, and which of its weights count."""

        #: The namespaces whose AppGroups and NetworkTopologies count.
        namespaces: tuple[str, ...] = ("default",)
        #: The name of the weights of the NetworkTopology to use.
        weights_name: str = "UserDefined"
        #: The name of the NetworkTopology.
        network_topology_name: str = "nt-default"

        def __post_init__(self) -> None:
            if not self.namespaces:
                force_setattr(self, "namespaces", ("default",))

    def __init__(self, args: Any = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        #: The costs by place, and the NetworkTopology that they are from.
        self._costs: dict[Place, Costs] = {}
        self._costs_of: NetworkTopology | None = None
        #: The last overhead, and what it was worked out from: pods of one template need the same.
        self._kept: tuple[Any, ...] | None = None

    def start(self) -> None:
        """Watch AppGroups and NetworkTopologies, and find pods by their workload."""
        self._groups: Lister[AppGroup] = self.handle.lister(AppGroup)
        self._topologies: Lister[NetworkTopology] = self.handle.lister(NetworkTopology)
        self._pods: Lister[Pod] = self.handle.lister(Pod)
        self._pods.add_index(_INDEX, _workload_keys)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Work out costs, satisfied and violated dependencies for every node."""
        dependencies, topology = self._dependencies(pod)
        if topology is None or not dependencies:
            return None
        needs = self._needs(pod, dependencies)
        every = self.handle.snapshot
        if not needs or not len(every):
            return None
        for host in needs:
            if every.row(host) < 0:
                return Status.error(NO_SUCH_NODE.format(host))
        kept = self._kept
        if kept is None or kept[:3] != (every.node_generation, id(topology), needs):
            overhead = self._work_out(topology, needs, every)
            kept = self._kept = (every.node_generation, id(topology), needs, topology, overhead)
        state.write(self.name, kept[-1])
        return None

    def _dependencies(
        self, pod: Pod
    ) -> tuple[Sequence[AppGroupDependency], NetworkTopology | None]:
        name = app_group_name(pod)
        group = find_in(self._groups, self.args.namespaces, name) if name else None
        if group is None:
            return (), None
        topology = find_in(self._topologies, self.args.namespaces, self.args.network_topology_name)
        workload = workload_of(pod)
        return [
            dependency
            for one in group.spec.workloads
            if one.workload.selector == workload
            for dependency in one.dependencies
        ], topology

    def _needs(self, pod: Pod, dependencies: Sequence[AppGroupDependency]) -> Needs:
        """Return the nodes that run dependencies, with the highest allowed cost of each."""
        allowed: dict[str, list[int]] = {}
        for one in dependencies:
            allowed.setdefault(one.workload.selector, []).append(one.max_network_cost)
        found: Needs = {}
        for workload, limits in allowed.items():
            for other in self._pods.by_index(_INDEX, f"{app_group_name(pod)}/{workload}"):
                if host := other.spec.node_name:
                    found.setdefault(host, []).extend(limits)
        return found

    def add_pod(self, state: CycleState, pod: Pod, other: PodInfo, node: NodeInfo) -> Status | None:
        """Count a dependency that a dry run puts on a node."""
        self._try(state, pod, other.pod, node.name, added=True)
        return None

    def remove_pod(
        self, state: CycleState, pod: Pod, other: PodInfo, node: NodeInfo
    ) -> Status | None:
        """Leave out a dependency that a dry run takes off a node."""
        self._try(state, pod, other.pod, node.name, added=False)
        return None

    def _try(self, state: CycleState, pod: Pod, other: Pod, host: str, *, added: bool) -> None:
        name = app_group_name(pod)
        if not name or app_group_name(other) != name:
            return
        dependencies, topology = self._dependencies(pod)
        limits = _limits(other, dependencies)
        if topology is None or not limits:
            return
        before: Overhead | None = state.get(self.name)
        needs = {} if before is None else dict(before.needs)
        there = list(needs.pop(host, ()))
        for limit in limits:
            if added:
                there.append(limit)
            elif limit in there:
                there.remove(limit)
        if there:
            needs[host] = there
        state.delete(self.name)
        if needs:
            state.write(self.name, self._work_out(topology, needs, self.handle.snapshot))

    def _work_out(self, topology: NetworkTopology, needs: Needs, every: Nodes) -> Overhead:
        places, codes = every.derive(f"{self.name}/places", _places)
        by_place: dict[Place, list[int]] = {}
        for host, limits in needs.items():
            by_place.setdefault(places[codes[every.row(host)]], []).extend(limits)
        sums = np.array(
            [self._sum(topology, here, by_place.items()) for here in places], dtype=np.int64
        ).reshape(len(places), 3)
        satisfied, violated, cost = (column[codes] for column in sums.T)
        for host, limits in needs.items():
            row = every.row(host)
            here = places[codes[row]]
            # On the node itself every dependency is satisfied and costs nothing.
            own = self._sum(topology, here, [(here, limits)])
            satisfied[row] += len(limits) - own[0]
            violated[row] -= own[1]
            cost[row] = wrapped(int(cost[row]) + SAME_NODE * len(limits) - own[2])
        return Overhead(satisfied, violated, cost, np.flatnonzero(violated > satisfied), needs)

    def _sum(self, topology: NetworkTopology, here: Place, needs: Any) -> tuple[int, int, int]:
        """Return how many dependencies are satisfied and violated from a place, and the cost."""
        satisfied = violated = total = 0
        costs = self._costs_from(topology, here)
        for there, limits in needs:
            count = len(limits)
            if there == ("", ""):
                violated += count
                total += UNKNOWN * count
            elif here == there:
                satisfied += count
                total += SAME_ZONE * count
            else:
                # Zones are compared within a region, else regions.
                level = 1 if here[0] == there[0] else 0
                cost = costs.get((here[level], there[level]))
                if cost is None:
                    total += UNKNOWN * count
                    continue
                total += cost * count
                within = sum(cost <= limit for limit in limits)
                satisfied += within
                violated += count - within
        return satisfied, violated, wrapped(total)

    def _costs_from(self, topology: NetworkTopology, here: Place) -> Costs:
        """Return the costs from a place, computed once per NetworkTopology."""
        if self._costs_of is not topology:
            self._costs_of = topology
            self._costs = {}
        costs = self._costs.get(here)
        if costs is None:
            costs = self._costs[here] = {}
            for weights in topology.spec.weights:
                if weights.name == self.args.weights_name:
                    _add_costs(costs, weights, REGION, here[0])
                    _add_costs(costs, weights, ZONE, here[1])
        return costs

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """Refuse a node on which more dependencies are violated than satisfied."""
        overhead = state.get(self.name)
        if overhead is None or node.row < 0:
            return None
        satisfied, violated = overhead.satisfied[node.row], overhead.violated[node.row]
        if violated > satisfied:
            return _refusal(int(satisfied), int(violated)).for_node(node.name)
        return None

    def filter_nodes(
        self, state: CycleState, pod: Pod, nodes: Nodes
    ) -> Iterator[tuple[Status, Mask]]:
        """Refuse nodes on which more dependencies are violated than satisfied."""
        overhead = state.get(self.name)
        if overhead is None or not len(overhead.refused):
            return
        satisfied, violated = nodes.gather(overhead.satisfied), nodes.gather(overhead.violated)
        refused = violated > satisfied
        # One number for both counts: comparing pairs would be slow.
        most = int(violated.max(initial=0)) + 1
        codes = np.where(refused, satisfied * most + violated, _ACCEPTED)
        for code in np.unique(codes).tolist():
            if code != _ACCEPTED:
                yield _refusal(*divmod(code, most)), codes == code

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores | int:
        """Return the cost of each node: the lower, the better."""
        overhead = state.get(self.name)
        return 0 if overhead is None else nodes.gather(overhead.cost)

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """Return the cost of one node."""
        overhead = state.get(self.name)
        return 0 if overhead is None else int(overhead.cost[node.row])

    def normalize_score(self, state: CycleState, pod: Pod, scores: Scores) -> Scores:
        """Scale so that the lowest cost becomes 100 and the highest 0."""
        return highest_to_lowest(scores)

    def events_to_register(self) -> list[ClusterEvent]:
        """Return changes of the pod's group, of the network and of nodes."""
        return [
            ClusterEvent(EventResource.POD, ActionType.ADD | ActionType.DELETE, _after_pod_change),
            ClusterEvent(
                EventResource.NODE,
                ActionType.ADD | ActionType.UPDATE_NODE_LABEL,
                _after_node_change,
            ),
            ClusterEvent(
                "appgroups.v1alpha1.appgroup.diktyo.x-k8s.io",
                ActionType.ALL,
                self._after_group_change,
            ),
            ClusterEvent(
                "networktopologies.v1alpha1.networktopology.diktyo.x-k8s.io",
                ActionType.ALL,
                self._after_topology_change,
            ),
        ]

    def _after_group_change(
        self, pod: Pod, old: AppGroup | None, new: AppGroup | None
    ) -> QueueingHint:
        group = new or old
        return _queue_if(group is not None and group.metadata.name == app_group_name(pod))

    def _after_topology_change(
        self, pod: Pod, old: NetworkTopology | None, new: NetworkTopology | None
    ) -> QueueingHint:
        topology = new or old
        wanted = self.args.network_topology_name
        return _queue_if(topology is not None and topology.metadata.name == wanted)

    def sign_pod(self, pod: Pod) -> Hashable:
        """Return the same for all pods outside AppGroups; others depend on pods elsewhere."""
        return None if app_group_name(pod) else ()


def _workload_keys(pod: Pod) -> list[str]:
    name = app_group_name(pod)
    return [f"{name}/{workload_of(pod)}"] if name else []


def _refusal(satisfied: int, violated: int) -> Status:
    text = REFUSED.format(node="{node}", satisfied=satisfied, violated=violated)
    return Status.unschedulable(text).per_node()


def _limits(other: Pod, dependencies: Sequence[AppGroupDependency]) -> list[int]:
    """Return the highest allowed cost of each dependency that a pod is."""
    workload = workload_of(other)
    return [one.max_network_cost for one in dependencies if one.workload.selector == workload]


def _queue_if(useful: bool) -> QueueingHint:
    return QueueingHint.QUEUE if useful else QueueingHint.SKIP


def _after_pod_change(pod: Pod, old: Pod | None, new: Pod | None) -> QueueingHint:
    other = new or old
    return _queue_if(other is not None and app_group_name(other) == app_group_name(pod))


def _after_node_change(pod: Pod, old: Node | None, new: Node) -> QueueingHint:
    return _queue_if(old is None or _place(old) != _place(new))


def _place(node: Node) -> Place:
    labels = node.metadata.labels
    return labels.get(REGION, ""), labels.get(ZONE, "")


def _places(nodes: Nodes) -> tuple[list[Place], Codes]:
    """Return the distinct places, and which of them each node is in."""
    index: dict[Place, int] = {}
    codes = [index.setdefault(_place(info.node), len(index)) for info in nodes.infos()]
    return list(index), np.array(codes, dtype=np.int32)


def _add_costs(costs: Costs, weights: NetworkWeights, key: str, origin: str) -> None:
    if not origin:
        return
    topologies = weights.topology_list
    sorts = weights.name != NETPERF_COSTS
    if sorts:
        topologies = tuple(sorted(topologies, key=lambda one: one.topology_key))
    level = search(topologies, lambda one: one.topology_key, key)
    if level is None:
        return
    origins = level.origin_list
    if sorts:
        origins = tuple(sorted(origins, key=lambda one: one.origin))
    found = search(origins, lambda one: one.origin, origin)
    if found is not None:
        for cost in found.cost_list:
            costs[origin, cost.destination] = cost.network_cost
