"""NodeResourceTopologyMatch: place pods where the kubelet can give them all from one NUMA cell."""

# scheduler-plugins: pkg/noderesourcetopology/plugin.go

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

import msgspec
import numpy as np

from mooring import (
    MAX_NODE_SCORE,
    ActionType,
    ClusterEvent,
    CycleState,
    EventResource,
    Handle,
    NodeInfo,
    Nodes,
    Plugin,
    QueueingHint,
    Status,
)
from mooring.api import FinishedPod, NodeResourceTopology, Pod, is_scalar_resource
from mooring.contrib.node_resource_topology.aligning import (
    CONTAINER_REFUSED,
    FITS,
    OUTDATED,
    POD_REFUSED,
    PodNeeds,
    align,
    needs_of,
    status_of,
)
from mooring.contrib.node_resource_topology.aligning_all import align_all
from mooring.contrib.node_resource_topology.args import TopologyMatchArgs
from mooring.contrib.node_resource_topology.caches import (
    DiscardReserved,
    Passthrough,
    TopologyCache,
)
from mooring.contrib.node_resource_topology.cell_columns import CellColumns
from mooring.contrib.node_resource_topology.over_reserve import OverReserve
from mooring.contrib.node_resource_topology.scoring_all import NodeScores
from mooring.typing import Ints, Mask, Scores

TOPOLOGIES = "noderesourcetopologies.v1alpha2.topology.node.k8s.io"

_PROFILES = "NodeResourceTopologyMatch/profiles"
_ALWAYS_OFFERED = frozenset({"cpu", "memory", "pods", "ephemeral-storage"})


