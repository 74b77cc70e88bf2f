"""The journal of a scheduler: what is written, when, and what ends it."""

from __future__ import annotations

import errno
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from mooring import Plugin, Status
from mooring.api import Node, Pod, decode_as
from mooring.framework.handle import HttpAnswer
from mooring.journal import journal as journal_module
from mooring.journal.entries import (
    AttemptBegins,
    AttemptEnds,
    Bound,
    Change,
    CheckpointEnds,
    ExtenderAnswer,
    Failed,
    Fetched,
    GaveBack,
    GroupBegins,
    GroupEnds,
    Permitted,
    PodUpdate,
    Reserved,
    SegmentHead,
)
from mooring.journal.journal import ENDED, SchedulingJournal
from mooring.journal.segment_writer import SegmentWriter
from mooring.journal.segments import list_segments
from mooring.testing import make_pod
from tests.apiserver.api_server import ApiServer
from tests.journal.journals import JournaledCluster, journaled, node, pod, read
from tests.replay.recordings import TREES, schedule_tree, tree_of_two
from tests.support.virtual_loop import run_virtually


async def _schedule_two(cluster: JournaledCluster) -> None:
    await cluster.create(node("small", "2"), node("big", "64"))
    await cluster.create(pod("one"), pod("large", "900"))
    await cluster.schedule()


def test_the_attempts_of_pods_are_written_in_order(tmp_path: Path) -> None:
    journaled(tmp_path, _schedule_two)
    entries = read(tmp_path)
    (placed,) = [entry for entry in entries if isinstance(entry, Reserved)]
    own = [
        type(entry)
        for entry in entries
        if getattr(entry, "uid", getattr(getattr(entry, "record", None), "uid", "")) == placed.uid
    ]
    assert own == [AttemptBegins, AttemptEnds, Reserved, Permitted, Bound]
    (refused,) = read(tmp_path, Failed)
    assert refused.message.startswith("0/2 nodes are available: 2 Insufficient cpu")
    assert (refused.rejected, refused.unschedulable) == (True, ("NodeResourcesFit",))
    ends = {entry.record.name: entry for entry in read(tmp_path, AttemptEnds)}
    assert ends["one"].record.node == placed.node
    assert ends["one"].best == 1
    assert ends["one"].totals
    assert (ends["large"].record.outcome, ends["large"].totals) == ("unschedulable", 0)
    begins = {entry.name: entry for entry in read(tmp_path, AttemptBegins)}
    assert begins["one"].seed == ends["one"].record.seed
    assert (begins["one"].attempt, begins["one"].profile) == (1, "default-scheduler")
    assert begins["one"].post_filter


def test_changes_are_written_with_their_objects(tmp_path: Path) -> None:
    async def play(cluster: JournaledCluster) -> None:
        await _schedule_two(cluster)
        await cluster.server.ask("DELETE", "/api/v1/nodes/small")
        await cluster.clock.sleep(0.1)
        cluster.running.scheduler.inbox.drain()

    journaled(tmp_path, play)
    changes = read(tmp_path, Change)
    nodes = [change for change in changes if change.kind == "nodes.v1."]
    assert [(change.name, change.known, change.deleted) for change in nodes] == [
        ("small", False, False),
        ("big", False, False),
        ("small", True, True),
    ]
    assert decode_as(bytes(nodes[1].object), Node).status.allocatable["cpu"] == "64"
    one = [change for change in changes if change.name == "one"]
    assert one[0].namespace == "default"
    assert [decode_as(bytes(change.object), Pod).spec.node_name for change in one] == [""]
    updates = [update for update in read(tmp_path, PodUpdate) if update.name == "one"]
    assert [bool(update.node) for update in updates] == [True]
    assert [change.time for change in changes] == sorted(change.time for change in changes)


def test_a_tree_is_written_under_its_top_with_the_nodes_of_its_pods(
    tmp_path: Path,
) -> None:
    journaled(tmp_path, schedule_tree, gates=TREES)
    (begins,) = read(tmp_path, GroupBegins)
    assert (begins.name, begins.composite, len(begins.members)) == ("job", True, 3)
    (ends,) = read(tmp_path, GroupEnds)
    assert (ends.name, ends.outcome, ends.victims) == ("job", "scheduled", ())
    assert ends.counted == dict.fromkeys(begins.members, 0)
    # The cycle of the leader in the second rack is the last one, and finds no node.
    records = [entry.record for entry in read(tmp_path, AttemptEnds)]
    assert [bool(record.node) for record in records] == [True, True, True, False]
    reserved = {entry.uid: entry.node for entry in read(tmp_path, Reserved)}
    assert reserved == {entry.uid: entry.node for entry in read(tmp_path, Bound)}
    assert len(reserved) == 3


