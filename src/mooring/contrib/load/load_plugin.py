"""LoadPlugin: what the plugins that score by measured load have in common."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from mooring import CycleState, NodeInfo, Nodes, Plugin
from mooring.api import Pod
from mooring.contrib.load.load_args import LoadArgs
from mooring.contrib.load.load_source import LoadSource
from mooring.typing import Scores


class LoadPlugin(Plugin):
    """The base class of plugins that score by measured load."""

    # Loads of nodes.
    records_http = True

    #: The newest measurements.
    load: LoadSource

    def start(self) -> None:
        """Begin to fetch measurements."""
        self.load = LoadSource(self._source(), self.handle, self.name)
        self.load.start()

    def _source(self) -> LoadArgs:
        """Return where measurements come from."""
        args: LoadArgs = self.args
        return args

    @abstractmethod
    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores | int:
        """Score nodes."""

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """Score one node."""
        rows = np.array([node.row], dtype=np.intp)
        scores = self.score_nodes(state, pod, self.handle.snapshot.select(rows))
        return scores if isinstance(scores, int) else int(scores[0])
