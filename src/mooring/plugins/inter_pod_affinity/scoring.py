"""The Score half: preferred terms of the pod, and terms of existing pods that match it."""

# kube-scheduler: plugins/interpodaffinity/scoring.go

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.plugin import MAX_NODE_SCORE
from mooring.plugins.topology import TopologyDomains
from mooring.typing import Ints

#: A topology key, pods per row of the full snapshot, and what they are worth together.
Weighed = tuple[str, npt.NDArray[np.integer[Any]], npt.NDArray[np.integer[Any]]]


class ScoreState:
    """The weight of every domain, which PreScore passes to Score. Immutable."""

    cycle_only = True
    __slots__ = ("_domains", "_tables")

    def __init__(self, domains: dict[str, TopologyDomains]) -> None:
        self._domains = domains
        self._tables: dict[str, Ints] = {}
        for key, worth in domains.items():
            table = worth.sums.astype(np.int64)
            table[0] = 0
            self._tables[key] = table

    @classmethod
    def weigh(cls, weighed: Sequence[Weighed], nodes: Nodes) -> ScoreState | None:
        """Add up the weights of pods per domain; return None if no pod is in any domain."""
        everything = nodes.all
        rows: dict[str, npt.NDArray[np.integer[Any]]] = {}
        for key, _, worth in weighed:
            rows[key] = rows[key] + worth if key in rows else worth
        domains = {
            key: TopologyDomains.count(everything, key, worth) for key, worth in rows.items()
        }
        if not any(worth.sums[1:].any() for worth in domains.values()) and not any(
            counts[everything.has_label(key)].any() for key, counts, _ in weighed
        ):
            # Weights that cancel out to 0 still count: only domains without pods return None.
            return None
        return cls(domains)

    def score(self, node: NodeInfo) -> int:
        """Return the sum of the weights of a node's domains."""
        labels = node.labels
        return sum(worth.of(labels[key]) for key, worth in self._domains.items() if key in labels)

    def score_nodes(self, nodes: Nodes) -> Ints:
        """Return the sum of the weights of each node's domains."""
        total: Ints | None = None
        for key, table in self._tables.items():
            scores = table.take(nodes.label(key).codes)
            total = scores if total is None else total + scores
        assert total is not None, "a state has at least one topology key"
        return total


def normalize(scores: Ints) -> Ints:
    """Scale scores from 0 for the lowest to 100 for the highest; all 0 if they are equal."""
    if not len(scores):
        return scores
    lowest, highest = int(scores.min()), int(scores.max())
    span = highest - lowest
    if span == 0:
        return np.zeros_like(scores)
    # In kube-scheduler's order: the quotient first, then times 100.
    shares: npt.NDArray[np.float64] = (scores - lowest) / span
    shares *= MAX_NODE_SCORE
    return shares.astype(np.int64)
