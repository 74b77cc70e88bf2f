"""The harness itself: a local cluster starts, serves kubectl and stops."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.kubectl import table
from tests.support.local_up import Up


def test_kubectl_talks_to_a_cluster_that_ends_when_asked(up: Callable[..., Up]) -> None:
    cluster = up("--nodes=0")
    assert cluster.kubectl("get --raw /readyz") == "ok"
    assert table(cluster.kubectl("get namespaces"))[:2] == [
        ["NAME", "STATUS", "AGE"],
        ["default", "Active", "AGE"],
    ]
    assert "NotFound" in cluster.kubectl.refused("get pod no-such-pod")
    assert cluster.stop() == 0
