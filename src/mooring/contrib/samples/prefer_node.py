"""PreferNode in its full form: Filter, Score and NormalizeScore."""

from __future__ import annotations

import logging

import msgspec

from mooring import MAX_NODE_SCORE, CycleState, NodeInfo, Nodes, Plugin, Status
from mooring.api import Pod, ResourceList, milli_value, value
from mooring.typing import Scores

log = logging.getLogger(__name__)

# The levels of messages that are logged with --v=3, 4 and 5.
_V3, _V4, _V5 = (logging.INFO - v for v in (3, 4, 5))

UNSCHEDULABLE = Status.unschedulable("node is unschedulable")
INSUFFICIENT_CPU = Status.unschedulable("Insufficient CPU")
INSUFFICIENT_MEMORY = Status.unschedulable("Insufficient Memory")
INSUFFICIENT_LABEL = Status.unschedulable("Insufficient Label")

ROLE_LABEL = "kubernetes.io/role"

#: The assumed requests of a pod that has none: 100m and 256Mi.
DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY = 256 * 1024 * 1024

_RESOURCE_POINTS = 40
_LABEL_POINTS = 10


class PreferNode(Plugin):
    """A plugin that prefers one node among those that are large enough and have the labels."""

    name = "PreferNode"

    class Args(msgspec.Struct, frozen=True):
        """The name of the preferred node."""

        node: str = "minikube-m03"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """Refuse a node that is cordoned, too small, or without a label the pod selects."""
        log.log(_V4, "prefernode filter pod %s:%s", pod.key, node.name)
        if node.unschedulable:
            return UNSCHEDULABLE
        cpu, memory = _requests(pod)
        if node.allocatable.get("cpu", 0) < cpu:
            return INSUFFICIENT_CPU
        if node.allocatable.get("memory", 0) < memory:
            return INSUFFICIENT_MEMORY
        for key, wanted in pod.spec.node_selector.items():
            if node.labels.get(key) != wanted:
                return INSUFFICIENT_LABEL
        log.log(_V4, "Node %s passed all filters for pod %s", node.name, pod.key)
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """Add up points for cpu, memory, the worker's role and the preferred node."""
        log.log(_V4, "Scoring pod %s on node %s", pod.key, node.name)
        has, offers = node.node.status.capacity, node.node.status.allocatable
        cpu = _points(_milli(has, "cpu"), _milli(offers, "cpu"))
        memory = _points(_whole(has, "memory"), _whole(offers, "memory"))
        labels = _LABEL_POINTS if node.labels.get(ROLE_LABEL) == "worker" else 0
        labels += _LABEL_POINTS if node.name == self.args.node else 0
        score = cpu + memory + labels
        log.log(
            _V3,
            "Score for pod %s on node %s: %d (CPU: %d, Memory: %d, Labels: %d)",
            *(pod.key, node.name, score, cpu, memory, labels),
        )
        return score

    def normalize_score(self, state: CycleState, pod: Pod, scores: Scores, nodes: Nodes) -> Scores:
        """Scale the scores to the range 0 to 100; if all are equal, leave them."""
        lowest, highest = int(scores.min()), int(scores.max())
        log.log(_V4, "Score range for pod %s: [%d, %d]", pod.key, lowest, highest)
        if lowest == highest:
            log.log(_V4, "No need to normalize scores as all nodes have the same score")
            return scores
        normalized = MAX_NODE_SCORE * (scores - lowest) // (highest - lowest)
        named = list(zip(nodes.names, normalized.tolist(), strict=True))
        for name, score in named:
            log.log(_V4, "Normalized score for node %s:%d", name, score)
        log.log(_V3, "Final scores for pod %s", pod.key)
        ranked = sorted(named, key=lambda one: one[1], reverse=True)
        for rank, (name, score) in enumerate(ranked, start=1):
            log.log(_V5, "@@@ %d. Node %s: %d", rank, name, score)
        return normalized


def _requests(pod: Pod) -> tuple[int, int]:
    """Return the cpu, in thousandths, and the memory that the containers request."""
    asked = [container.resources.requests for container in pod.spec.containers]
    cpu = sum(_milli(requests, "cpu") for requests in asked)
    memory = sum(_whole(requests, "memory") for requests in asked)
    return cpu or DEFAULT_MILLI_CPU, memory or DEFAULT_MEMORY


def _points(capacity: int, allocatable: int) -> int:
    """Return up to 40 points: more if a larger share of the capacity is allocatable."""
    used = (capacity - allocatable) / capacity if capacity > 0 else 0.0
    return int((1 - used) * _RESOURCE_POINTS)


def _milli(amounts: ResourceList, resource: str) -> int:
    return milli_value(amounts.get(resource, "0"))


def _whole(amounts: ResourceList, resource: str) -> int:
    return value(amounts.get(resource, "0"))
