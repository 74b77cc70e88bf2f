"""The journal of a shadow holds each comparison, and can be replayed and explained."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mooring import Plugin, Status
from mooring.config import default_config
from mooring.framework.features import FeatureGates
from mooring.journal.entries import (
    AttemptBegins,
    AttemptEnds,
    Compared,
    Entry,
    PodUpdate,
    SegmentHead,
)
from mooring.journal.head import make_head
from mooring.journal.journal import SchedulingJournal
from mooring.journal.journal_reading import read_journal
from mooring.journal.segment_writer import SegmentWriter
from mooring.journal.segments import list_segments
from mooring.observe.journal_metrics import JournalMetrics
from mooring.observe.metrics import Metrics
from mooring.registry import default_registry
from mooring.replay import engine
from mooring.replay.attempt_comparison import AttemptVerdict
from mooring.replay.journal_explanation import (
    choose_attempt,
    explain_attempt,
    find_attempts,
)
from mooring.replay.own_history import OwnHistory
from mooring.replay.replay_rules import recorded_rules
from mooring.replay.replaying import RunRules
from mooring.replay.report_text import replay_lines
from mooring.shadow import shadow
from mooring.shadow.comparison import Verdict
from mooring.ui.journal_moment import journal_span, read_moment_of
from mooring.ui.seen_decisions import ShadowOpinion
from tests.journal.journals import read
from tests.replay.recordings import replayed, write_config
from tests.shadow.test_shadow import PODS, bind, declare_unschedulable, pod, shadowed
from tests.support.virtual_loop import LoopClock, run_virtually

NODES = {"big": "64", "middle": "8", "small": "2"}
#: Pods, and the nodes that the other scheduler chooses for them; "" is no node.
PLACEMENTS = (
    ("agreed", "1", "big"),
    ("lost", "1", "small"),
    ("refused", "30", "small"),
    ("too-big", "900", "small"),
    ("waits", "2", ""),
    ("later", "1", "big"),
)
VERDICTS = {
    "agreed": "agreed",
    "lost": "other node",
    "refused": "refused by us",
    "too-big": "pending here",
    "waits": "pending there",
    "later": "agreed",
}
MOST_ALLOCATED = """\
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}
"""


def record(
    folder: Path, *plugins: type[Plugin], apart: float = 2.0, segment_bytes: int = 2**20
) -> Path:
    """Record a shadow; return the folder of its journal."""
    target = folder / "journal"

    async def live() -> None:
        registry, clock = default_registry(plugins), LoopClock()
        config = default_config(registry=registry, enabled=[plugin.name for plugin in plugins])
        writer = SegmentWriter(target, max_bytes=2**22, segment_bytes=segment_bytes)
        head = make_head(
            config, registry=registry, features=FeatureGates(), now=clock.now(), theirs=config
        )
        journal = SchedulingJournal(writer, head, clock, JournalMetrics(Metrics().registry))
        async with shadowed(NODES, rules=config, plugins=plugins, journal=journal) as following:
            server, beside, running = following
            for name, cpu, chosen in PLACEMENTS:
                await clock.sleep(apart)
                await server.ask("POST", PODS, pod(name, cpu))
                await clock.sleep(0.01)
                running.scheduler.inbox.drain()
                if chosen:
                    await bind(server, running, name, chosen)
                else:
                    await declare_unschedulable(server, running, name)
                beside.look()
                journal.pump()
            await clock.sleep(apart)
            await bind(server, running, "waits", "big")
        journal.close()
        writer.close()

    run_virtually(live())
    return target


def verdicts(folder: Path) -> dict[str, list[str]]:
    """Return the recorded verdicts by the name of the pod."""
    names = {entry.uid: entry.name for entry in read(folder, AttemptBegins)}
    found: dict[str, list[str]] = {}
    for entry in read(folder, Compared):
        found.setdefault(names[entry.uid], []).append(entry.verdict)
    return found


def test_each_comparison_is_written_with_the_decision(tmp_path: Path) -> None:
    folder = record(tmp_path)
    assert verdicts(folder) == {
        name: [verdict, "agreed"] if name == "waits" else [verdict]
        for name, verdict in VERDICTS.items()
    }
    begins, ends = read(folder, AttemptBegins), read(folder, AttemptEnds)
    assert all(entry.beside and not entry.post_filter for entry in begins)
    assert [entry.record.seed for entry in ends] == [entry.seed for entry in begins]
    assert [entry.attempt for entry in begins if entry.name == "waits"] == [1, 2]
    lost = next(one for one in read(folder, Compared) if one.verdict == "other node")
    assert (lost.theirs, lost.ours, lost.plugin) == ("small", "big", "NodeResourcesFit")
    assert lost.lost > 0
    (head,) = read(folder, SegmentHead)
    assert head.their_config["kind"] == "KubeSchedulerConfiguration"


def test_every_decision_and_comparison_comes_out_as_recorded(tmp_path: Path) -> None:
    report = replayed(record(tmp_path))
    assert report.reproduced, "\n".join(replay_lines(report))
    assert (report.attempts, len(report.pods)) == (7, 6)
    assert report.shadow is not None
    assert dict(report.shadow.recorded.counts) == {
        Verdict.AGREED: 3,
        Verdict.OTHER_NODE: 1,
        Verdict.REFUSED: 1,
        Verdict.PENDING_HERE: 1,
        Verdict.PENDING_THERE: 1,
    }
    line = next(one for one in replay_lines(report) if one.startswith("the other scheduler"))
    lost = report.shadow.recorded.lost
    assert line == (
        f"the other scheduler: 3 of 7 decided alike (42.9%), {lost} points lost, as recorded"
    )


def test_undecidable_comparisons_stay_undecidable(tmp_path: Path) -> None:
    folder = record(tmp_path, apart=0.1)
    assert "undecidable" in {one for found in verdicts(folder).values() for one in found}
    assert replayed(folder).reproduced


def test_a_replay_can_begin_with_any_segment(tmp_path: Path) -> None:
    folder = record(tmp_path, segment_bytes=2**9)
    segments = list_segments(folder)
    assert len(segments) > 1
    for segment in segments[:-1]:
        segment.path.unlink()
        assert replayed(folder).reproduced


class Gate(Plugin):
    """A plugin that keeps pods of one name out of the queue."""

    def pre_enqueue(self, pod: Any) -> Status | None:
        return Status.unresolvable("not yet") if pod.metadata.name == "lost" else None


def test_a_pod_that_is_kept_out_of_the_queue(tmp_path: Path) -> None:
    folder = record(tmp_path, Gate)
    assert verdicts(folder)["lost"] == ["pending here"]
    assert replayed(folder, plugins=[Gate]).reproduced
    chosen = choose_attempt(find_attempts(folder, "lost", ""), None)
    explained = explain_attempt(folder, chosen, lambda head: RunRules(recorded_rules(head, [Gate])))
    assert explained.found.decision.pre_enqueue is not None
    assert explained.attempt.compared is not None


def test_a_shadow_that_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(scheduler: Any, pod: Any) -> Any:
        if pod.metadata.name == "lost":
            raise ValueError("broken")
        return decide(scheduler, pod)

    decide = shadow.decide_beside
    monkeypatch.setattr(shadow, "decide_beside", fail)
    monkeypatch.setattr(engine, "decide_beside", fail)
    folder = record(tmp_path)
    assert verdicts(folder)["lost"] == ["error"]
    report = replayed(folder)
    assert (report.reproduced, report.attempts, report.undecided) == (True, 6, 1)


# Planted faults.


def lose_a_comparison(entries: list[Entry]) -> None:
    entries.remove(next(one for one in entries if isinstance(one, Compared)))


def lose_a_decision(entries: list[Entry]) -> None:
    entries.remove(next(one for one in entries if isinstance(one, AttemptBegins)))


def compare_after_the_change(entries: list[Entry]) -> None:
    """Move a decision and its comparison after the change that showed the pod's node."""
    place = next(
        place
        for place, one in enumerate(entries)
        if isinstance(one, AttemptBegins) and one.name == "refused"
    )
    three = entries[place : place + 3]
    assert isinstance(entries[place + 3], PodUpdate)
    entries[place : place + 4] = [entries[place + 3], *three]


