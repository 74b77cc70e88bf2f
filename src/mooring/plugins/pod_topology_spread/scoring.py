"""The Score half: a node scores higher the fewer matching pods its domains have."""

# kube-scheduler: plugins/podtopologyspread/scoring.go

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mooring.api import Pod
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Column, Nodes
from mooring.framework.plugin import MAX_NODE_SCORE
from mooring.plugins.pod_topology_spread.counting import count_domains, pods_on, pods_per_row
from mooring.plugins.pod_topology_spread.inclusion import Inclusion
from mooring.plugins.pod_topology_spread.logarithm import log
from mooring.plugins.pod_topology_spread.spread_constraints import (
    HOSTNAME,
    Constraints,
    SpreadConstraint,
)
from mooring.plugins.topology import TopologyDomains
from mooring.typing import Ints, Mask

_Floats = npt.NDArray[np.float64]


class HostPart:
    """The score of one constraint over hosts, which counts a node's own pods."""

    __slots__ = ("constraint", "counts", "lacking", "weight")

    def __init__(
        self,
        constraint: SpreadConstraint,
        counts: npt.NDArray[np.int32],
        lacking: Mask | None,
        size: int,
    ) -> None:
        self.constraint = constraint
        #: Per row of the full snapshot.
        self.counts = counts
        #: Rows of the full snapshot without the label; None if there are none.
        self.lacking = lacking
        self.weight = log(size + 2)

    def score_nodes(self, nodes: Nodes) -> _Floats:
        """Score many nodes."""
        scores: _Floats = nodes.gather(self.counts) * np.float64(self.weight)
        scores += self.constraint.max_skew - 1
        if self.lacking is not None:
            scores[nodes.gather(self.lacking)] = 0
        return scores

    def score(self, pod: Pod, node: NodeInfo) -> float:
        """Score one node that has the label."""
        count = pods_on(self.constraint, pod, node)
        return count * self.weight + (self.constraint.max_skew - 1)


class DomainPart:
    """The score of one constraint over larger domains, which counts all pods of a domain."""

    __slots__ = ("column", "constraint", "table")

    def __init__(self, constraint: SpreadConstraint, domains: TopologyDomains, size: int) -> None:
        self.constraint = constraint
        self.column: Column[str] = domains.column
        #: Score by code of the topology key's column.
        self.table: _Floats = domains.sums * log(size + 2) + (constraint.max_skew - 1)
        self.table[0] = 0

    def score_nodes(self, nodes: Nodes) -> _Floats:
        """Score many nodes."""
        return self.table.take(nodes.label(self.constraint.topology_key).codes)

    def score(self, pod: Pod, node: NodeInfo) -> float:
        """Score one node that has the label."""
        code = self.column.code_of(node.labels[self.constraint.topology_key])
        return float(self.table[code])