def test_a_pod_group_is_not_written_as_a_composite_group(tmp_path: Path) -> None:
    async def play(cluster: JournaledCluster) -> None:
        _, leader, _, pod_of_leader, *_ = tree_of_two()
        del leader["spec"]["parentCompositePodGroupName"]
        await cluster.create(node("a"), leader, pod_of_leader)
        await cluster.schedule()

    journaled(tmp_path, play, gates=TREES)
    (begins,) = read(tmp_path, GroupBegins)
    assert (begins.name, begins.composite) == ("leader", False)


class Refuses(Plugin):
    """A plugin that refuses pods at Permit."""

    def permit(self, state: Any, pod: Any, node_name: str) -> Status:
        return Status.unschedulable("not now")


def test_a_placement_that_was_given_back_is_written_with_the_reason(tmp_path: Path) -> None:
    async def play(cluster: JournaledCluster) -> None:
        await cluster.create(node("a"), pod("one"))
        await cluster.schedule()

    journaled(tmp_path, play, Refuses)
    given_back = read(tmp_path, GaveBack)[0]
    assert given_back.status is not None
    assert (given_back.node, given_back.status.plugin) == ("a", "Refuses")
    assert given_back.status.reasons == ("not now",)
    whole = read(tmp_path)
    assert isinstance(whole[whole.index(given_back) + 1], Failed)


def test_a_restart_in_the_same_folder_is_another_run(tmp_path: Path) -> None:
    for _ in range(2):
        journaled(tmp_path, _schedule_two)
    assert len({head.run for head in read(tmp_path, SegmentHead)}) == 2
    assert len(read(tmp_path, Bound)) == 2


def test_long_journals_are_cut_into_segments_that_can_be_read_alone(tmp_path: Path) -> None:
    async def play(cluster: JournaledCluster) -> None:
        await cluster.create(*(node(f"node-{number}") for number in range(4)))
        for number in range(40):
            noise = {"noise": os.urandom(600).hex()}
            one = pod(f"pod-{number}", "10m")
            one["metadata"]["annotations"] = noise
            await cluster.create(one)
            await cluster.schedule()
            cluster.journal.pump()

    journaled(tmp_path, play, segment_bytes=8000, max_bytes=10**6)
    segments = list_segments(tmp_path)
    assert len(segments) > 3
    whole = read(tmp_path)
    bound = [entry.uid for entry in whole if isinstance(entry, Bound)]
    assert len(bound) == 40
    assert len([entry for entry in whole if isinstance(entry, CheckpointEnds)]) == 1
    # The second half, as if the first had been removed.
    for segment in segments[: len(segments) // 2]:
        segment.path.unlink()
    rest = read(tmp_path)
    head, begins = rest[0], rest[1]
    assert isinstance(head, SegmentHead)
    assert not head.first
    assert sorted(begins.rows) == [f"node-{number}" for number in range(4)]
    (ends,) = [entry for entry in rest if isinstance(entry, CheckpointEnds)]
    assert ends.entries == rest.index(ends) - 2
    left = [entry.uid for entry in rest if isinstance(entry, Bound)]
    assert left == bound[-len(left) :]
    assert 0 < len(left) < 40


def test_a_checkpoint_does_not_delay_what_happens_meanwhile(tmp_path: Path) -> None:
    """Entries that wait are written before the next slice of a checkpoint."""
    journaled(tmp_path, _many_nodes, segment_bytes=30_000, max_bytes=10**6)
    second = list_segments(tmp_path)[1].path
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / second.name).write_bytes(second.read_bytes())
    names = [type(entry).__name__ for entry in read(alone)]
    assert names[0] == "SegmentHead"
    assert "CheckpointEnds" in names


async def _many_nodes(cluster: JournaledCluster) -> None:
    for number in range(300):
        one = node(f"node-{number}")
        one["metadata"]["annotations"] = {"noise": os.urandom(100).hex()}
        await cluster.create(one)
    cluster.running.scheduler.inbox.drain()
    cluster.journal.pump()
    await cluster.create(pod("one"))
    await cluster.schedule()
    cluster.journal.pump()


class FullDisk(SegmentWriter):
    """A writer whose disk is full after some frames."""

    left = 3

    def write(self, lines: bytes) -> int:
        if not self.left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.left -= 1
        return super().write(lines)


def test_a_full_disk_ends_the_journal_with_one_line_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def live() -> tuple[JournaledCluster, list[str]]:
        writer = FullDisk(tmp_path)
        cluster = JournaledCluster(writer, ApiServer(), ())
        await cluster.start()
        await cluster.create(*(node(f"node-{number}") for number in range(4)))
        for number in range(6):
            await cluster.create(pod(f"pod-{number}"))
            await cluster.schedule()
            cluster.journal.pump()
        pods = cluster.running.informers.lister(Pod).list()
        nodes = [each.spec.node_name for each in pods]
        await cluster.close()
        writer.close()
        return cluster, nodes

    with caplog.at_level(logging.ERROR, logger="mooring.explain"):
        cluster, nodes = run_virtually(live())
    assert all(nodes)
    assert len(nodes) == 6
    assert [record.getMessage() for record in caplog.records].count(ENDED) == 1
    assert isinstance(cluster.journal.failure, OSError)
    assert cluster.journal.failure.errno == errno.ENOSPC
    assert cluster.journal.waiting == 0
    shown = cluster.metrics.expose().decode()
    assert "mooring_journal_active 0" in shown
    assert read(tmp_path, Change)


