"""PodState: prefer nodes that pods are leaving, and avoid nodes that pods are nominated to.

# scheduler-plugins: pkg/podstate/pod_state.go
"""

from __future__ import annotations

import numpy as np

from mooring import CycleState, NodeInfo, Nodes, Plugin
from mooring.api import Pod
from mooring.contrib.min_max import min_max
from mooring.typing import Ints, Scores


class PodState(Plugin):
    """A plugin that scores a node by its terminating pods, less the pods nominated to it.

    Choose it if preemption is frequent: pods then go where room is about to appear, instead of to
    nodes whose room is kept for the pods that preempted others. It has no arguments.
    """

    name = "PodState"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """Return the terminating pods of a node, less the pods nominated to it."""
        return _terminating(node) - len(self.handle.nominator.nominated_on(node.name))

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores:
        """Return the terminating pods of each node, less the pods nominated to it."""
        terminating = nodes.follow("PodState/terminating", _terminating_pods)
        nominator = self.handle.nominator
        names = list(nominator.nodes())
        if not names:
            return terminating
        nominated = np.zeros(len(nodes.all), dtype=np.int64)
        for name in names:
            row = nodes.row(name)
            if row >= 0:
                nominated[row] = len(nominator.nominated_on(name))
        return terminating - nodes.gather(nominated)

    def sign_pod(self, pod: Pod) -> tuple[()]:
        """Return the same for all pods: nothing is reused while some pod is nominated to a node."""
        return ()

    def normalize_score(self, state: CycleState, pod: Pod, scores: Scores) -> Scores:
        """Scale the scores to the range 0 to 100; if all are equal, all become 0."""
        return min_max(scores)


def _terminating(node: NodeInfo) -> int:
    return sum(info.pod.is_terminating for info in node.pods.values())


def _terminating_pods(nodes: Nodes) -> Ints:
    return np.array([_terminating(node) for node in nodes.infos()], dtype=np.int64)
