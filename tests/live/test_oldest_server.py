"""A scheduler of the newest release on an API server of the oldest that is supported."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.running import Mooring, condition, configuration, is_bound, node, pod
from tests.support.api import Api
from tests.support.cluster import Cluster, turn_on
from tests.support.control_plane import ControlPlane


@pytest.fixture
def old_cluster(oldest_control_plane: ControlPlane) -> Iterator[Cluster]:
    with turn_on(oldest_control_plane), Api(oldest_control_plane.access) as api:
        cluster = Cluster(oldest_control_plane, api)
        yield cluster
        cluster.wipe()


@pytest.mark.parametrize("flags", [(), ("--emulated-version=1.36",)], ids=["as it is", "emulating"])
def test_pods_are_placed_and_refused(
    flags: tuple[str, ...], old_cluster: Cluster, tmp_path: Path
) -> None:
    old_cluster.create(node("n"))
    config = configuration(old_cluster.plane.scheduler_kubeconfig)
    mooring = Mooring(tmp_path, config, *flags)
    try:
        mooring.wait_ready()
        old_cluster.create(pod("small"))
        old_cluster.create(pod("large", cpu="101"))
        old_cluster.wait_for("Pod", "small", is_bound, seconds=30)
        refused = old_cluster.wait_for("Pod", "large", condition, seconds=30)
        assert condition(refused)["message"].startswith(
            "0/1 nodes are available: 1 Insufficient cpu."
        )
        # A kind that this server does not serve is named once, and nothing is retried loudly.
        said = mooring.lines("does not serve")
        kinds = [line.partition("does not serve ")[2].partition(":")[0] for line in said]
        assert len(kinds) == len(set(kinds))
        assert mooring.lines("Failed to watch") == []
    finally:
        mooring.process.kill()
