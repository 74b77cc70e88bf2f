"""BlinkingLightScorer: a score that needs to be normalised."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mooring import MAX_NODE_SCORE, CycleState, NodeInfo, Nodes, Plugin
from mooring.api import Pod
from mooring.typing import Scores

#: The annotation with a node's number of blinking lights.
ANNOTATION = "example.com/blinking-lights"

#: Higher counts are cut to this number.
_MOST = 10**9


class BlinkingLightScorer(Plugin):
    """A score that prefers the node with the most blinking lights."""

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """Return one node's number of lights."""
        return count_lights(node.annotations)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores:
        """Return all nodes' numbers of lights, which are cached until a node changes."""
        return nodes.gather(nodes.derive(self.name, _count_all))

    def normalize_score(self, state: CycleState, pod: Pod, scores: Scores) -> Scores:
        """Scale the counts so that the highest is 100; all are 0 if there are no lights."""
        highest = scores.max()
        return scores * MAX_NODE_SCORE // highest if highest else scores


def count_lights(annotations: Mapping[str, str]) -> int:
    """Return the number in the annotation; 0 if it is missing or no number.

    >>> count_lights({"example.com/blinking-lights": "3"}), count_lights({})
    (3, 0)
    """
    text = annotations.get(ANNOTATION, "")
    if not (text.isascii() and text.isdigit()):
        return 0
    return _MOST if len(text) > len(str(_MOST)) else min(int(text), _MOST)


def _count_all(nodes: Nodes) -> Scores:
    counts = [count_lights(info.annotations) for info in nodes.infos()]
    return np.array(counts, dtype=np.int64)
