"""NodeResourcesFit: a node must have the resources that a pod requests."""

# kube-scheduler: plugins/noderesources/fit.go

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, ClassVar

import msgspec
import numpy as np

from mooring.api import (
    AnyPodGroup,
    DeviceClass,
    Node,
    Pod,
    is_extended_resource,
    is_scalar_resource,
)
from mooring.api.names import NATIVE_RESOURCES, PODS
from mooring.api.pod_resource_requests import RequestOptions, is_resize_deferred, pod_requests
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, QueueingHint
from mooring.framework.diagnosis import Shortfall
from mooring.framework.handle import Handle
from mooring.framework.node_info import NodeInfo, node_allocatable
from mooring.framework.nodes import Nodes
from mooring.framework.placements import GroupAssignments
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.args import NodeResourcesFitArgs
from mooring.plugins.dynamic_resources.device_classes import (
    IMPLICIT_PREFIX,
    any_backed,
    backed_resources,
    extended_resource_name,
)
from mooring.plugins.gates import gates_of
from mooring.plugins.node_resources.allocation import (
    Share,
    any_devices,
    non_zero_allocated,
    percent,
    quotient,
    shares_of,
)
from mooring.plugins.node_resources.requested_amounts import PodRequests
from mooring.plugins.node_resources.scored_resources import ScoredResources
from mooring.plugins.node_resources.scoring_strategies import make_strategy
from mooring.typing import Ints, Mask

TOO_MANY_PODS = Status.unschedulable("Too many pods")
INSUFFICIENT = "Insufficient {}"
NOT_PRE_FILTERED = Status.error(
    'error reading "PreFilterNodeResourcesFit" from cycleState: not found'
)

_PRE_FILTER = "PreFilterNodeResourcesFit"
_PRE_SCORE = "PreScoreNodeResourcesFit"


class Demand(msgspec.Struct, frozen=True):
    """The amount of one resource that must be free."""

    resource: str
    amount: int
    #: Whether a DeviceClass backs the resource; DynamicResources then judges nodes without it.
    backed: bool = False


def demands_of(
    requests: Mapping[str, int],
    backed: Container[str] = (),
    ignored: Container[str] = (),
    ignored_groups: Container[str] = (),
) -> tuple[Demand, ...]:
    """Return what must be free, in the order of the refusals.

    `ignored` and `ignored_groups` apply only to extended resources.
    """
    demands = [
        Demand(name, amount) for name in NATIVE_RESOURCES if (amount := requests.get(name, 0)) > 0
    ]
    if len(demands) < len(requests):
        for name in sorted(requests):
            amount = requests[name]
            if amount <= 0 or name in NATIVE_RESOURCES or not is_scalar_resource(name):
                continue
            if is_extended_resource(name) and (
                name in ignored or name.partition("/")[0] in ignored_groups
            ):
                continue
            demands.append(Demand(name, amount, name in backed))
    return tuple(demands)


@lru_cache(maxsize=1024)
def _insufficient(resource: str) -> tuple[Status, Status]:
    reason = INSUFFICIENT.format(resource)
    return Status.unschedulable(reason), Status.unresolvable(reason)


