"""The replay of a journal on its recorded state, by its rules and by others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring import Plugin, Status
from mooring.journal.entries import (
    AttemptBegins,
    Change,
    Entry,
    Permitted,
    Reserved,
)
from mooring.journal.frames import make_frame
from mooring.journal.segments import segment_path
from mooring.replay.attempt_comparison import AttemptVerdict
from tests.replay.recordings import (
    JournaledCluster,
    journaled,
    node,
    pod,
    replayed,
    schedule_some,
    write_config,
)

MOST_ALLOCATED = """\
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}
"""


def test_every_decision_comes_out_as_recorded(tmp_path: Path) -> None:
    journaled(tmp_path, schedule_some)
    report = replayed(tmp_path)
    assert report.reproduced
    assert (report.attempts, report.scheduled, len(report.pods)) == (9, 7, 8)
    assert report.deviations == []


def test_the_plugins_of_a_journal_are_applied(tmp_path: Path) -> None:
    class NoBig(Plugin):
        def filter(self, state: object, pod: object, node: object) -> Status | None:
            return Status.unschedulable("too big") if node.name == "big" else None  # type: ignore[attr-defined]

    journaled(tmp_path, schedule_some, NoBig)
    report = replayed(tmp_path, plugins=[NoBig])
    assert report.reproduced
    assert report.scheduled < 7


# Planted faults.


def lose_a_change(entries: Iterator[Entry]) -> Iterable[Entry]:
    lost = False
    for entry in entries:
        if isinstance(entry, Change) and entry.name == "web-1" and entry.deleted:
            lost = True
            continue
        yield entry
    assert lost


def lose_a_new_pod(entries: Iterator[Entry]) -> Iterable[Entry]:
    return (
        entry
        for entry in entries
        if not (isinstance(entry, Change) and entry.name == "web-2" and not entry.known)
    )


def lose_what_was_assumed(entries: Iterator[Entry]) -> Iterable[Entry]:
    return (entry for entry in entries if not isinstance(entry, Reserved | Permitted))


@pytest.mark.parametrize("fault", [lose_a_change, lose_a_new_pod, lose_what_was_assumed])
def test_a_journal_that_lacks_entries_is_detected(tmp_path: Path, fault: object) -> None:
    async def play(cluster: JournaledCluster) -> None:
        await schedule_some(cluster)
        await cluster.create(*(pod(f"more-{number}", "16") for number in range(4)))
        # No bind is seen before the next pod is decided.
        while await cluster.running.scheduler.turn():
            pass
        await cluster.schedule()

    journaled(tmp_path, play)
    assert replayed(tmp_path).reproduced
    assert not replayed(tmp_path, fault).reproduced  # type: ignore[arg-type]


def test_another_seed_is_detected(tmp_path: Path) -> None:
    async def play(cluster: JournaledCluster) -> None:
        await cluster.create(*(node(f"equal-{number}") for number in range(50)))
        await cluster.create(pod("one"))
        await cluster.schedule()

    journaled(tmp_path, play)

    def reseed(entries: Iterator[Entry]) -> Iterable[Entry]:
        for entry in entries:
            if isinstance(entry, AttemptBegins):
                entry = replace(entry, seed=entry.seed ^ 0x5A5A_5A5A_5A5A_5A5A)
            yield entry

    report = replayed(tmp_path, reseed)
    assert report.deviating == 1
    assert report.deviations[0].what == "node"


class Whimsical(Plugin):
    """A plugin that scores one way, or another."""

    points = 10

    def score(self, state: object, pod: object, node: object) -> int:
        return self.points if node.name == "small" else 0  # type: ignore[attr-defined]


def test_the_plugin_that_answers_differently_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journaled(tmp_path, schedule_some, Whimsical)
    monkeypatch.setattr(Whimsical, "points", 97)
    report = replayed(tmp_path, plugins=[Whimsical])
    assert not report.reproduced
    assert {one.plugin for one in report.deviations} == {"Whimsical"}


# Other rules.


def test_another_configuration_is_compared_attempt_by_attempt(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    journaled(journal, schedule_some)
    report = replayed(journal, config=write_config(tmp_path, MOST_ALLOCATED))
    assert report.other_rules
    assert report.reproduced
    assert report.counts.total() == report.attempts == 9
    moved = report.counts[AttemptVerdict.ANOTHER_NODE]
    assert moved > 0
    assert report.counts[AttemptVerdict.SAME] + moved == 9
    assert set(report.plugins) == {(AttemptVerdict.ANOTHER_NODE, "NodeResourcesFit")}
    example = report.examples[AttemptVerdict.ANOTHER_NODE, "NodeResourcesFit"][0]
    assert (example.recorded, example.node) == ("big", "small")
    assert example.points > 0


def test_a_plugin_that_is_added_is_named(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    journaled(journal, schedule_some)
    source = tmp_path / "no_big.py"
    source.write_text(
        "from mooring import Plugin, Status\n"
        "class NoBig(Plugin):\n"
        "    def filter(self, state, pod, node):\n"
        "        if node.name == 'big':\n"
        "            return Status.unschedulable('too big')\n"
    )
    report = replayed(journal, references=[f"{source}:NoBig"])
    assert report.counts[AttemptVerdict.SAME] < report.attempts
    assert {plugin for _, plugin in report.plugins} <= {"NoBig", "NodeResourcesFit"}
    assert any(plugin == "NoBig" for _, plugin in report.plugins)


def test_a_plugin_that_is_removed_is_named(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    journaled(journal, schedule_some)
    config = write_config(
        tmp_path, "  plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}\n"
    )
    report = replayed(journal, config=config)
    key = (AttemptVerdict.SCHEDULED_INSTEAD, "NodeResourcesFit")
    assert report.plugins[key] == 2
    example = report.examples[key][0]
    assert (example.pod, example.recorded) == ("default/huge", "")
    assert "Insufficient cpu" in example.reason


def test_a_profile_that_is_gone_leaves_pods_pending(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    journaled(journal, schedule_some)
    config = write_config(tmp_path)
    config.write_text(config.read_text().replace("default-scheduler", "another"))
    report = replayed(journal, config=config)
    assert report.counts[AttemptVerdict.PENDING_INSTEAD] == 7
    ((example, *_),) = report.examples.values()
    assert example.reason.startswith('no profile serves schedulerName "default-scheduler"')


def test_attempts_before_a_time_are_not_counted(tmp_path: Path) -> None:
    async def play(cluster: JournaledCluster) -> float:
        await cluster.create(node("one"))
        await cluster.create(pod("early"))
        await cluster.schedule()
        moment = cluster.clock.now()
        await cluster.clock.sleep(5.0)
        await cluster.create(pod("late"))
        await cluster.schedule()
        return moment

    moment = journaled(tmp_path, play)
    report = replayed(tmp_path, since=moment)
    assert report.reproduced
    assert report.pods == {"default/late"}


def test_a_journal_of_an_earlier_format_is_replayed(tmp_path: Path) -> None:
    lines = Path(__file__).with_name("journal_format_1.jsonl").read_bytes()
    segment_path(tmp_path, 1).write_bytes(make_frame(lines))
    report = replayed(tmp_path)
    assert (report.reproduced, report.attempts, report.scheduled) == (True, 9, 7)