class Asks(Plugin):
    """A plugin that reads a node from the server before it is bound to."""

    async def pre_bind(self, state: Any, pod: Any, node_name: str) -> Status | None:
        found: Node = await self.handle.client.get(Node, node_name)
        return None if found.name == node_name else Status.unschedulable("another node")


def test_what_plugins_are_answered_is_written(tmp_path: Path) -> None:
    async def play(cluster: JournaledCluster) -> None:
        await cluster.create(node("a"), pod("one"))
        await cluster.schedule()
        cluster.journal.fetched("GET http://example.com", HttpAnswer(200, b"load"), "")
        cluster.journal.fetched("list nodes.v1.", (), "")
        cluster.journal.fetched("get nodes.v1. b", None, "gone")

    journaled(tmp_path, play, Asks)
    got, *rest = read(tmp_path, Fetched)
    assert got.request == "get nodes.v1. a"
    assert decode_as(got.body, Node).metadata.name == "a"
    assert [(entry.status, entry.body, entry.error) for entry in rest] == [
        (200, "load", ""),
        (0, "[]", ""),
        (0, "", "gone"),
    ]


def test_the_answers_of_extenders_are_written(tmp_path: Path) -> None:
    asker = make_pod("one")

    async def play(cluster: JournaledCluster) -> None:
        answers: dict[str, Any] = {
            "filter": [("a",), {"b": "full"}, {}],
            "prioritize": {"a": 7},
            "preempt": {"a": [["u"], 2]},
        }
        for verb, answer in answers.items():
            cluster.journal.extender_answered("http://e", verb, asker, answer, "")
        cluster.journal.extender_answered("http://e", "filter", asker, None, "out of order")

    journaled(tmp_path, play)
    found = read(tmp_path, ExtenderAnswer)
    assert {(entry.extender, entry.uid) for entry in found} == {("http://e", asker.uid)}
    assert [(entry.verb, entry.answer, entry.error) for entry in found] == [
        ("filter", [["a"], {"b": "full"}, {}], ""),
        ("prioritize", {"a": 7}, ""),
        ("preempt", {"a": [["u"], 2]}, ""),
        ("filter", None, "out of order"),
    ]


def test_a_disk_that_does_not_keep_up_ends_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "MAX_WAITING", 10)

    async def play(cluster: JournaledCluster) -> SchedulingJournal:
        await cluster.create(*(node(f"node-{number}") for number in range(20)))
        cluster.running.scheduler.inbox.drain()
        return cluster.journal

    journal = journaled(tmp_path, play)
    assert journal.failure is not None
    assert "does not keep up" in str(journal.failure)
    assert journal.waiting == 0


def test_an_entry_that_cannot_be_encoded_ends_the_journal(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def play(cluster: JournaledCluster) -> SchedulingJournal:
        cluster.journal.fetched("GET http://example.com/\ud800", HttpAnswer(200), "")
        cluster.journal.pump()
        return cluster.journal

    with caplog.at_level(logging.ERROR, logger="mooring.explain"):
        journal = journaled(tmp_path, play)
    assert journal.failure is not None
    assert [record.getMessage() for record in caplog.records] == [ENDED]


def test_many_entries_that_wait_are_told_once(tmp_path: Path) -> None:
    async def play(cluster: JournaledCluster) -> list[int]:
        told: list[int] = []
        cluster.journal.pump()
        cluster.journal.when_many = lambda: told.append(cluster.journal.waiting)
        for _ in range(2):
            for _ in range(300):
                cluster.journal.fetched("GET http://example.com", HttpAnswer(200), "")
            cluster.journal.pump()
        return told

    assert journaled(tmp_path, play) == [128, 128]


def test_an_answer_that_is_repeated_is_whole_in_each_segment(tmp_path: Path) -> None:
    body = b"load" * 1024

    async def play(cluster: JournaledCluster) -> None:
        await cluster.create(node("a", "64"))
        cluster.journal.work_begins("fetch 1")
        for number in range(30):
            await cluster.create(pod(f"web-{number}"))
            await cluster.schedule()
            cluster.journal.fetched("GET http://one", HttpAnswer(200, body), "", "fetch 1")
            cluster.journal.pump()

    journaled(tmp_path, play, segment_bytes=2**11)
    segments = list_segments(tmp_path)
    assert len(segments) > 2
    for segment in segments[:-1]:
        segment.path.unlink()
        fetched = read(tmp_path, Fetched)
        assert fetched
        assert {entry.body for entry in fetched} == {body.decode()}
        assert {entry.work for entry in fetched} == {"fetch 1"}
