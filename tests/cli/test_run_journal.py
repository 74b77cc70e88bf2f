"""`mooring run --journal`."""

from __future__ import annotations

from pathlib import Path

from mooring.journal.entries import Bound, SegmentHead
from tests.apiserver.api_server import PODS, pod
from tests.cli.test_up_journal import entries
from tests.support.api import Api
from tests.support.local_up import Up
from tests.support.waiting import eventually


def test_a_scheduler_writes_its_journal(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    cluster = Up(tmp_path / "up", tmp_path, Path("kubectl"), "--no-scheduler", "--nodes=1")
    try:
        cluster.wait_ready()
        cluster.run("--journal=journal", "--leader-elect=false")
        with Api(cluster.access) as api:
            api.request("POST", PODS, pod("web"))
        (bound,) = eventually(lambda: entries(folder, Bound), "a bind in the journal", 60)
        assert bound.node == "node-0"
    finally:
        cluster.stop()
    (head,) = entries(folder, SegmentHead)
    assert head.release == "1.37"
