"""NodeResourcesBalancedAllocation: prefer nodes whose resources are used evenly."""

# kube-scheduler: plugins/noderesources/balanced_allocation.go

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from mooring.api import Pod
from mooring.framework.handle import Handle
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.plugin import MAX_NODE_SCORE, Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.args import NodeResourcesBalancedAllocationArgs
from mooring.plugins.dynamic_resources.device_classes import any_backed, backed_resources
from mooring.plugins.node_resources.allocation import (
    Floats,
    Share,
    allocated_floats,
    amounts_of,
    any_devices,
    capacity_of,
)
from mooring.plugins.node_resources.requested_amounts import PodRequests
from mooring.plugins.node_resources.scored_resources import ScoredResources
from mooring.typing import Ints

_STATE = "PreScoreNodeResourcesBalancedAllocation"
_HALF = MAX_NODE_SCORE // 2
#: Up to this many nodes, computing one by one is faster than with arrays.
_FEW = 8


class BalancedAllocation(Plugin):
    """The plugin that scores by how much a pod balances or unbalances a node's resource use."""

    name = "NodeResourcesBalancedAllocation"
    reads_pod_labels = False
    Args: ClassVar[type[msgspec.Struct] | None] = NodeResourcesBalancedAllocationArgs

    def __init__(self, args: Any = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        self._requests = PodRequests(self.handle)
        self._backed = backed_resources(handle)
        self._scored = ScoredResources(self.args.resources)

    def start(self) -> None:
        """Watch devices if they can back one of the resources."""
        self._scored.start(self.handle)

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Compute the shares; skip if the pod requests none of the resources."""
        shares = self._shares(pod, nodes)
        if shares is None:
            # Otherwise all pods without requests would go to the same node.
            return Status.skip()
        state.write(_STATE, shares)
        return None

    def _shares(self, pod: Pod, nodes: Nodes) -> tuple[Share, ...] | None:
        requests = self._requests.for_balance(pod)
        if not any(requests.get(resource.name, 0) for resource in self.args.resources):
            return None
        return self._scored.shares(requests, nodes)

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int | Status:
        """Score one node."""
        shares = state.get(_STATE) or self._shares(pod, self.handle.snapshot)
        if shares is None:
            return 0
        return _score_one(node, shares)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Ints | Status:
        """Score all nodes."""
        shares = state.get(_STATE) or self._shares(pod, self.handle.snapshot)
        if shares is None:
            return np.zeros(len(nodes), dtype=np.int64)
        if any_devices(shares):
            return _score(nodes, shares)
        kinds = nodes.kinds()
        few = kinds.few
        if few is not None:
            return kinds.spread(np.array([_score_one(node, shares) for node in few], np.int64))
        return kinds.spread(_score(kinds.nodes, shares))

    def sign_pod(self, pod: Pod) -> Hashable:
        """Sign by requests; a pod whose resources a DeviceClass backs cannot be signed."""
        requests = self._requests.for_balance(pod)
        return None if any_backed(requests, self._backed) else frozenset(requests.items())


def _score_one(node: NodeInfo, shares: Sequence[Share]) -> int:
    before: list[float] = []
    after: list[float] = []
    for share, whole, allocated in amounts_of(node, shares, non_zero=False):
        before.append(min(float(allocated) / float(whole), 1.0))
        after.append(min(float(allocated + share.request) / float(whole), 1.0))
    return _HALF + (_HALF + _balance(after) - _balance(before)) // 2


def _score(nodes: Nodes, shares: Sequence[Share]) -> Ints:
    if all(capacity_of(nodes, share).present is None for share in shares):
        return _score_alike(nodes, shares)
    # Nodes offer different resources; score those that offer the same ones together.
    pattern = np.zeros(len(nodes), dtype=np.int64)
    for bit, share in enumerate(shares):
        offered = nodes.gather(capacity_of(nodes, share).amounts) != 0
        pattern |= offered.astype(np.int64) << bit
    scores = np.zeros(len(nodes), dtype=np.int64)
    for found in np.unique(pattern).tolist():
        alike = pattern == found
        some = [share for bit, share in enumerate(shares) if found >> bit & 1]
        scores[alike] = _score_alike(nodes.where(alike), some)
    return scores


def _balance(fractions: Sequence[float]) -> int:
    """Return 100 if all fractions are equal, less the more they differ, and at least 50."""
    count = len(fractions)
    deviation = 0.0
    if count == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif count > 2:
        # Not sum(): from Python 3.12 on it compensates rounding, which Go and numpy do not.
        total = squares = 0.0
        for one in fractions:
            total += one
        mean = total / float(count)
        for one in fractions:
            squares += (one - mean) * (one - mean)
        deviation = math.sqrt(squares / float(count))
    return int((1 - deviation) * float(MAX_NODE_SCORE))


def _taken(node: NodeInfo, shares: Sequence[Share]) -> list[float]:
    """Return the fraction of each resource that is allocated, at most 1."""
    amounts = amounts_of(node, shares, non_zero=False)
    return [min(float(allocated) / float(whole), 1.0) for _, whole, allocated in amounts]


def _balance_nodes(fractions: Sequence[Floats]) -> Floats:
    """Do what `_balance` does for all nodes, with the same operations in the same order.

    The arrays may be overwritten.
    """
    count = len(fractions)
    if count == 2:
        deviation = np.subtract(fractions[0], fractions[1], out=fractions[0])
        deviation *= 0.5
        np.abs(deviation, out=deviation)
    else:
        mean = sum(fractions[1:], fractions[0]) / float(count)
        squares = [(one - mean) * (one - mean) for one in fractions]
        deviation = np.sqrt(sum(squares[1:], squares[0]) / float(count))
    np.subtract(1.0, deviation, out=deviation)
    deviation *= float(MAX_NODE_SCORE)
    return np.trunc(deviation, out=deviation)


def _capped(fractions: Floats) -> Floats:
    """Cap fractions at 1."""
    # Checking for a fraction above 1 takes half the time of capping, and few nodes have one.
    if fractions.max(initial=0.0) > 1.0:
        np.minimum(fractions, 1.0, out=fractions)
    return fractions


def _score_alike(nodes: Nodes, shares: Sequence[Share]) -> Ints:
    """Score nodes that all offer every resource of the shares."""
    if len(shares) < 2:
        return np.full(len(nodes), _HALF + _HALF // 2, dtype=np.int64)
    if any_devices(shares):
        before = _balance_before(nodes, shares)
    else:
        key = ("NodeResourcesBalancedAllocation", *(share.resource for share in shares))
        before = nodes.follow(key, lambda some: _balance_before(some, shares))
    fractions = []
    for share in shares:
        taken = allocated_floats(nodes, share, non_zero=False) + share.request
        taken /= _divisor(nodes, share)
        fractions.append(_capped(taken))
    change = _balance_nodes(fractions)
    change -= before
    # 50 + (50 + change) / 2, truncated.
    change *= 0.5
    change += _HALF + _HALF / 2
    return change.astype(np.int64)


def _divisor(nodes: Nodes, share: Share) -> Floats:
    return nodes.gather(capacity_of(nodes, share).divisor)


def _balance_before(nodes: Nodes, shares: Sequence[Share]) -> Floats:
    """Return the balance of nodes without the pod."""
    if len(nodes) <= _FEW:
        return np.array([_balance(_taken(info, shares)) for info in nodes.infos()], np.float64)
    return _balance_nodes(
        [
            _capped(allocated_floats(nodes, share, non_zero=False) / _divisor(nodes, share))
            for share in shares
        ]
    )