class Fit(Plugin):
    """The plugin that refuses nodes without enough resources, and scores the others."""

    name = "NodeResourcesFit"
    limits_resizes = True
    reads_pod_labels = False
    Args: ClassVar[type[msgspec.Struct] | None] = NodeResourcesFitArgs

    def __init__(self, args: Any = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        gates = gates_of(handle)
        self._requests = PodRequests(self.handle)
        self._ignored = frozenset(self.args.ignored_resources)
        self._ignored_groups = frozenset(self.args.ignored_resource_groups)
        self._resources = self.args.scoring_strategy.resources
        self._strategy = make_strategy(self.args.scoring_strategy)
        self._scored = ScoredResources(self._resources)
        self._backed_enabled = gates.enabled("DRAExtendedResource")
        self._backed = backed_resources(handle)
        self._resizes = gates.enabled("InPlacePodVerticalScalingSchedulerPreemption")
        self._resized = RequestOptions(
            use_status_resources=gates.enabled("InPlacePodVerticalScaling"),
            in_place_pod_level_resources=gates.enabled("InPlacePodLevelResourcesVerticalScaling"),
            by_container=gates.release.resizes_by_container,
        )

    def start(self) -> None:
        """Watch devices if they can back one of the scored resources."""
        self._scored.start(self.handle)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Compute what must be free on a node."""
        requests = self._requests.for_filter(pod)
        state.write(
            _PRE_FILTER, demands_of(requests, self._backed, self._ignored, self._ignored_groups)
        )
        return None

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """Refuse a node without enough resources, naming each resource it lacks."""
        demands: tuple[Demand, ...] | None = state.get(_PRE_FILTER)
        if demands is None:
            return NOT_PRE_FILTERED
        reasons: list[str] = []
        unresolvable = False
        if len(node.pods) >= node.allocatable.get(PODS, 0):
            reasons += TOO_MANY_PODS.reasons
        for demand in demands:
            offered = node.allocatable.get(demand.resource, 0)
            if demand.amount > offered - node.requested.get(demand.resource, 0) and not (
                demand.backed and offered <= 0
            ):
                reasons.append(INSUFFICIENT.format(demand.resource))
                unresolvable |= demand.amount > offered
        if not reasons:
            return None
        return Status.unresolvable(*reasons) if unresolvable else Status.unschedulable(*reasons)

    def filter_nodes(
        self, state: CycleState, pod: Pod, nodes: Nodes
    ) -> Iterator[tuple[Status, Mask]]:
        """Refuse all nodes without enough resources."""
        demands: tuple[Demand, ...] | None = state.get(_PRE_FILTER)
        if demands is None:
            yield NOT_PRE_FILTERED, np.ones(len(nodes), dtype=np.bool_)
            return
        kinds = nodes.kinds()
        few = kinds.few
        if few is not None and not any(self.filter(state, pod, node) for node in few):
            return
        for status, mask in _refusals(kinds.nodes, demands):
            yield status, kinds.spread(mask)

    def diagnose(self, state: CycleState, pod: Pod, node: NodeInfo) -> list[Shortfall]:
        """Return the resources that are short on a node."""
        short = []
        free = node.allocatable.get(PODS, 0) - len(node.pods)
        if free < 1:
            short.append(Shortfall.of(PODS, 1, free))
        for demand in state.get(_PRE_FILTER) or ():
            offered = node.allocatable.get(demand.resource, 0)
            free = offered - node.requested.get(demand.resource, 0)
            if demand.amount > free and not _left_to_devices(demand, node.allocatable):
                short.append(Shortfall.of(demand.resource, demand.amount, free))
        return short

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Compute the shares of the score."""
        state.write(_PRE_SCORE, self._shares(pod, nodes))
        return None

    def _shares(self, pod: Pod, nodes: Nodes) -> tuple[Share, ...]:
        return self._scored.shares(self._requests.for_fit_score(pod), nodes)

    def _shares_of(self, state: CycleState, pod: Pod) -> tuple[Share, ...]:
        shares: tuple[Share, ...] | None = state.get(_PRE_SCORE)
        return self._shares(pod, self.handle.snapshot) if shares is None else shares

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int | Status:
        """Score one node."""
        return self._strategy.score(node, self._shares_of(state, pod))

    def score_placement(
        self, state: CycleState, group: AnyPodGroup, assignments: GroupAssignments
    ) -> int:
        """Score a placement of a pod group: the fuller its nodes are together, the better.

        The strategy is always MostAllocated, with the resources of the plugin's own.
        """
        requests: Counter[str] = Counter()
        for info, _ in assignments.pods:
            requests.update(self._requests.for_fit_score(info.pod))
        total = weights = 0
        for share in shares_of(self._resources, requests):
            by_node = assignments.nodes.allocatable(share.resource)
            offered = int(by_node.sum())
            if not offered:
                continue
            allocated = non_zero_allocated(assignments.nodes, share)
            used = int(allocated[by_node != 0].sum()) + share.request
            total += percent(min(used, offered), offered) * share.weight
            weights += share.weight
        return quotient(total, weights) if weights else 0

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Ints | Status:
        """Score all nodes."""
        shares = self._shares_of(state, pod)
        if any_devices(shares):
            return self._strategy.score_nodes(nodes, shares)
        kinds = nodes.kinds()
        few = kinds.few
        if few is not None:
            score = self._strategy.score
            return kinds.spread(np.array([score(node, shares) for node in few], np.int64))
        return kinds.spread(self._strategy.score_nodes(kinds.nodes, shares))

    def events_to_register(self) -> list[ClusterEvent]:
        """Return events of pods that free resources, of nodes, and of device classes."""
        events = [
            ClusterEvent(
                EventResource.ASSIGNED_POD,
                ActionType.DELETE | ActionType.UPDATE_POD_SCALE_DOWN,
                self._after_pod_event,
            ),
            ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_SCALE_DOWN),
            ClusterEvent(
                EventResource.NODE,
                ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE,
                self._after_node_change,
            ),
        ]
        if self._resizes:
            resource = ActionType.UPDATE_POD_SCALE_UP
            events += [
                ClusterEvent(EventResource.ASSIGNED_POD, resource, _after_scale_up),
                ClusterEvent(EventResource.TARGET_POD, resource, _after_scale_up),
            ]
        if self._backed_enabled:
            events.append(
                ClusterEvent(
                    EventResource.DEVICE_CLASS,
                    ActionType.ADD | ActionType.UPDATE,
                    _after_device_class_event,
                )
            )
        return events

    def _is_elsewhere(self, pod: Pod, node_name: str) -> bool:
        """Return whether a change on a node is none on the one where a pod waits for its resize."""
        return self._resizes and is_resize_deferred(pod) and pod.spec.node_name != node_name

    def _after_pod_event(self, pod: Pod, old: Pod, new: Pod | None) -> QueueingHint:
        if self._is_elsewhere(pod, (new or old).spec.node_name):
            return QueueingHint.SKIP
        if new is None:
            placed = old.spec.node_name or old.status.nominated_node_name
            return QueueingHint.QUEUE if placed else QueueingHint.SKIP
        before, after = pod_requests(old, self._resized), pod_requests(new, self._resized)
        for demand in demands_of(pod_requests(pod, self._resized)):
            if before.get(demand.resource, 0) > after.get(demand.resource, 0):
                return QueueingHint.QUEUE
        return QueueingHint.SKIP

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node) -> QueueingHint:
        if self._is_elsewhere(pod, new.metadata.name):
            return QueueingHint.SKIP
        demands = demands_of(self._requests.for_filter(pod), self._backed)
        offered = node_allocatable(new)
        if offered.get(PODS, 0) < 1 or any(
            demand.amount > offered.get(demand.resource, 0)
            and not _left_to_devices(demand, offered)
            for demand in demands
        ):
            return QueueingHint.SKIP
        if old is None:
            return QueueingHint.QUEUE
        before = node_allocatable(old)
        gained = offered.get(PODS, 0) > before.get(PODS, 0) or any(
            offered.get(demand.resource, 0) > before.get(demand.resource, 0)
            or _left_to_devices(demand, offered)
            for demand in demands
        )
        return QueueingHint.QUEUE if gained else QueueingHint.SKIP

    def sign_pod(self, pod: Pod) -> Hashable:
        """Sign by requests; a pod whose resources a DeviceClass backs cannot be signed."""
        requests = self._requests.for_filter(pod)
        if any_backed(requests, self._backed):
            return None
        scored = self._requests.for_fit_score(pod)
        return frozenset(requests.items()), frozenset(scored.items())


