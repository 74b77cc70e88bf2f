"""BlinkingLightScorer: a score that needs to be normalised."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from mooring import MAX_NODE_SCORE, CycleState, NodeInfo, Nodes, Plugin
from mooring.api import Pod

#: Holds the number of blinking lights of a node.
ANNOTATION = "example.com/blinking-lights"

#: More lights than this make no difference.
_MOST = 10**9


class BlinkingLightScorer(Plugin):
    """Prefer the node with the most blinking lights."""

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """Count one node's lights."""
        return count_lights(node.annotations)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> npt.NDArray[np.int64]:
        """Count all nodes' lights; each node is read once, until one changes."""
        return nodes.gather(nodes.derive(self.name, _count_all))

    def normalize_score(
        self, state: CycleState, pod: Pod, scores: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Make the highest count 100 and the others their share of it; 0 where no light blinks."""
        highest = scores.max()
        return scores * MAX_NODE_SCORE // highest if highest else scores


def count_lights(annotations: Mapping[str, str]) -> int:
    """Return the number in the annotation; what is no number counts as no light.

    >>> count_lights({"example.com/blinking-lights": "3"}), count_lights({})
    (3, 0)
    """
    text = annotations.get(ANNOTATION, "")
    if not (text.isascii() and text.isdigit()):
        return 0
    return _MOST if len(text) > len(str(_MOST)) else min(int(text), _MOST)


def _count_all(nodes: Nodes) -> npt.NDArray[np.int64]:
    counts = [count_lights(info.annotations) for info in nodes.infos()]
    return np.array(counts, dtype=np.int64)
