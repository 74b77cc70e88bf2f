"""LowRiskOverCommitment: avoid nodes on which limits and load make overuse likely."""

# scheduler-plugins: pkg/trimaran/lowriskovercommitment/lowriskovercommitment.go

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import force_setattr

from mooring import MAX_NODE_SCORE, CycleState, Handle, Nodes, Status
from mooring.api import Pod
from mooring.api.go_numbers import round_half_away as round_one
from mooring.contrib.load import LoadArgs
from mooring.contrib.load.load_plugin import LoadPlugin
from mooring.contrib.load.measurements import CPU, MEMORY
from mooring.contrib.load.pod_amounts import PodAmounts
from mooring.contrib.low_risk_over_commitment.node_risks import Amounts, NodeRisks
from mooring.contrib.score_ranges import round_half_away, to_int64
from mooring.framework.nodes import Rows
from mooring.typing import Floats, Scores

DEFAULT_WINDOW = 5
DEFAULT_WEIGHT = 0.5

#: The resources that count: their names, and their types in measurements.
RESOURCES = (("cpu", CPU), ("memory", MEMORY))

#: Scores that are kept, for different pods.
_KEPT = 64
#: Up to this many nodes, one at a time is faster.
_FEW = 8


class LowRiskOverCommitment(LoadPlugin):
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
        self._weights: list[float] = [weights.get(name, DEFAULT_WEIGHT) for name, _ in RESOURCES]
        self._risks = NodeRisks(math.sqrt(self.args.smoothing_window_size))
        #: Scores of all nodes by what a pod requests and may use, and the changes they include.
        self._kept: dict[Amounts, tuple[Scores, int]] = {}
        self._kept_at = -1

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Compute what the pod requests and may use."""
        state.write(self.name, self._risks.amounts_of(pod))
        return None

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores | int:
        """Score by the larger risk of cpu and memory."""
        requests, limits = state.get(self.name) or self._risks.amounts_of(pod)
        if not (requests.cpu or requests.memory or limits.cpu or limits.memory):
            return 0
        newest = self.load.newest
        if newest is None:
            return 0
        self._risks.of(newest, nodes)
        return nodes.gather(self._remembered(requests, limits))

    def _remembered(self, requests: PodAmounts, limits: PodAmounts) -> Scores:
        """Return the scores of all nodes; only those that have changed are computed again."""
        risks = self._risks
        if self._kept_at != risks.version or len(self._kept) > _KEPT:
            self._kept_at = risks.version
            self._kept.clear()
        kept = self._kept.get((requests, limits))
        if kept is None:
            every = np.arange(len(risks.measured), dtype=np.intp)
            scores = self._score(every, requests, limits)
        else:
            scores, seen = kept
            if seen == len(risks.log):
                return scores
            changed = risks.log[seen:]
            if len(changed) <= _FEW:
                for row in changed:
                    scores[row] = self._score_one(row, requests, limits)
            else:
                rows = np.array(changed, dtype=np.intp)
                scores[rows] = self._score(rows, requests, limits)
        self._kept[requests, limits] = (scores, len(risks.log))
        return scores

    def _score(self, rows: Rows, requests: PodAmounts, limits: PodAmounts) -> Scores:
        cpu = self._risk(rows, 0, requests.cpu, limits.cpu)
        memory = self._risk(rows, 1, requests.memory, limits.memory)
        rank = 1 - np.maximum(cpu, memory)
        scores = to_int64(round_half_away(rank * float(MAX_NODE_SCORE)))
        return np.where(self._risks.measured[rows], scores, 0)

    def _score_one(self, row: int, requests: PodAmounts, limits: PodAmounts) -> int:
        """Return what `_score` does for one node, with the same operations."""
        if not self._risks.measured[row]:
            return 0
        cpu = self._risk_one(row, 0, requests.cpu, limits.cpu)
        memory = self._risk_one(row, 1, requests.memory, limits.memory)
        return round_one((1 - max(cpu, memory)) * float(MAX_NODE_SCORE))

    def _risk_one(self, row: int, index: int, request: int, limit: int) -> float:
        risks = self._risks
        capacity = int(risks.capacity[index, row])
        limited = int(risks.limits[index, row]) + limit
        by_limit = 0.0
        if limited > capacity:
            requested = min(int(risks.requests[index, row]) + request, capacity)
            by_limit = (limited - capacity) / (limited - requested)
        weight = self._weights[index]
        risk = weight * by_limit + (1 - weight) * float(risks.by_load[index, row])
        return min(max(risk, 0.0), 1.0)

    def _risk(self, rows: Rows, index: int, request: int, limit: int) -> Floats:
        """Return the risk of one resource on some nodes."""
        risks = self._risks
        capacity = risks.capacity[index][rows]
        requested = np.minimum(risks.requests[index][rows] + request, capacity)
        limited = risks.limits[index][rows] + limit
        beyond = limited - capacity
        exceeds = beyond > 0
        span = np.where(exceeds, limited - requested, 1)
        by_limit = np.where(exceeds, beyond / span, 0.0)
        weight = self._weights[index]
        risk: Floats = weight * by_limit + (1 - weight) * risks.by_load[index][rows]
        return np.clip(risk, 0.0, 1.0)
