"""Placements that take more pods score higher."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from mooring.framework.features import FeatureGates
from mooring.framework.placements import GroupAssignments
from mooring.framework.pod_groups import PodGroups
from mooring.framework.pod_info import PodInfos
from mooring.framework.state import CycleState
from mooring.plugins.pod_group_pods_count import PodGroupPodsCount
from mooring.testing import make_pod, make_pod_group

GROUP = make_pod_group("g")


def test_running_and_placed_pods_count() -> None:
    infos, groups = PodInfos(FeatureGates()), PodGroups()
    groups.place(infos.of(make_pod("runs", group="g", node="n")))
    handle: Any = SimpleNamespace(pod_groups=groups)
    pods = [(infos.of(make_pod(name, group="g")), "n") for name in "ab"]
    nodes: Any = None
    assignments = GroupAssignments("r", nodes, pods)
    plugin = PodGroupPodsCount(handle=handle)
    assert plugin.score_placement(CycleState(), GROUP, assignments) == 3


def test_the_largest_count_is_a_hundred() -> None:
    plugin = PodGroupPodsCount()
    scores = plugin.normalize_placement_scores(CycleState(), GROUP, np.array([1, 2, 3]))
    assert scores.tolist() == [33, 66, 100]
    nothing = plugin.normalize_placement_scores(CycleState(), GROUP, np.array([0, 0]))
    assert nothing.tolist() == [0, 0]
