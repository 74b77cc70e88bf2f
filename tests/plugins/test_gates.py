"""The feature gates of a plugin."""

from __future__ import annotations

from mooring.plugins.gates import gates_of
from tests.plugins.clusters import Cluster

GATE = "OpportunisticBatching"


def test_a_plugin_has_the_gates_of_its_scheduler() -> None:
    for enabled in (True, False):
        cluster = Cluster(gates={GATE: enabled})
        assert gates_of(cluster) is cluster.features  # type: ignore[arg-type]
        assert gates_of(cluster).enabled(GATE) is enabled  # type: ignore[arg-type]


def test_without_a_scheduler_the_defaults_hold() -> None:
    assert gates_of(None).settings == {}
