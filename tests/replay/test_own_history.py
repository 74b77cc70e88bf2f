"""The history that other rules would have made, beside the recorded one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring.config.rules import Rules
from mooring.journal.entries import AttemptEnds, Entry, GroupEnds, SegmentHead
from mooring.journal.journal_reading import read_journal
from mooring.replay.own_history import (
    HistorySide,
    OwnHistory,
    OwnHistoryReport,
    PodTimes,
)
from mooring.replay.replay_rules import other_rules, recorded_rules
from mooring.scheduler.scheduler import Scheduler
from tests.journal.journals import read
from tests.replay.recordings import (
    JournaledCluster,
    journaled,
    node,
    pod,
    schedule_some,
    write_config,
)
from tests.soak.group_trees import run_group_trees


def own_history(
    folder: Path, config: Path | None = None, since: float | None = None
) -> OwnHistoryReport:
    def rules_of(head: SegmentHead) -> Rules:
        return recorded_rules(head) if config is None else other_rules(head, str(config), ())

    entries = read_journal(folder, since=since)
    return asyncio.run(OwnHistory(rules_of).run(entries, since))


def test_the_same_rules_make_the_same_history(tmp_path: Path) -> None:
    journaled(tmp_path, schedule_some)
    report = own_history(tmp_path)
    assert len(report.own.pods) == len(report.recorded.pods) == 8
    assert report.own.bound == report.recorded.bound == 7
    assert report.own.usage.most_nodes == report.recorded.usage.most_nodes == 1
    assert report.own.preemptions == report.recorded.preemptions == 0


def test_the_new_placements_stand(tmp_path: Path) -> None:
    async def play(cluster: JournaledCluster) -> None:
        await cluster.create(node("one", "8"), node("two", "8"))
        for number in range(4):
            await cluster.create(pod(f"web-{number}", "1"))
            await cluster.schedule()
        await cluster.clock.sleep(60.0)
        await cluster.create(pod("last", "1"))
        await cluster.schedule()

    journaled(tmp_path / "journal", play)
    packing = write_config(
        tmp_path,
        "  pluginConfig:\n"
        "  - name: NodeResourcesFit\n"
        "    args:\n"
        "      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}\n"
        "  plugins:\n"
        "    multiPoint:\n"
        "      disabled: [{name: NodeResourcesBalancedAllocation}]\n",
    )
    report = own_history(tmp_path / "journal", packing)
    assert report.recorded.usage.most_nodes == 2
    assert report.own.usage.most_nodes == 1
    assert report.own.bound == report.recorded.bound == 5
    assert report.own.usage.share("cpu") == pytest.approx(report.recorded.usage.share("cpu"), 0.01)


def test_a_pod_that_departs_makes_room(tmp_path: Path) -> None:
    async def play(cluster: JournaledCluster) -> None:
        await cluster.create(node("one", "1"))
        await cluster.create(pod("first", "1"))
        await cluster.schedule()
        await cluster.create(pod("second", "1"))
        await cluster.schedule()
        await cluster.clock.sleep(30.0)
        gone = {"gracePeriodSeconds": 0}
        await cluster.server.ask("DELETE", "/api/v1/namespaces/default/pods/first", gone)
        await cluster.clock.sleep(0.1)
        await cluster.schedule()

    journaled(tmp_path, play)
    report = own_history(tmp_path)
    assert (report.own.bound, report.recorded.bound) == (2, 2)
    (_, waited) = report.own.waits(report.end)
    assert 29.0 < waited < 32.0


def test_nothing_is_scheduled_before_the_recorded_scheduler_begins(tmp_path: Path) -> None:
    async def play(cluster: JournaledCluster) -> None:
        await cluster.create(pod("web", "1"))
        cluster.running.scheduler.inbox.drain()
        await cluster.clock.sleep(0.5)
        await cluster.create(node("one", "8"))
        await cluster.schedule()

    journaled(tmp_path, play)
    report = own_history(tmp_path)
    # Without its node the first attempt would fail, and the pod would back off.
    assert max(report.own.waits(report.end)) < 0.8


def test_pods_that_arrived_before_stay_where_they_are(tmp_path: Path) -> None:
    async def play(cluster: JournaledCluster) -> float:
        await cluster.create(node("one", "8"), node("two", "8"))
        await cluster.create(pod("early", "1"))
        await cluster.schedule()
        await cluster.clock.sleep(5.0)
        moment = cluster.clock.now()
        await cluster.create(pod("late", "1"))
        await cluster.schedule()
        return moment

    moment = journaled(tmp_path, play)
    report = own_history(tmp_path, since=moment)
    assert len(report.own.pods) == 1
    assert report.own.bound == 1
    assert report.own.usage.most_nodes == 2


def test_preemptions_of_both_sides_are_counted(tmp_path: Path) -> None:
    async def play(cluster: JournaledCluster) -> None:
        high = {"metadata": {"name": "high"}, "value": 1000}
        await cluster.server.ask("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", high)
        await cluster.create(node("one", "1"))
        await cluster.create(pod("victim", "1"))
        await cluster.schedule()
        await cluster.create(pod("urgent", "1", priorityClassName="high"))
        await cluster.schedule()
        await cluster.clock.sleep(2.0)
        await cluster.schedule()

    journaled(tmp_path, play)
    report = own_history(tmp_path)
    assert (report.recorded.preemptions, report.own.preemptions) == (1, 1)


def test_the_wait_of_a_pod() -> None:
    assert PodTimes(1.0, bound=3.0, departed=9.0).pending(20.0) == 2.0
    assert PodTimes(1.0, departed=9.0).pending(20.0) == 8.0
    assert PodTimes(1.0).pending(20.0) == 19.0
    side = HistorySide(pods={"a": PodTimes(1.0), "b": PodTimes(1.0, bound=2.0)})
    assert side.waits(20.0) == [1.0, 19.0]
    assert side.bound == 1


def test_trees_of_groups_are_scheduled_as_a_whole(tmp_path: Path) -> None:
    # Some pods wait for more than five minutes; the recorded scheduler did not flush them.
    run_group_trees(6, faults=False, journals=tmp_path)
    report = own_history(tmp_path)
    assert report.own.bound == report.recorded.bound == len(report.recorded.pods) == 13


def test_the_victims_of_a_recorded_group_do_not_depart(tmp_path: Path) -> None:
    run_group_trees(1, faults=False, journals=tmp_path)
    victims = {victim for entry in read(tmp_path, GroupEnds) for victim in entry.victims}
    report = own_history(tmp_path)
    assert report.recorded.preemptions == len(victims) == 2
    assert report.own.preemptions > 0
    assert report.own.bound == report.recorded.bound == 16


def turns_of(entries: Iterable[Entry], monkeypatch: pytest.MonkeyPatch, limit: int) -> int:
    """Simulate entries; return how many pods were tried, and fail above a limit."""
    turn, tried = Scheduler.turn, 0

    async def counted(scheduler: Scheduler) -> bool:
        nonlocal tried
        worked = await turn(scheduler)
        tried += worked
        if tried > limit:
            pytest.fail(f"more than {limit} attempts")
        return worked

    monkeypatch.setattr(Scheduler, "turn", counted)
    asyncio.run(OwnHistory(recorded_rules).run(entries))
    return tried


def test_a_gap_of_centuries_is_not_simulated_attempt_by_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journaled(tmp_path, schedule_some)
    entries: Sequence[Entry] = read(tmp_path)
    later = [replace(entry, time=entry.time + 500 * 365 * 86400.0) for entry in entries[-3:]]
    # One pod fits nowhere and is tried again every five minutes.
    assert 8 < turns_of([*entries, *later], monkeypatch, 200) < 100


def test_no_more_pods_are_tried_than_a_scheduler_that_runs_could(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(cluster: JournaledCluster) -> None:
        await cluster.create(node("one", "1"))
        for number in range(40):
            await cluster.create(pod(f"web-{number}", "1"))
        await cluster.schedule()
        for number in range(10):
            gone = {"gracePeriodSeconds": 0}
            await cluster.server.ask(
                "DELETE", f"/api/v1/namespaces/default/pods/web-{number}", gone
            )
            await cluster.clock.sleep(1.0)
            await cluster.schedule()

    journaled(tmp_path, play)
    entries: Sequence[Entry] = read(tmp_path)
    seconds = entries[-1].time - entries[0].time
    slow = [
        replace(entry, time=entry.time + 0.25) if isinstance(entry, AttemptEnds) else entry
        for entry in entries
    ]
    # Nothing is known of the time of an attempt before the first one has ended.
    assert turns_of(slow, monkeypatch, 1000) <= 40 + seconds / 0.25 + 1