class ScoreState:
    """What PreScore passes to Score and NormalizeScore. Immutable."""

    cycle_only = True
    __slots__ = ("_ignored", "_keys", "_lacking", "_parts")

    def __init__(
        self,
        parts: Sequence[HostPart | DomainPart],
        keys: tuple[str, ...],
        lacking: Mask | None,
        ignored: Mask | None,
    ) -> None:
        #: Empty if no feasible node is scored.
        self._parts = parts
        #: Labels that a node must have to be scored.
        self._keys = keys
        #: Rows of the full snapshot that lack one of the keys; None if none does.
        self._lacking = lacking
        #: Feasible nodes that lack one of the keys; None if none does.
        self._ignored = ignored

    @classmethod
    def count(
        cls,
        constraints: Constraints,
        pod: Pod,
        feasible: Nodes,
        inclusion: Inclusion,
        require_all: bool,
    ) -> ScoreState:
        """Count the pods of every domain that feasible nodes belong to.

        With `require_all`, nodes that lack the topology key of any constraint are not scored.
        """
        keys: tuple[str, ...] = ()
        if require_all:
            keys = tuple(constraint.topology_key for constraint in constraints)
        lacking = inclusion.lacking(feasible, keys)
        ignored: Mask | None = None
        if lacking is not None:
            ignored = feasible.gather(lacking)
            if not ignored.any():
                ignored = None
        scored = len(feasible) - (0 if ignored is None else int(np.count_nonzero(ignored)))
        parts: list[HostPart | DomainPart] = []
        if not scored:
            return cls(parts, keys, lacking, ignored)
        inclusions = inclusion.of_pod(feasible, pod, keys)
        for constraint in constraints:
            if constraint.topology_key == HOSTNAME:
                counts = pods_per_row(constraint, pod, feasible)
                nameless = inclusion.lacking(feasible, (HOSTNAME,))
                parts.append(HostPart(constraint, counts, nameless, scored))
                continue
            included = inclusions.of(constraint)
            domains = count_domains(constraint, included, pod, feasible)
            size = _size(constraint, domains, feasible, ignored)
            parts.append(DomainPart(constraint, domains, size))
        return cls(parts, keys, lacking, ignored)

    def score(self, pod: Pod, node: NodeInfo) -> int:
        """Score one node."""
        labels = node.labels
        if any(key not in labels for key in self._keys):
            return 0
        score = 0.0
        for part in self._parts:
            if part.constraint.topology_key in labels:
                score += part.score(pod, node)
        whole = int(score)
        return whole + (score - whole >= 0.5)

    def score_nodes(self, nodes: Nodes) -> Ints:
        """Score many nodes."""
        if not self._parts:
            return np.zeros(len(nodes), dtype=np.int64)
        first, *others = self._parts
        if not others and isinstance(first, DomainPart):
            column = nodes.label(first.constraint.topology_key)
            scores = _round(first.table).take(column.codes)
        else:
            total = first.score_nodes(nodes)
            for part in others:
                total += part.score_nodes(nodes)
            scores = _round(total)
        if self._lacking is not None:
            scores[nodes.gather(self._lacking)] = 0
        return scores

    def normalize(self, scores: Ints) -> Ints:
        """Turn counts into scores from 0 to 100: the highest count becomes the lowest score."""
        ignored = self._ignored
        judged = scores if ignored is None else scores[~ignored]
        if not len(judged):
            return np.zeros_like(scores)
        highest, lowest = int(judged.max()), int(judged.min())
        if highest == 0:
            normalized = np.full_like(scores, MAX_NODE_SCORE)
        else:
            # Integer division in float64 is exact here: the quotient is at most 100 and scores
            # (pods times a logarithm, plus maxSkew) stay far below 2**46.
            left = ((highest + lowest) - scores) * float(MAX_NODE_SCORE)
            left /= highest
            normalized = left.astype(np.int64)
        if ignored is not None:
            normalized[ignored] = 0
        return normalized


def _size(
    constraint: SpreadConstraint, domains: TopologyDomains, feasible: Nodes, ignored: Mask | None
) -> int:
    """Return the number of domains of the feasible nodes.

    kube-scheduler reads an absent label as an empty one. So nodes without the label form one
    domain with those whose label is empty; `domains` is changed accordingly.
    """
    key = constraint.topology_key
    if ignored is None and feasible.is_all:
        seen = feasible.derive(
            ("PodTopologySpread", key), lambda nodes: _seen(nodes.label(key).codes)
        )
    else:
        codes = feasible.label(key).codes
        seen = _seen(codes if ignored is None else codes[~ignored])
    size = int(np.count_nonzero(seen))
    empty = domains.column.code_of("")
    if empty > 0:
        domains.change("", int(domains.sums[0]))
        if seen[0] and empty < len(seen) and seen[empty]:
            size -= 1
    return size


def _seen(codes: npt.NDArray[np.int32]) -> npt.NDArray[np.intp]:
    """Return the number of nodes by code of their value."""
    return np.bincount(codes, minlength=1)


def _round(scores: _Floats) -> Ints:
    """Round halves up; scores are not negative."""
    whole = np.floor(scores)
    whole += scores - whole >= 0.5
    return whole.astype(np.int64)
