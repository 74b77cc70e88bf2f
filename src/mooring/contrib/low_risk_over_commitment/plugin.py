"""LowRiskOverCommitment: avoid nodes on which limits and load make overuse likely."""

# scheduler-plugins: pkg/trimaran/lowriskovercommitment/lowriskovercommitment.go

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import force_setattr

from mooring import MAX_NODE_SCORE, CycleState, Handle, NodeInfo, Nodes, Plugin, Status
from mooring.api import Pod
from mooring.contrib.load import LoadArgs, LoadSource
from mooring.contrib.load.measurements import CPU, MEMORY
from mooring.contrib.load.pod_amounts import PodAmounts, pod_limits_of, pod_requests_of
from mooring.contrib.low_risk_over_commitment.node_risks import NodeRisks
from mooring.contrib.score_ranges import round_half_away, to_int64
from mooring.typing import Floats, Scores

DEFAULT_WINDOW = 5
DEFAULT_WEIGHT = 0.5

#: The resources that count: their names, and their types in measurements.
RESOURCES = (("cpu", CPU), ("memory", MEMORY))

Amounts = tuple[PodAmounts, PodAmounts]


class LowRiskOverCommitment(Plugin):
    """The plugin that avoids nodes on which overuse is likely.

    Choose it if limits are higher than requests, so that nodes are overcommitted. The risk of a
    node comes from its pods' limits beyond its capacity, and from how likely its measured load
    exceeds what its pods request. Pods without requests and limits score 0 everywhere, and so does
    a node that was not measured.
    """

    name = "LowRiskOverCommitment"

    class Args(LoadArgs, frozen=True, rename="camel", kw_only=True):
        """How measurements were smoothed, and how much limits count beside load."""

        #: 0 or less stands for 5.
        smoothing_window_size: int = DEFAULT_WINDOW
        #: By resource, from 0 to 1; others, and missing ones, stand for 0.5.
        risk_limit_weights: dict[str, float] = msgspec.field(default_factory=dict)

        def __post_init__(self) -> None:
            if self.smoothing_window_size <= 0:
                force_setattr(self, "smoothing_window_size", DEFAULT_WINDOW)
            given = self.risk_limit_weights or {name: DEFAULT_WEIGHT for name, _ in RESOURCES}
            force_setattr(
                self,
                "risk_limit_weights",
                {
                    name: weight if 0 <= weight <= 1 else DEFAULT_WEIGHT
                    for name, weight in given.items()
                },
            )

    def __init__(self, args: Any = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        weights = self.args.risk_limit_weights
        self._weights = [weights.get(name, DEFAULT_WEIGHT) for name, _ in RESOURCES]
        self._risks = NodeRisks(math.sqrt(self.args.smoothing_window_size))

    def start(self) -> None:
        """Begin to fetch measurements."""
        self.load = LoadSource(self.args, self.handle)
        self.load.start()

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Compute what the pod requests and may use."""
        state.write(self.name, _amounts(pod))
        return None

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores | int:
        """Score by the larger risk of cpu and memory."""
        requests, limits = state.get(self.name) or _amounts(pod)
        if not (requests.cpu or requests.memory or limits.cpu or limits.memory):
            return 0
        newest = self.load.newest
        if newest is None:
            return 0
        risks = self._risks.of(newest, nodes)
        pairs = ((requests.cpu, limits.cpu), (requests.memory, limits.memory))
        found = [
            self._risk(nodes, index, request, limit) for index, (request, limit) in enumerate(pairs)
        ]
        rank = 1 - np.maximum(found[0], found[1])
        scores = to_int64(round_half_away(rank * float(MAX_NODE_SCORE)))
        return np.where(nodes.gather(risks.measured), scores, 0)

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """Score one node."""
        rows = np.array([node.row], dtype=np.intp)
        scores = self.score_nodes(state, pod, self.handle.snapshot.select(rows))
        return scores if isinstance(scores, int) else int(scores[0])

    def _risk(self, nodes: Nodes, index: int, request: int, limit: int) -> Floats:
        """Return the risk of one resource on each node."""
        risks = self._risks
        capacity = nodes.gather(risks.capacity[index])
        requested = np.minimum(nodes.gather(risks.requests[index]) + request, capacity)
        limited = nodes.gather(risks.limits[index]) + limit
        beyond = limited - capacity
        exceeds = beyond > 0
        span = np.where(exceeds, limited - requested, 1)
        by_limit = np.where(exceeds, beyond / span, 0.0)
        weight = self._weights[index]
        risk: Floats = weight * by_limit + (1 - weight) * nodes.gather(risks.by_load[index])
        return np.clip(risk, 0.0, 1.0)


def _amounts(pod: Pod) -> Amounts:
    requests = pod_requests_of(pod)
    return requests, pod_limits_of(pod).at_least(requests)
