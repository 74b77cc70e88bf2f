"""The recorded decisions again, with what an identical pod was told taken over."""

from __future__ import annotations

from typing import Any

from mooring.testing import make_pod
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.conformance import replay
from tests.conformance.batches import in_batches
from tests.conformance.recordings import SCENARIOS, record
from tests.conformance.test_vectors import differences
from tests.cycle.reuse_scenes import hits

#: What is not worked out where one node is left: nothing remains to be chosen.
OF_SCORING = ("scores", "skippedScore", "total")


def unexamined(run: replay.Replay) -> MemoryScheduler:
    """Let a replay decide as a live scheduler does: an examination takes nothing over."""
    scheduler = run.scheduler
    decide = scheduler.decide
    scheduler.decide = lambda pod, examine: decide(pod)  # type: ignore[method-assign]
    return scheduler


def touch(scheduler: MemoryScheduler) -> None:
    """Put a pod on a node and take it off again: the row counts as changed."""
    cache = scheduler.cache
    passing = make_pod("passing-by", cpu="1", host_ports=[1])
    cache.assume_pod(passing, cache.nodes.names[0])
    cache.forget_pod(passing.metadata.uid)


def same(ours: dict[str, Any], recorded: dict[str, Any]) -> list[str]:
    if len(recorded["feasible"] or ()) == 1:
        recorded = {**recorded, **dict.fromkeys(OF_SCORING)}
    return differences(ours, recorded)


def decide_twice(run: replay.Replay) -> dict[str, Any]:
    """Decide for a scenario's pod, touch a row, and return the second decision."""
    run.one()
    if len(run.scheduler.cache.nodes):
        touch(run.scheduler)
    return run.one()


@in_batches(SCENARIOS)
def test_decides_as_recorded_when_an_identical_pod_came_before(
    release: str, group: str, index: int
) -> None:
    scenario, expected = record(release, group, index)
    run = replay.Replay(scenario, release)
    scheduler = unexamined(run)
    if not run.is_sequence:
        again = decide_twice(run)
        assert not hits(scheduler) or same(again, expected) == []
        return
    recorded = expected["sequence"]
    entries = run.sequence(recorded)
    assert (
        not hits(scheduler)
        or [
            difference
            for entry, wanted in zip(entries, recorded, strict=True)
            for difference in same(entry, wanted)
        ]
        == []
    )


def test_pods_that_only_ask_for_resources_do_take_over() -> None:
    reused = []
    for release, group, index, _ in SCENARIOS:
        if group == "noderesources-fit":
            run = replay.Replay(record(release, group, index)[0], release)
            unexamined(run)
            decide_twice(run)
            reused.append(hits(run.scheduler))
    assert sum(reused) > len(reused) / 2
