"""Journals of the fault simulation are replayed: every decision comes out as recorded."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from mooring.errors import JournalError
from mooring.journal.entries import GroupBegins, SegmentHead
from mooring.journal.journal_reading import read_journal
from mooring.journal.segments import list_segments
from mooring.replay.recorded_plugins import trust_all
from mooring.replay.replay_rules import recorded_rules
from mooring.replay.replaying import Replay, RunRules
from mooring.replay.report import ReplayReport
from mooring.replay.report_text import replay_lines
from tests.soak.gangs import GangRun
from tests.soak.group_trees import run_group_trees
from tests.soak.pod_groups import PodGroupRun
from tests.soak.soak import run_seed
from tests.support.virtual_loop import run_virtually

#: Among them: pods that are deleted while they are bound (22), PreBind that fails (35, 56),
#: nominations that a preemption ends (71), and checkpoints among all of it (45, 74).
SEEDS = (3, 5, 11, 22, 35, 45, 56, 71, 74)


#: Trees with kills and restarts. Among them: a pod that is placed again where an earlier cycle had
#: placed it, after it found no node in the next placement (59); preemption by trees (1, 29).
TREES = (1, 12, 18, 29, 33, 52, 59)


def rules(head: SegmentHead) -> RunRules:
    return RunRules(recorded_rules(head, trusts=trust_all))


def replay(folder: Path) -> ReplayReport:
    report = Replay(rules).run(read_journal(folder))
    assert report.reproduced, "\n".join(replay_lines(report))
    return report


@pytest.mark.parametrize("seed", SEEDS)
def test_every_decision_of_a_soak_is_reproduced(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Many checkpoints.
    monkeypatch.setattr("tests.soak.soak_journal.SEGMENT_BYTES", 2**13)
    run_seed(seed, journals=tmp_path)
    attempts = 0
    for folder in tmp_path.iterdir():
        attempts += replay(folder).attempts
        for segment in list_segments(folder)[:-1]:
            segment.path.unlink()
            replay(folder)
    assert attempts > 0


def test_a_kill_at_any_write_leaves_a_journal_that_can_be_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The last segment holds the writes of the whole run, not only those after a checkpoint.
    monkeypatch.setattr("tests.soak.soak_journal.SEGMENT_BYTES", 2**20)
    monkeypatch.setattr("tests.soak.soak_journal.MAX_BYTES", 2**22)
    run_seed(5, journals=tmp_path)
    (folder,) = tmp_path.iterdir()
    last = list_segments(folder)[-1].path
    content, random, counts = last.read_bytes(), Random("kill"), set()
    for _ in range(12):
        last.write_bytes(content[: random.randrange(len(content))])
        try:
            report = Replay(rules).run(read_journal(folder))
        except JournalError as error:
            # The writer was killed before anything could be read.
            assert "without its beginning" in str(error) or "holds no journal" in str(error)
            continue
        assert report.reproduced
        counts.add(report.attempts)
    assert len(counts) > 3


@pytest.mark.parametrize("run", [PodGroupRun, GangRun])
@pytest.mark.parametrize("seed", range(3))
def test_every_decision_about_gangs_is_reproduced(
    run: type[GangRun], seed: int, tmp_path: Path
) -> None:
    run_virtually(run(seed, journals=tmp_path).run(), Random(f"{seed}/order"))
    assert replay(tmp_path).attempts > 0
    groups = [entry for entry in read_journal(tmp_path) if isinstance(entry, GroupBegins)]
    assert bool(groups) is (run is PodGroupRun)


@pytest.mark.parametrize("seed", TREES)
def test_every_decision_about_trees_is_reproduced(seed: int, tmp_path: Path) -> None:
    assert not run_group_trees(seed, journals=tmp_path).violations
    assert replay(tmp_path).attempts > 0
    groups = [entry for entry in read_journal(tmp_path) if isinstance(entry, GroupBegins)]
    assert any(group.composite for group in groups)
    for segment in list_segments(tmp_path)[:-1]:
        segment.path.unlink()
        replay(tmp_path)
