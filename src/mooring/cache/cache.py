"""Cache: the scheduler's view of the cluster, including the pods it has just placed.

A pod is *assumed* on its node as soon as a node is chosen, before the API server knows; the next
cycle sees it there. Later the informer confirms the pod or, after a failure, it is forgotten.

# kube-scheduler: backend/cache/cache.go, backend/cache/snapshot.go
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from mooring.api import Node, Pod
from mooring.cache.counters import Counters
from mooring.cache.image_index import ImageStates
from mooring.cache.node_tree import NodeTree
from mooring.cache.pod_index import PodIndex
from mooring.errors import MooringError
from mooring.framework.columns import Columns
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes, Rows
from mooring.framework.pod_groups import PodGroups
from mooring.framework.pod_info import PodInfo, PodInfos, counts_alike
from mooring.observe.series import Gauge


class CacheError(MooringError):
    """A change that contradicts the content of the cache: a bug in the caller."""


class Cache:
    """Nodes, pods and assumed pods as columns and counters. Owned by the scheduling loop.

    Pods on a node without a Node object are remembered and counted when the node is added.
    """

    def __init__(self, pod_infos: PodInfos, pod_groups: PodGroups | None = None) -> None:
        """Make an empty cache; it records in `pod_groups` which pods of groups have a node."""
        self._pod_infos = pod_infos
        self._pod_groups = pod_groups
        self._columns = Columns()
        self._images = ImageStates(self._columns)
        self._index = PodIndex()
        #: The counters behind the answers of `nodes`.
        self.counters = Counters(self._row_of, self._index)
        self._tree = NodeTree()
        self._order: Rows | None = None
        #: Every pod with a node name, by uid.
        self._pods: dict[str, PodInfo] = {}
        self._assumed: set[str] = set()
        #: Pods on nodes without a Node object, by node name and uid.
        self._orphans: dict[str, dict[str, PodInfo]] = {}
        #: The snapshot: all nodes in their current state, which changes only between cycles.
        self.nodes = Nodes(self._columns, self.counters, self._images)

    def _row_of(self, info: PodInfo) -> int:
        return self._columns.rows[info.pod.spec.node_name]

    # Nodes.

    def add_node(self, node: Node) -> None:
        """Add a node, or replace the one with the same name."""
        name = node.metadata.name
        if name in self._columns.rows:
            self.update_node(node)
            return
        info = NodeInfo(node)
        self._columns.add(info)
        self.counters.set_size(self._columns.size)
        self._images.add_node(info)
        self._tree.add(node)
        self._order = None
        for pod in self._orphans.pop(name, {}).values():
            self._count_in(pod)

    def update_node(self, node: Node) -> None:
        """Replace a node object; an unknown node is added."""
        row = self._columns.rows.get(node.metadata.name)
        if row is None:
            self.add_node(node)
            return
        info = self._columns.infos[row]
        same_images = info.node.status.images == node.status.images
        info.set_node(node)
        self._columns.write_node(row)
        if not same_images:
            self._images.remove_node(info.name)
            self._images.add_node(info)
        self._tree.update(node)
        self._order = None

    def remove_node(self, name: str) -> None:
        """Remove a node; its pods are remembered in case it comes back."""
        row = self._columns.rows.get(name)
        if row is None:
            raise CacheError(f"node {name} is not in the cache")
        info = self._columns.infos[row]
        pods = list(info.pods.values())
        for pod in pods:
            self._count_out(pod)
        self._images.remove_node(name)
        self._tree.remove(name)
        self._order = None
        last = self._columns.remove(row)
        if last != row:
            self.counters.move_row(last, row)
        self.counters.set_size(self._columns.size)
        if pods:
            self._orphans[name] = {pod.uid: pod for pod in pods}

    def node_order(self) -> Rows:
        """Return all rows in kube-scheduler's order: round-robin over the zones."""
        if self._order is None:
            rows = self._columns.rows
            self._order = np.array([rows[name] for name in self._tree.names()], dtype=np.intp)
        return self._order

    def arrange_nodes(self, zones: Iterable[Sequence[str]]) -> None:
        """Set the order in which a search goes through the nodes: names by zone.

        For a cache that is built from a record of another one: the order of a tree depends on its
        history.
        """
        self._tree.arrange(zones)
        self._order = None

    def node_zones(self) -> list[list[str]]:
        """Return the names of the nodes by zone, from which `node_order` follows."""
        return self._tree.zones()

    # Pods.

    def add_pod(self, pod: Pod) -> None:
        """Add a pod that has a node; if it was assumed, it is confirmed."""
        known = self._pods.get(pod.metadata.uid)
        if known is not None:
            if counts_alike(known.pod, pod):
                # Usually an assumed pod that the API server has bound.
                self._assumed.discard(known.uid)
                self._renew(known, pod)
                return
            self._take_out(known)
        self._put_in(self._info(pod))

    def update_pod(self, pod: Pod) -> None:
        """Replace a pod object; an unknown pod is added."""
        self.add_pod(pod)

    def remove_pod(self, uid: str) -> None:
        """Remove a pod; an unknown pod is ignored, because a deletion can be reported twice."""
        info = self._pods.get(uid)
        if info is not None:
            self._take_out(info)

    def assume_pod(self, pod: Pod, node_name: str) -> Pod:
        """Count a pod on a node before the API server knows; return it with the node name set."""
        uid = pod.metadata.uid
        if uid in self._pods:
            raise CacheError(f"pod {pod.key} ({uid}) is in the cache, so can't be assumed")
        info = self._pod_infos.placed(pod, node_name)
        self._put_in(info)
        self._assumed.add(uid)
        return info.pod

    def forget_pod(self, uid: str) -> None:
        """Remove an assumed pod; raise CacheError if the pod was not assumed."""
        if uid not in self._assumed:
            raise CacheError(f"pod {uid} was not assumed, so can't be forgotten")
        self._take_out(self._pods[uid])

    def lift_pod(self, info: PodInfo) -> None:
        """Count a pod off its node for a trial; it stays known, and `lower_pod` ends the trial."""
        self._count_out(info)

    def lower_pod(self, info: PodInfo) -> None:
        """Count a pod on its node again that `lift_pod` has counted off."""
        self._count_in(info)

    @contextmanager
    def without_pod(self, uid: str) -> Iterator[None]:
        """Count a pod off its node meanwhile, if it has one; all is as before afterwards."""
        info = self._pods.get(uid)
        node = None if info is None else self.nodes.find(info.pod.spec.node_name)
        if info is None or node is None:
            yield
            return
        order = list(node.pods)
        self.lift_pod(info)
        try:
            yield
        finally:
            self.lower_pod(info)
            # The order of a node's pods decides between equal victims of a preemption.
            node.pods = {uid: node.pods[uid] for uid in order}

    def is_assumed(self, uid: str) -> bool:
        """Return whether a pod is assumed and not yet confirmed."""
        return uid in self._assumed

    def pod(self, uid: str) -> PodInfo | None:
        """Return a pod that has a node, or None."""
        return self._pods.get(uid)

    @property
    def assumed(self) -> Collection[str]:
        """Return the uids of assumed pods."""
        return self._assumed

    @property
    def pods(self) -> Collection[PodInfo]:
        """Return every pod that has a node."""
        return self._pods.values()

    def _info(self, pod: Pod) -> PodInfo:
        if not pod.spec.node_name:
            raise CacheError(f"pod {pod.key} has no node")
        return self._pod_infos.of(pod)

    def _put_in(self, info: PodInfo) -> None:
        self._pods[info.uid] = info
        if self._pod_groups is not None and info.pod.spec.scheduling_group is not None:
            self._pod_groups.place(info)
        if info.pod.spec.node_name in self._columns.rows:
            self._count_in(info)
        else:
            self._orphans.setdefault(info.pod.spec.node_name, {})[info.uid] = info

    def _take_out(self, info: PodInfo) -> None:
        del self._pods[info.uid]
        self._assumed.discard(info.uid)
        if self._pod_groups is not None and info.pod.spec.scheduling_group is not None:
            self._pod_groups.displace(info)
        name = info.pod.spec.node_name
        if name in self._columns.rows:
            self._count_out(info)
        else:
            orphans = self._orphans[name]
            del orphans[info.uid]
            if not orphans:
                del self._orphans[name]

    def _count_in(self, info: PodInfo) -> None:
        row = self._row_of(info)
        self._columns.infos[row].add_pod(info)
        self._columns.write_pod_change(row, info.requests, bool(info.host_ports))
        self._index.add(info)
        self.counters.add_pod(info, row)

    def _count_out(self, info: PodInfo) -> None:
        row = self._row_of(info)
        node = self._columns.infos[row]
        node.remove_pod(info.uid)
        if info.host_ports:
            node.recount_ports()
        self._columns.write_pod_change(row, info.requests, bool(info.host_ports))
        self._index.remove(info)
        self.counters.remove_pod(info, row)

    def _renew(self, info: PodInfo, pod: Pod) -> None:
        """Replace a pod by one with the same requests; recount it if selectors see a difference."""
        row = self._columns.rows.get(pod.spec.node_name)
        old = info.pod
        info.pod = pod
        if row is not None and old.metadata.labels != pod.metadata.labels:
            self._index.relabel(info, old.metadata.labels)
            self.counters.relabel_pod(old, pod, row)
            self._columns.relabel(row)

    def show_sizes(self, gauges: Mapping[str, Gauge]) -> None:
        """Let gauges show how many nodes, pods and assumed pods there are."""
        gauges["assumed_pods"].set_function(lambda: len(self._assumed))
        gauges["pods"].set_function(lambda: len(self._pods))
        gauges["nodes"].set_function(lambda: len(self.nodes))

    def validate(self) -> None:
        """Compare columns, counters and indexes with a naive recount; raise AssertionError if they
        differ."""
        from mooring.cache.recount import check

        check(self._columns, self.counters, self._images, self._index, self._pods)
        assert self._assumed <= self._pods.keys(), "an assumed pod is not among the pods"
        for name, orphans in self._orphans.items():
            assert name not in self._columns.rows, f"node {name} is known but has orphans"
            assert orphans, f"empty orphans of node {name}"
        assert sorted(self._tree.names()) == sorted(self._columns.names), "node tree differs"