def swap_two_comparisons(entries: list[Entry]) -> None:
    first, second, *_ = (place for place, one in enumerate(entries) if isinstance(one, Compared))
    entries[first], entries[second] = entries[second], entries[first]


def change_a_verdict(entries: list[Entry]) -> None:
    place = next(place for place, one in enumerate(entries) if isinstance(one, Compared))
    entries[place] = replace(entries[place], verdict="other node", lost=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(lose_a_comparison, id="a comparison is lost"),
        pytest.param(lose_a_decision, id="a decision is lost"),
        pytest.param(compare_after_the_change, id="a comparison comes after the change"),
        pytest.param(swap_two_comparisons, id="two comparisons change places"),
        pytest.param(change_a_verdict, id="a verdict is another one"),
    ],
)
def test_a_journal_with_a_fault_is_detected(
    fault: Callable[[list[Entry]], None], tmp_path: Path
) -> None:
    def spoiled(entries: Any) -> list[Entry]:
        kept = list(entries)
        fault(kept)
        return kept

    assert not replayed(record(tmp_path), spoiled).reproduced


def test_other_rules_change_the_agreement(tmp_path: Path) -> None:
    folder = record(tmp_path)
    report = replayed(folder, config=write_config(tmp_path, MOST_ALLOCATED))
    assert report.reproduced, "by the recorded rules"
    assert report.counts[AttemptVerdict.SAME] < 7
    found = report.shadow
    assert found is not None
    assert found.recorded.counts.total() == found.other.counts.total() == 7
    assert found.changes[Verdict.OTHER_NODE, Verdict.AGREED] == 1
    assert found.other.agreed != found.recorded.agreed
    lines = list(replay_lines(report))
    assert any(line.endswith("points lost, by " + report.rules) for line in lines)
    assert "  1  other node → agreed" in lines


def test_the_past_shows_what_the_other_scheduler_did(tmp_path: Path) -> None:
    folder = record(tmp_path)
    _, end = journal_span(folder)
    moment = read_moment_of(folder, end, recorded_rules)
    assert moment.is_shadow
    seen = {one.name: one for one in moment.decisions.after(0, 9)}
    pods = [info.pod for info in moment.scheduler.cache.pods]
    moment.close()
    lost = seen["lost"]
    assert (lost.outcome, lost.node, lost.message) == ("bound", "small", "")
    assert lost.compared is not None and lost.compared.lost > 0
    assert replace(lost.compared, lost=0) == ShadowOpinion(
        "other node", "big", plugin="NodeResourcesFit"
    )
    waits = seen["waits"]
    assert (waits.outcome, waits.node) == ("bound", "big")
    assert waits.compared == ShadowOpinion("agreed", "big")
    assert {one.metadata.name: one.spec.node_name for one in pods} == {
        name: chosen or "big" for name, _, chosen in PLACEMENTS
    }


def test_the_pods_of_a_shadow_can_be_scheduled_again(tmp_path: Path) -> None:
    report = asyncio.run(OwnHistory(recorded_rules).run(read_journal(record(tmp_path))))
    assert (len(report.recorded.pods), report.recorded.bound) == (6, 6)
    assert report.own.bound == 5, "one fits nowhere by these rules"
