"""The over-reserve cache: what pods request is taken from every cell of their node.

Nobody knows which cell the kubelet will choose, so a reserved pod counts on all of them: that can
leave a node out that has room, but never overcommits a cell. When a node has refused a pod, or runs
pods of other schedulers, the next resync compares the fingerprint in the newest report with the
pods that are known on the node; if they are equal, the report shows them all, and replaces what was
counted for them. Pods that do not run yet, which no report can show, still count.
"""

# scheduler-plugins: pkg/noderesourcetopology/cache/overreserve.go, store.go, foreign_pods.go,
# attr_watch.go

from __future__ import annotations

from msgspec.structs import replace

from mooring.api import NodeResourceTopology, Pod
from mooring.api.names import is_native_resource
from mooring.api.pod_qos import GUARANTEED, qos_class
from mooring.api.quantity import NANOS
from mooring.contrib.node_resource_topology.args import TopologyCacheArgs
from mooring.contrib.node_resource_topology.caches import Changed, read_and_report
from mooring.contrib.node_resource_topology.cells import (
    Amounts,
    Cell,
    NodeCells,
    amounts_of,
    effective_request,
    is_affine,
    topology_manager,
)
from mooring.contrib.node_resource_topology.fingerprint import (
    ANNOTATION,
    ATTRIBUTE,
    EXCLUSIVE_METHOD,
    METHOD_ATTRIBUTE,
    fingerprint,
)
from mooring.framework.listers import Lister

_POD_INDEX = "NodeResourceTopologyMatch/node"


