"""PreferNode in its short form: a score and nothing else."""

from __future__ import annotations

import logging

import msgspec

from mooring import MAX_NODE_SCORE, MIN_NODE_SCORE, CycleState, NodeInfo, Plugin
from mooring.api import Pod

log = logging.getLogger(__name__)

# Written with --v=5.
_V5 = logging.INFO - 5


class PreferNodeScore(Plugin):
    """Send pods to one node, where it can take them."""

    name = "PreferNode"

    class Args(msgspec.Struct, frozen=True):
        """Name the preferred node."""

        node: str = "minikube-m03"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """Give the preferred node everything, the others nothing."""
        log.log(_V5, "Scoring pod %s on node %s", pod.name, node.name)
        return MAX_NODE_SCORE if node.name == self.args.node else MIN_NODE_SCORE
