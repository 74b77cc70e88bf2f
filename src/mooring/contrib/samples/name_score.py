"""NameScore: a score that depends on the node's name alone."""

from __future__ import annotations

import re

import numpy as np

from mooring import MAX_NODE_SCORE, CycleState, NodeInfo, Nodes, Plugin
from mooring.api import Pod
from mooring.typing import Scores

_NUMBER = re.compile(r"[0-9]+$")


class NameScore(Plugin):
    """A score that prefers the highest number at the end of a name: node02 beats node01."""

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """Score one node."""
        return score_name(node.name)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores:
        """Score all nodes; the scores are cached until a node changes."""
        return nodes.gather(nodes.derive(self.name, _score_names))


def score_name(name: str) -> int:
    """Return the number at the end of a name, at most 100; 0 if there is none.

    >>> score_name("k8s-node02"), score_name("k8s-master")
    (2, 0)
    """
    number = _NUMBER.search(name)
    return min(int(number.group()[-9:]), MAX_NODE_SCORE) if number else 0


def _score_names(nodes: Nodes) -> Scores:
    return np.array([score_name(name) for name in nodes.names], dtype=np.int64)