class OverReserve:
    """Reports, less what pods that were placed since request. Owned by the plugin."""

    notes_refusals = True

    def __init__(
        self,
        args: TopologyCacheArgs,
        changed: Changed,
        topologies: Lister[NodeResourceTopology],
        pods: Lister[Pod],
        finished: Lister[Pod] | None,
        own_profiles: set[str],
    ) -> None:
        self._args = args
        self._changed = changed
        self._topologies = topologies
        self._pods = pods
        #: Pods that have finished, which a fingerprint may cover; None if they do not count.
        self._finished = finished
        for lister in (pods, finished):
            if lister is not None:
                lister.add_index(_POD_INDEX, lambda pod: filter(None, [pod.spec.node_name]))
        #: The profiles that place pods through such a cache.
        self._own_profiles = own_profiles
        #: The report of each node that counts, and its cells.
        self._reports: dict[str, tuple[NodeResourceTopology, NodeCells]] = {}
        #: By node and "namespace/name": what pods request that were placed since the report.
        self._assumed: dict[str, dict[str, Amounts]] = {}
        #: Nodes that refused a pod since one was placed there; that run pods of other schedulers;
        #: whose kubelet is configured differently now.
        self._refused: set[str] = set()
        self._foreign: set[str] = set()
        self._reconfigured: set[str] = set()

    # What happens in the cluster.

    def put(self, topology: NodeResourceTopology) -> None:
        """Take in the first report of a node; later ones count after a resync only."""
        name = topology.metadata.name
        known = self._reports.get(name)
        if known is None:
            self._take(topology)
            return
        if self._args.resync_scope == "All" and topology_manager(topology) != known[1].manager:
            self._reconfigured.add(name)

    def remove(self, topology: NodeResourceTopology) -> None:
        """Keep what is known: the agent on the node may just have been restarted."""

    def pod_changed(self, pod: Pod) -> None:
        """Take note of a pod that another scheduler has placed."""
        name = pod.spec.node_name
        if not name or pod.spec.scheduler_name in self._own_profiles:
            return
        if self._args.foreign_pods_detect == "OnlyExclusiveResources" and not is_exclusive(pod):
            return
        if name not in self._foreign:
            self._foreign.add(name)
            self._changed(name)

    # What the plugin asks and does.

    def get(self, node_name: str) -> tuple[NodeCells | None, bool]:
        """Return the cells of a node less what was reserved; outdated if it has foreign pods."""
        report = self._reports.get(node_name)
        if report is None:
            return None, True
        if node_name in self._foreign:
            return None, False
        assumed = self._assumed.get(node_name)
        if not assumed:
            return report[1], True
        taken: Amounts = {}
        for request in assumed.values():
            for resource, amount in request.items():
                taken[resource] = taken.get(resource, 0) + amount
        cells = [
            Cell(cell.id, _less(cell.available, taken), cell.costs) for cell in report[1].cells
        ]
        return replace(report[1], cells=cells), True

    def refused(self, node_name: str) -> None:
        """Take note that a node may have been counted too full."""
        self._refused.add(node_name)

    def reserve(self, node_name: str, pod: Pod) -> None:
        """Take what a pod requests from every cell of its node."""
        self._assumed.setdefault(node_name, {})[pod.key] = effective_request(pod)
        self._refused.discard(node_name)
        self._changed(node_name)

    def unreserve(self, node_name: str, pod: Pod) -> None:
        """Give back what a pod requests."""
        if self._assumed.get(node_name, {}).pop(pod.key, None) is not None:
            self._changed(node_name)

    def bound(self, node_name: str, pod: Pod) -> None:
        """Do nothing: the pod counts until a report shows it."""

    def resync(self) -> None:
        """Take over the newest reports that show exactly the pods that are known."""
        due = self._foreign & self._reports.keys() | self._refused
        taken = [self._shown(name) for name in sorted(due)]
        taken += [self._topologies.get(name) for name in sorted(self._reconfigured)]
        for topology in taken:
            if topology is not None:
                self._take(topology)

    def _shown(self, node_name: str) -> NodeResourceTopology | None:
        """Return the newest report of a node if its fingerprint covers the node's pods."""
        topology = self._topologies.get(node_name)
        pods = self._pods_of(node_name)
        if topology is None or not pods:
            return None
        wanted, only_exclusive = self._fingerprint(topology)
        shown = (pod for pod in pods if not only_exclusive or is_exclusive(pod))
        found = fingerprint((pod.metadata.namespace, pod.metadata.name) for pod in shown)
        return topology if wanted == found else None

    def _pods_of(self, node_name: str) -> list[Pod]:
        """Return the pods of a node that a fingerprint covers."""
        pods = [pod for pod in self._pods.by_index(_POD_INDEX, node_name) if self._counts(pod)]
        if self._finished is not None:
            # Two watches: one that has just finished may still be among the others.
            known = {pod.key for pod in pods}
            pods += (
                pod
                for pod in self._finished.by_index(_POD_INDEX, node_name)
                if pod.key not in known
            )
        return pods

    def _counts(self, pod: Pod) -> bool:
        if self._args.informer_mode == "Shared":
            return pod.status.phase == "Running"
        return pod.status.phase != "Pending"

    def _is_on_its_way(self, key: str) -> bool:
        """Return whether no report can show a pod yet: it is not bound, or does not run."""
        namespace, _, name = key.partition("/")
        pod = self._pods.get(name, namespace)
        return pod is not None and not (pod.spec.node_name and self._counts(pod))

    def _fingerprint(self, topology: NodeResourceTopology) -> tuple[str, bool]:
        """Return the fingerprint in a report, and whether it covers exclusive resources only."""
        found = topology.attribute(ATTRIBUTE)
        if found is None:
            return topology.metadata.annotations.get(ANNOTATION, ""), False
        method = self._args.resync_method
        if method == "Autodetect":
            return found, topology.attribute(METHOD_ATTRIBUTE) == EXCLUSIVE_METHOD
        return found, method == "OnlyExclusiveResources"

    def _take(self, topology: NodeResourceTopology) -> None:
        """Take over a report, and forget what was counted for the pods that it shows."""
        name = topology.metadata.name
        known = name in self._reports
        self._reports[name] = (topology, read_and_report(topology))
        if known:
            assumed = self._assumed.pop(name, {})
            self._assumed[name] = {
                key: request for key, request in assumed.items() if self._is_on_its_way(key)
            }
            self._refused.discard(name)
            self._foreign.discard(name)
            self._reconfigured.discard(name)
        self._changed(name)


def _less(available: Amounts, taken: Amounts) -> Amounts:
    return {
        resource: max(amount - taken[resource], 0) if resource in taken else amount
        for resource, amount in available.items()
    }


def is_exclusive(pod: Pod) -> bool:
    """Return whether a container of a pod has a cpu, memory or device for itself."""
    # scheduler-plugins: pkg/noderesourcetopology/resourcerequests/exclusive.go
    guaranteed = qos_class(pod) == GUARANTEED
    return any(
        _is_exclusive(guaranteed, resource, amount)
        for container in (*pod.spec.init_containers, *pod.spec.containers)
        for resource, amount in amounts_of(container.resources.requests).items()
    )


def _is_exclusive(guaranteed: bool, resource: str, amount: int) -> bool:
    if not is_native_resource(resource):
        return True
    if not guaranteed or amount <= 0 or not is_affine(resource):
        return False
    # A whole number of cpus is exclusive; up to a thousandth, as it is counted.
    return resource != "cpu" or -(-amount // (NANOS // 1000)) % 1000 == 0
