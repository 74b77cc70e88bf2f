"""What plugins that score by measured load have in common."""

from __future__ import annotations

import numpy as np

from mooring import CycleState, Nodes
from mooring.api import Pod
from mooring.contrib.load import LoadArgs
from mooring.contrib.load.load_plugin import LoadPlugin
from mooring.offline.memory_scheduler import MemoryScheduler
from mooring.testing import make_node, make_pod
from mooring.typing import Scores


class ByLength(LoadPlugin):
    """Score by the length of a name, or 7 for pods named so."""

    Args = LoadArgs

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores | int:
        if pod.name == "seven":
            return 7
        return np.array([len(name) for name in nodes.names], dtype=np.int64)


def test_one_node_scores_what_it_scores_among_all() -> None:
    scheduler = MemoryScheduler([make_node("a"), make_node("bbb")])
    plugin = ByLength(LoadArgs(), next(iter(scheduler.profiles.values())).handle)
    plugin.start()
    assert plugin.load.newest is None
    infos = scheduler.cluster.cache.nodes.infos()
    assert [plugin.score(CycleState(), make_pod("p"), info) for info in infos] == [1, 3]
    assert plugin.score(CycleState(), make_pod("seven"), infos[0]) == 7