def _after_scale_up(pod: Pod, old: Pod, new: Pod) -> QueueingHint:
    """Queue a pod that waits for its resize if it, or a pod beside it, has grown."""
    concerns = is_resize_deferred(pod) and pod.spec.node_name == new.spec.node_name
    return QueueingHint.QUEUE if concerns else QueueingHint.SKIP


def _refusals(nodes: Nodes, demands: Iterable[Demand]) -> Iterator[tuple[Status, Mask]]:
    """Yield the refused nodes by the resource they lack."""
    full = nodes.pod_count >= nodes.allocatable(PODS)
    if full.any():
        yield TOO_MANY_PODS, full
    for demand in demands:
        short = nodes.free(demand.resource) < demand.amount
        if short.any():
            offered = nodes.allocatable(demand.resource)
            if demand.backed:
                short &= offered > 0
            never = short & (offered < demand.amount)
            now, ever = _insufficient(demand.resource)
            yield now, short & ~never
            yield ever, never


def _left_to_devices(demand: Demand, offered: Mapping[str, int]) -> bool:
    return demand.backed and offered.get(demand.resource, 0) <= 0


def _after_device_class_event(pod: Pod, old: DeviceClass | None, new: DeviceClass) -> QueueingHint:
    requests = pod_requests(pod, RequestOptions(use_status_resources=False))
    name = extended_resource_name(new)
    if old is not None:
        if extended_resource_name(old) == name:
            return QueueingHint.SKIP
    elif IMPLICIT_PREFIX + new.metadata.name in requests:
        return QueueingHint.QUEUE
    return QueueingHint.QUEUE if name and name in requests else QueueingHint.SKIP
