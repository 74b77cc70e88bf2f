"""PreferNode in its short form: a score and nothing else."""

from __future__ import annotations

import logging

import msgspec

from mooring import MAX_NODE_SCORE, MIN_NODE_SCORE, CycleState, NodeInfo, Plugin
from mooring.api import Pod

log = logging.getLogger(__name__)

# The level of messages that are logged with --v=5.
_V5 = logging.INFO - 5


class PreferNodeScore(Plugin):
    """A score that sends pods to one node, if they fit it."""

    name = "PreferNode"

    class Args(msgspec.Struct, frozen=True):
        """The name of the preferred node."""

        node: str = "minikube-m03"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """Return the highest score for the preferred node, the lowest for the others."""
        log.log(_V5, "Scoring pod %s on node %s", pod.name, node.name)
        return MAX_NODE_SCORE if node.name == self.args.node else MIN_NODE_SCORE
