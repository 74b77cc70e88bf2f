"""The handle of a plugin that a test calls, and when the default plugins are made."""

from __future__ import annotations

from typing import Any

import numpy as np

from mooring import CycleState, Plugin, Status
from mooring.cycle.profile import Profile
from mooring.framework.features import FeatureGates
from mooring.framework.what_if import WhatIf
from mooring.testing import make_node, make_pod, run_filter
from mooring.testing.bench_cluster import BenchCluster


class Asks(Plugin):
    """A plugin that runs the filters of its profile."""

    def pre_filter(self, state: Any, pod: Any, nodes: Any) -> Status:
        """Answer with the name of the built-in plugin that does not pass the last node."""
        rows = WhatIf(nodes, np.arange(len(nodes), dtype=np.intp))
        last = self.handle.run_filters(CycleState(), pod, rows)[-1]
        assert last is not None
        return Status.unschedulable(last.plugin)


def test_a_plugin_may_run_the_default_plugins() -> None:
    found = run_filter(Asks, pod=make_pod("p"), nodes=[make_node("a"), make_node("b")])
    # The first of them that needs what its PreFilter writes, which has not run.
    assert found.reasons == {"NodePorts": 2}


def test_the_default_profile_is_made_once_and_only_when_it_is_asked_for() -> None:
    made: list[object] = []
    profile = object.__new__(Profile)

    def make(shared: object, events: object) -> Profile:
        made.append(shared)
        return profile

    cluster = BenchCluster([make_node("a")], FeatureGates(), make)
    assert cluster.handle.snapshot.names == ["a"]
    assert made == []
    assert cluster.handle.profile is cluster.handle.profile is profile
    assert len(made) == 1
