"""Checkpoints: the state of a scheduler at one moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from mooring import Plugin
from mooring.api import Pod, decode_as
from mooring.framework.status import Status
from mooring.journal.checkpoint import RECENT, Checkpoint, RecentPlacements, take_checkpoint
from mooring.journal.entries import (
    NOT_ASSUMED,
    CheckpointObject,
    CheckpointPlacement,
    Entry,
)
from tests.journal.journals import JournaledCluster, journaled, node, pod


class Patience(Plugin):
    """A plugin that lets pods wait at Permit."""

    def permit(self, state: Any, pod: Any, node_name: str) -> Status:
        return Status.wait(60.0)


async def _take(cluster: JournaledCluster) -> Checkpoint:
    await cluster.create(node("a"), node("b"), node("c"))
    await cluster.create(pod("bound", nodeName="b"), pod("waits"))
    await cluster.schedule()
    await cluster.server.ask("DELETE", "/api/v1/nodes/a")
    await cluster.clock.sleep(0.1)
    cluster.running.scheduler.inbox.drain()
    pods = {each.name: each for each in cluster.running.informers.lister(Pod).list()}
    cluster.running.scheduler.nominator.add(pods["waits"], "c")
    return take_checkpoint(cluster.running, 100.0)


def test_a_checkpoint_has_objects_placements_and_what_decisions_depend_on(tmp_path: Path) -> None:
    checkpoint = journaled(tmp_path, _take, Patience)
    begins = checkpoint.begins
    # The row of the removed node was taken by the last one.
    assert begins.rows == ("c", "b")
    assert begins.zones == (("b", "c"),)
    entries = list(checkpoint.entries())
    objects = [entry for entry in entries if isinstance(entry, CheckpointObject)]
    names = {
        (entry.kind, decode_as(bytes(entry.object), Pod).metadata.name)
        for entry in objects
        if entry.kind in ("pods.v1.", "nodes.v1.")
    }
    assert names == {
        ("pods.v1.", "bound"),
        ("pods.v1.", "waits"),
        ("nodes.v1.", "b"),
        ("nodes.v1.", "c"),
    }
    placed = [entry for entry in entries if isinstance(entry, CheckpointPlacement)]
    assert [entry.assumed == NOT_ASSUMED for entry in placed] == [True, False]
    waiting = placed[1]
    assert decode_as(bytes(waiting.assumed), Pod).spec.node_name == waiting.node
    assert waiting.waits == {"Patience": 60.0}
    assert waiting.waits_since > 0.0
    assert begins.nominations == ((waiting.uid, "c"),)
    lines = [msgspec.json.encode(entry) for entry in entries]
    again = [msgspec.json.decode(line, type=Entry) for line in lines]
    assert [msgspec.json.encode(entry) for entry in again] == lines


def test_the_placements_of_the_last_minutes_are_remembered() -> None:
    placements = RecentPlacements(1000.0)
    assert placements.last(1001.0) == ({}, 1000.0)
    placements.add(1010.0, "a")
    placements.add(1020.0, "b")
    placements.add(1030.0, "a")
    assert placements.last(1030.0) == ({"b": 1020.0, "a": 1030.0}, 1000.0)
    late = 1025.0 + RECENT
    assert placements.last(late) == ({"a": 1030.0}, late - RECENT)
