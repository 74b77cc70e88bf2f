"""Restoring the state of a checkpoint."""

from __future__ import annotations

from pathlib import Path

from mooring import Plugin, Status
from mooring.journal.entries import (
    CheckpointBegins,
    CheckpointPlacement,
    SegmentHead,
)
from mooring.journal.segments import list_segments
from mooring.replay.engine import ReplayEngine
from mooring.replay.recorded_checkpoint import RecordedCheckpoint
from mooring.replay.recorded_steps import recorded_steps
from mooring.replay.replay_rules import recorded_rules
from tests.journal.journals import read
from tests.replay.recordings import JournaledCluster, journaled, node, pod, replayed


class Patient(Plugin):
    """A plugin that makes every pod wait."""

    def permit(self, state: object, pod: object, node_name: str) -> Status | None:
        return Status.wait(600.0)


async def _grow(cluster: JournaledCluster) -> None:
    """Add and remove nodes, and schedule, until there are several segments."""
    await cluster.create(*(node(f"node-{number}", "64") for number in range(8)))
    for number in range(60):
        if number in (5, 9):
            await cluster.server.ask("DELETE", f"/api/v1/nodes/node-{number - 4}")
        await cluster.create(pod(f"web-{number}", "1"))
        while await cluster.running.scheduler.turn():
            await cluster.clock.sleep(0.01)
        cluster.journal.pump()


def _restored(folder: Path, *plugins: type[Plugin]) -> ReplayEngine:
    (head,) = read(folder, SegmentHead)
    engine = ReplayEngine(recorded_rules(head, plugins))
    for step in recorded_steps(read(folder)):
        if isinstance(step, RecordedCheckpoint):
            step.restore(engine)
            return engine
    raise AssertionError


def test_a_replay_can_begin_with_any_segment(tmp_path: Path) -> None:
    journaled(tmp_path, _grow, segment_bytes=2**12)
    segments = list_segments(tmp_path)
    assert len(segments) > 2
    counts = [replayed(tmp_path).attempts]
    for segment in segments[:-1]:
        segment.path.unlink()
        report = replayed(tmp_path)
        assert report.reproduced
        counts.append(report.attempts)
    assert counts[0] == 60
    assert counts == sorted(counts, reverse=True)
    (begins,) = read(tmp_path, CheckpointBegins)
    engine = _restored(tmp_path)
    assert tuple(engine.scheduler.cache.nodes.names) == begins.rows
    engine.scheduler.cache.validate()


def test_pods_on_their_way_to_a_node_are_assumed(tmp_path: Path) -> None:
    journaled(tmp_path, _grow, Patient, segment_bytes=2**12)
    for segment in list_segments(tmp_path)[:-1]:
        segment.path.unlink()
    waiting = [entry for entry in read(tmp_path, CheckpointPlacement) if entry.waits]
    assert waiting
    engine = _restored(tmp_path, Patient)
    for entry in waiting:
        assert engine.scheduler.cache.is_assumed(entry.uid)
        assert engine.scheduler.on_the_way.get(entry.uid) is not None
    assert replayed(tmp_path, plugins=[Patient]).reproduced
