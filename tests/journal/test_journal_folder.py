"""The folder of --journal."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.apiserver.in_process_transport import LocalTransport
from mooring.client.client import Client
from mooring.config import default_config
from mooring.errors import JournalError
from mooring.framework.features import FeatureGates
from mooring.journal.entries import Change, SegmentHead
from mooring.journal.journal_folder import JournalFolder
from mooring.observe.clock import SystemClock
from mooring.observe.metrics import Metrics
from mooring.registry import default_registry
from mooring.scheduler.running_scheduler import RunningScheduler
from tests.apiserver.api_server import ADMIN, ApiServer
from tests.journal.journals import node, read


async def test_one_scheduler_after_the_other_writes_to_the_folder(tmp_path: Path) -> None:
    server, clock, registry = ApiServer(), SystemClock(), default_registry()
    await server.ask("POST", "/api/v1/nodes", node("a"))
    config, features = default_config(registry=registry), FeatureGates()
    folder = JournalFolder(str(tmp_path))
    for _ in range(2):
        metrics = Metrics()
        journal = folder.begin(
            config, registry=registry, features=features, clock=clock, metrics=metrics
        )
        client = Client(LocalTransport(server.api, ADMIN), clock=clock)
        running = RunningScheduler(
            config,
            client=client,
            event_client=client,
            registry=registry,
            features=features,
            clock=clock,
            metrics=metrics,
            taps=(journal,),
        )
        assert not folder.flush(0.0), "nothing is written yet"
        folder.follow(journal, running)
        await running.sync()
        await running.close()
        assert folder.flush(30.0)
        assert read(tmp_path, Change)
        await client.close()
        await folder.end()
    with pytest.raises(JournalError, match="another process"):
        JournalFolder(str(tmp_path))
    await folder.close()
    JournalFolder(str(tmp_path))
    assert len(read(tmp_path, SegmentHead)) == 2
    nodes = [change.name for change in read(tmp_path, Change) if change.kind == "nodes.v1."]
    assert nodes == ["a", "a"]


async def test_without_a_replayer_nothing_is_answered(tmp_path: Path) -> None:
    folder = JournalFolder(str(tmp_path))
    assert folder.answers(None) is None
    await folder.close()
