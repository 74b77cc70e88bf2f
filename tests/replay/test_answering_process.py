"""The process that replays one attempt: which attempt it finds, and what it answers."""

from __future__ import annotations

import io
import os
import resource
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mooring import Plugin
from mooring.explain.journal_questions import JournalQuestion
from mooring.journal.entries import SegmentHead
from mooring.journal.frames import make_frame
from mooring.journal.segments import list_segments
from mooring.replay import answering_process
from mooring.replay.answering_process import answer, find_attempt, limit_process, main
from mooring.replay.child_replayer import AnsweringRequest, AnsweringResult
from mooring.replay.journal_explanation import ONLY_A_TRIAL
from tests.journal.journals import read
from tests.replay.recordings import (
    TREES,
    JournaledCluster,
    journaled,
    node,
    pod,
    refuse_tree,
    schedule_some,
    schedule_tree,
)


def asked(name: str = "huge", **more: Any) -> JournalQuestion:
    return JournalQuestion(namespace="default", name=name, **more)


def test_the_newest_attempt_that_fits_the_question_is_found(tmp_path: Path) -> None:
    journaled(tmp_path, schedule_some)
    last = find_attempt(tmp_path, asked())
    assert last is not None and last.attempt == 2
    first = find_attempt(tmp_path, asked(attempt=1))
    assert first is not None and first.attempt == 1
    assert find_attempt(tmp_path, asked(uid=last.uid)) == last
    assert find_attempt(tmp_path, asked(uid=last.uid, since=last.time)) == last
    for missing in (
        asked(attempt=3),
        asked("hug"),
        asked(uid="another"),
        asked(attempt=1, since=last.time),
    ):
        assert find_attempt(tmp_path, missing) is None


def test_segments_that_ended_before_are_not_read(tmp_path: Path) -> None:
    async def play(cluster: JournaledCluster) -> None:
        await cluster.create(node("only", "64"))
        for number in range(40):
            await cluster.create(pod(f"web-{number}"))
            await cluster.schedule()
            cluster.journal.pump()

    journaled(tmp_path, play, segment_bytes=2**11)
    segments = list_segments(tmp_path)
    assert len(segments) > 4
    found = find_attempt(tmp_path, asked("web-39"))
    assert found is not None
    # Damage the segment after its head and checkpoint.
    second = segments[1].path
    second.write_bytes(second.read_bytes()[:-1] + b"?")
    assert find_attempt(tmp_path, asked("web-39", since=found.time)) == found
    assert find_attempt(tmp_path, asked("web-0", since=found.time)) is None


def test_an_attempt_is_explained_with_what_was_recorded(tmp_path: Path) -> None:
    journaled(tmp_path, schedule_some)
    found = answer(tmp_path, asked(attempt=1))
    assert (found.known, found.problem) == (True, "")
    assert found.explanation is not None and found.record is not None
    assert found.explanation["nodes"] == ["small", "big"]
    assert found.explanation["message"] == found.record.message
    assert answer(tmp_path, asked("unknown")) == AnsweringResult()


def test_a_pod_of_a_tree_is_explained_with_the_cycle_that_counts_and_its_tree(
    tmp_path: Path,
) -> None:
    journaled(tmp_path, schedule_tree, gates=TREES)
    # It was tried in both racks, at last in the one that is too small.
    last = find_attempt(tmp_path, asked("leader-0"))
    assert last is not None and last.within == (2,)
    found = answer(tmp_path, asked("leader-0"))
    assert found.problem == ""
    assert found.explanation is not None and found.record is not None
    assert found.explanation["node"] == found.record.node
    assert found.record.node in ("a-1", "a-2")
    assert [(one.depth, one.name, one.placement, one.fits) for one in found.tree] == [
        (0, "job", "a", True),
        (1, "leader", "all nodes", True),
        (1, "workers", "all nodes", True),
    ]


def test_a_trial_is_not_taken_for_the_result_of_a_pod(tmp_path: Path) -> None:
    journaled(tmp_path, refuse_tree, gates=TREES)
    assert answer(tmp_path, asked("leader-0")).problem == ""
    assert answer(tmp_path, asked("workers-0")).problem == ONLY_A_TRIAL


def test_an_attempt_that_cannot_be_replayed(tmp_path: Path) -> None:
    class Local(Plugin):
        def filter(self, state: object, pod: object, node: object) -> None:
            return None

    journaled(tmp_path, schedule_some, Local)
    found = answer(tmp_path, asked())
    assert found.known and found.explanation is None
    assert "the journal needs plugin Local" in found.problem
    (head,) = read(tmp_path, SegmentHead)
    found = answer(tmp_path, asked(), head.plugins)
    assert "a plugin of the journal no longer loads" in found.problem


def test_a_replay_that_decides_otherwise_says_so(tmp_path: Path) -> None:
    journaled(tmp_path, schedule_some)
    lines = b"".join(msgspec.json.encode(entry) + b"\n" for entry in read(tmp_path))
    (segment,) = list_segments(tmp_path)
    segment.path.write_bytes(make_frame(lines.replace(b'"node":"big"', b'"node":"small"')))
    found = answer(tmp_path, asked("web-0"))
    assert found.problem == "the replay decided otherwise: big; recorded was: small"


def run_main(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AnsweringResult:
    request = msgspec.json.encode(AnsweringRequest(str(folder), asked()))
    output = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(request)))
    monkeypatch.setattr(sys, "stdout", output)
    monkeypatch.setattr(answering_process, "limit_process", lambda: None)
    assert main() == 0
    return msgspec.json.decode(output.buffer.getvalue(), type=AnsweringResult)  # type: ignore[attr-defined]


def test_the_question_is_read_and_the_answer_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journaled(tmp_path, schedule_some)
    assert run_main(tmp_path, monkeypatch).known


def test_a_journal_that_cannot_be_read_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = run_main(tmp_path, monkeypatch)
    assert (found.known, found.explanation) == (True, None)
    assert "holds no journal" in found.problem


def test_the_process_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: dict[int, tuple[int, int]] = {}
    nice: list[int] = []
    written: list[str] = []
    monkeypatch.setattr(resource, "setrlimit", limits.__setitem__)
    monkeypatch.setattr(os, "nice", nice.append)
    monkeypatch.setattr(Path, "write_text", lambda self, text: written.append(f"{self} {text}"))
    limit_process()
    assert set(limits) == {resource.RLIMIT_CPU, resource.RLIMIT_DATA}
    assert nice == [10]
    assert written == ["/proc/self/oom_score_adj 1000"]
