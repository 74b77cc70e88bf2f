"""The journal of a shadow beside the reference kube-scheduler, replayed."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from mooring.client.kubeconfig import load_kubeconfig
from mooring.config import default_config
from mooring.framework.features import FeatureGates
from mooring.journal.journal_folder import JournalFolder
from mooring.journal.journal_reading import read_journal
from mooring.observe.clock import SystemClock
from mooring.observe.metrics import Metrics
from mooring.registry import default_registry
from mooring.replay.replay_rules import recorded_rules
from mooring.replay.replaying import Replay, RunRules
from mooring.replay.report_text import replay_lines
from mooring.scheduler.following import following, reading_client
from mooring.shadow.comparison import Verdict
from mooring.shadow.shadow import Shadow
from mooring.shadow.their_rules import beside
from tests.reference.sides import Side
from tests.reference.test_shadow import OTHERS, node, place, pod, rules_of
from tests.support.cluster import Cluster

NODES = 20
PODS = 30

pytestmark = pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")


@pytest.mark.parametrize("name", ["", "most allocated first", "taints that do not matter"])
async def test_decisions_beside_the_reference_come_out_as_recorded(
    name: str, sides: tuple[Side, Side], cluster: Cluster, tmp_path: Path
) -> None:
    for number in range(NODES):
        cluster.create(node(number))
    registry, gates = default_registry(), FeatureGates()
    ours = rules_of(OTHERS[name][0] if name else {})
    theirs = default_config(registry=registry, feature_gates=gates)
    folder = JournalFolder(str(tmp_path / "journal"))
    journal = folder.begin(
        ours,
        registry=registry,
        features=gates,
        clock=SystemClock(),
        metrics=Metrics(),
        theirs=theirs,
    )
    shadow = Shadow(journal=journal)
    scheduler = sides[0].start(cluster.plane, tmp_path)
    try:
        async with contextlib.AsyncExitStack() as stack:
            connection = load_kubeconfig(cluster.plane.scheduler_kubeconfig)
            client = await stack.enter_async_context(reading_client(connection, "shadow-test"))
            both = beside(ours, theirs)
            running = await stack.enter_async_context(
                following(both, client, registry, gates, taps=(shadow, journal))
            )
            folder.follow(journal, running)
            shadow.begin(running.scheduler)
            for number in range(PODS):
                await place(cluster, pod(number), {"": (shadow, running)})
    finally:
        scheduler.stop()
        await folder.close()
    report = Replay(lambda head: RunRules(recorded_rules(head))).run(
        read_journal(tmp_path / "journal")
    )
    assert report.reproduced, "\n".join(replay_lines(report))
    assert report.attempts == PODS
    assert report.shadow is not None
    assert report.shadow.recorded.counts == shadow.report.counts
    assert report.shadow.recorded.lost == shadow.report.lost
    assert (shadow.report.counts[Verdict.AGREED] == PODS) is (name == "")
