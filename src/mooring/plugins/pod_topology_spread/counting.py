"""Counting the pods that match a constraint, per node and per domain."""

# kube-scheduler: plugins/podtopologyspread/common.go (countPodsMatchSelector)

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mooring.api import Pod
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.plugins.pod_topology_spread.inclusion import Included
from mooring.plugins.pod_topology_spread.spread_constraints import SpreadConstraint
from mooring.plugins.topology import TopologyDomains


def pods_per_row(constraint: SpreadConstraint, pod: Pod, nodes: Nodes) -> npt.NDArray[np.int32]:
    """Count the matching pods on every node of the full snapshot.

    Terminating pods do not count, and an empty selector matches none.
    """
    everything = nodes.all
    if constraint.selector.empty:
        return np.zeros(len(everything), dtype=np.int32)
    namespace = frozenset((pod.metadata.namespace,))
    return everything.pods_matching(namespace, constraint.selector, terminating=False)


def pods_on(constraint: SpreadConstraint, pod: Pod, node: NodeInfo) -> int:
    """Count the matching pods on one node."""
    selector = constraint.selector
    if selector.empty:
        return 0
    namespace = pod.metadata.namespace
    return sum(
        1
        for info in node.pods.values()
        if info.pod.metadata.deletion_timestamp is None
        and info.pod.metadata.namespace == namespace
        and selector.matches(info.pod.metadata.labels)
    )


def count_domains(
    constraint: SpreadConstraint, included: Included, pod: Pod, nodes: Nodes
) -> TopologyDomains:
    """Count the matching pods in every domain, on the included nodes."""
    counts = pods_per_row(constraint, pod, nodes)
    if included.rows is not None:
        counts = np.multiply(counts, included.rows)
    return TopologyDomains.count(nodes, constraint.topology_key, counts)