class NodeResourceTopologyMatch(Plugin):
    """The plugin that places pods where the kubelet can align them with NUMA cells.

    Choose it if kubelets run the topology manager with the policy single-numa-node: without it, the
    scheduler sends pods to nodes that have room in total but not in one cell, and the kubelet
    refuses them. An agent on each node must report its cells as a NodeResourceTopology; nodes
    without one are not checked.

    With `cacheResyncPeriodSeconds` above 0, what pods take is counted at once instead of when the
    next report arrives, which a busy cluster needs.
    """

    name = "NodeResourceTopologyMatch"
    Args: ClassVar[type[msgspec.Struct] | None] = TopologyMatchArgs

    def __init__(self, args: Any = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        strategy = self.args.scoring_strategy
        weights = {one.name: one.weight for one in strategy.resources}
        self._scores = NodeScores(strategy.type, weights)
        self._needs: tuple[Pod, PodNeeds] | None = None

    def start(self) -> None:
        """Watch NodeResourceTopologies and, for the over-reserve cache, pods."""
        self._cache = self._make_cache()
        self._columns = CellColumns(self._cache)
        cache = self._cache
        self.handle.watch(
            NodeResourceTopology,
            added=cache.put,
            updated=lambda _, new: cache.put(new),
            deleted=cache.remove,
        )
        if isinstance(cache, OverReserve):
            self._start_over_reserve(cache)

    def _make_cache(self) -> TopologyCache:
        if self.args.discard_reserved_nodes:
            return DiscardReserved(self._changed)
        if self.args.cache_resync_period_seconds <= 0:
            return Passthrough(self._changed)
        return OverReserve(
            self.args.cache,
            self._changed,
            self.handle.lister(NodeResourceTopology),
            self.handle.lister(Pod),
            self.handle.lister(FinishedPod) if self._counts_finished else None,
            self._profiles(),
        )

    @property
    def _counts_finished(self) -> bool:
        """Return whether pods count as long as they exist."""
        # scheduler-plugins: pkg/noderesourcetopology/podprovider/podprovider.go
        return bool(self.args.cache.informer_mode == "Dedicated")

    def _profiles(self) -> set[str]:
        """Return the profiles that place pods through an over-reserve cache."""
        found: set[str] = self.handle.shared(_PROFILES, set)
        return found

    def _start_over_reserve(self, cache: OverReserve) -> None:
        if self.args.cache.foreign_pods_detect != "None":
            self._profiles().add(self.handle.profile_name)
            for kind in (Pod, FinishedPod) if self._counts_finished else (Pod,):
                self.handle.watch(
                    kind,
                    added=cache.pod_changed,
                    updated=lambda _, new: cache.pod_changed(new),
                    deleted=cache.pod_changed,
                )
        self.handle.every(float(self.args.cache_resync_period_seconds), self._resync)

    async def _resync(self) -> None:
        assert isinstance(self._cache, OverReserve)
        self._cache.resync()

    def _changed(self, node_name: str) -> None:
        self._columns.changed(node_name)

    def _needs_of(self, pod: Pod) -> PodNeeds:
        # All points of a cycle ask for the same pod.
        if self._needs is None or self._needs[0] is not pod:
            self._needs = (pod, needs_of(pod))
        return self._needs[1]

    # Filter.

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """Refuse a node whose cells have no room for the pod."""
        needs = self._needs_of(pod)
        if not needs.aligned:
            return None
        cells, fresh = self._cache.get(node.name)
        if not fresh:
            return OUTDATED
        if cells is None:
            return None
        status = status_of(needs, align(needs, cells, _offered(node)))
        if status is not None:
            self._cache.refused(node.name)
        return status

    def filter_nodes(
        self, state: CycleState, pod: Pod, nodes: Nodes
    ) -> Iterator[tuple[Status, Mask]]:
        """Refuse nodes whose cells have no room for the pod."""
        needs = self._needs_of(pod)
        if not needs.aligned:
            return
        columns = self._columns
        slots = columns.slots_of(nodes)
        columns.update()
        outdated = columns.outdated.take(slots)
        if outdated.any():
            yield OUTDATED, outdated
        answers = columns.answer(
            ("filter", needs.key), lambda some: align_all(needs, columns, some)
        )
        codes = self._refuse_missing(needs, nodes, answers.take(slots), slots)
        refused = codes != FITS
        if not refused.any():
            return
        if self._cache.notes_refusals:
            names = nodes.names
            for position in np.flatnonzero(refused).tolist():
                self._cache.refused(names[position])
        masks: dict[Status, Mask] = {}
        for code in np.unique(codes[refused]).tolist():
            status = status_of(needs, code)
            assert status is not None
            mask = codes == code
            masks[status] = masks[status] | mask if status in masks else mask
        yield from masks.items()

    def _refuse_missing(self, needs: PodNeeds, nodes: Nodes, codes: Ints, slots: Any) -> Ints:
        """Refuse nodes that do not have a requested resource at all."""
        requests = [request for request, _ in needs.init]
        requests += needs.containers
        missing = _missing(needs.whole, nodes)
        if missing is None:
            return codes
        columns = self._columns
        aligns = columns.aligns.take(slots)
        whole = columns.whole_pods.take(slots)
        codes = np.where(aligns & whole & missing, POD_REFUSED, codes)
        for code, request in reversed(list(enumerate(requests, CONTAINER_REFUSED))):
            lacks = _missing(request, nodes)
            if lacks is not None:
                earlier = (codes == FITS) | (codes > code)
                codes = np.where(aligns & ~whole & lacks & earlier, code, codes)
        return codes

    # Score.

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """Score one node by its cells."""
        needs = self._needs_of(pod)
        if not needs.guaranteed:
            return MAX_NODE_SCORE
        cells, fresh = self._cache.get(node.name)
        if cells is None or not fresh:
            return 0
        return self._scores.one(cells, needs.whole, _containers(needs))

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores | int:
        """Score nodes by their cells; all get 100 if the pod is not Guaranteed."""
        needs = self._needs_of(pod)
        if not needs.guaranteed:
            return MAX_NODE_SCORE
        columns = self._columns
        slots = columns.slots_of(nodes)
        columns.update()
        containers = _containers(needs)
        answers = columns.answer(
            ("score", needs.key),
            lambda some: self._scores.many(columns, some, needs.whole, containers),
        )
        return answers.take(slots)

    # Reserve and what follows.

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Count what the pod requests on its node."""
        self._cache.reserve(node_name, pod)
        return None

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Give back what the pod requests."""
        self._cache.unreserve(node_name, pod)

    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Take note that the pod was bound."""
        self._cache.bound(node_name, pod)

    def events_to_register(self) -> list[ClusterEvent]:
        """Return deleted pods, and nodes and reports that are new or have changed."""
        return [
            ClusterEvent(EventResource.POD, ActionType.DELETE, _after_pod_deletion),
            ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE),
            ClusterEvent(TOPOLOGIES, ActionType.ADD | ActionType.UPDATE),
        ]


def _after_pod_deletion(pod: Pod, old: Pod | None, new: Pod | None) -> QueueingHint:
    placed = old is not None and bool(old.spec.node_name)
    return QueueingHint.QUEUE if placed else QueueingHint.SKIP


def _containers(needs: PodNeeds) -> list[dict[str, int]]:
    return [*(request for request, _ in needs.init), *needs.containers]


class _Offered:
    """The resources that a node has as a whole."""

    def __init__(self, node: NodeInfo) -> None:
        self._allocatable = node.allocatable

    def __contains__(self, resource: object) -> bool:
        return isinstance(resource, str) and _offers(self._allocatable, resource)


def _offered(node: NodeInfo) -> _Offered:
    return _Offered(node)


def _offers(allocatable: dict[str, int], resource: str) -> bool:
    if resource in _ALWAYS_OFFERED:
        return True
    return is_scalar_resource(resource) and resource in allocatable


def _missing(request: dict[str, int], nodes: Nodes) -> Mask | None:
    """Return which nodes lack a requested resource; None if none does."""
    found: Mask | None = None
    for resource, amount in request.items():
        if amount == 0 or resource in _ALWAYS_OFFERED:
            continue
        key = ("NodeResourceTopologyMatch", resource)
        lacks = nodes.gather(nodes.derive(key, partial(_lacking, resource)))
        if lacks.any():
            found = lacks if found is None else found | lacks
    return found


def _lacking(resource: str, nodes: Nodes) -> Mask:
    found = [not _offers(info.allocatable, resource) for info in nodes.infos()]
    return np.array(found, dtype=np.bool_)
