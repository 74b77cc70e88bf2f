"""What plugins that score by measured load have in common."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mooring import CycleState, Nodes, Plugin
from mooring.api import Pod
from mooring.contrib.load import LoadArgs
from mooring.contrib.load.load_plugin import LoadPlugin
from mooring.contrib.load.measurements import MAX_PERCENT
from mooring.contrib.load_variation_risk_balancing import LoadVariationRiskBalancing
from mooring.contrib.low_risk_over_commitment import LowRiskOverCommitment
from mooring.contrib.peaks import Peaks
from mooring.contrib.target_load_packing import TargetLoadPacking
from mooring.testing import make_node, make_pod, run_score
from mooring.typing import Scores
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.contrib.load.measured import measured, measurements


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
    infos = scheduler.cache.nodes.infos()
    assert [plugin.score(CycleState(), make_pod("p"), info) for info in infos] == [1, 3]
    assert plugin.score(CycleState(), make_pod("seven"), infos[0]) == 7


PERCENT = st.floats(-MAX_PERCENT, MAX_PERCENT) | st.sampled_from((0.0, 100.0, -5.0))
POWER = {"k0": 10.0, "k1": 5.0, "k2": 0.03}
ARGS = {"Peaks": {"WatcherAddress": "http://w", "NodePowerModel": {"a": POWER, "b": POWER}}}


@pytest.mark.parametrize(
    "plugin",
    [TargetLoadPacking, LoadVariationRiskBalancing, LowRiskOverCommitment, Peaks],
    ids=lambda plugin: plugin.name,
)
@settings(max_examples=12, phases=[Phase.explicit, Phase.reuse, Phase.generate], deadline=None)
@given(first=st.tuples(PERCENT, PERCENT, PERCENT, PERCENT), second=PERCENT)
def test_no_measurement_breaks_a_score(
    plugin: type[Plugin], first: tuple[float, float, float, float], second: float
) -> None:
    found = measurements({"a": first, "b": (second, 0, second, 0)})
    scores = run_score(
        measured(plugin, found),
        pod=make_pod("p", cpu="500m", memory="1Gi"),
        nodes=[make_node("a"), make_node("b"), make_node("unmeasured")],
        args=ARGS.get(plugin.name),
    )
    assert all(0 <= score <= 100 for score in scores.normalized.values())
