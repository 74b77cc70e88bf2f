"""What nominated pods mean for pods that are alike."""

from __future__ import annotations

import pytest

from mooring.api import Pod
from mooring.cycle import filtering, nominated
from mooring.offline.memory_scheduler import MemoryScheduler, drive
from mooring.testing import make_node, make_pod


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collect how many nodes were asked about with their nominated pods, each time."""
    counts: list[int] = []

    def counting(*args: object) -> object:
        counts.append(len(args[3]))  # type: ignore[arg-type]
        return filtering.refused_with(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(nominated, "refused_with", counting)
    return counts


@pytest.fixture
def scheduler() -> MemoryScheduler:
    """Return a scheduler of three nodes, each with one pod and room kept for another."""
    made = MemoryScheduler([make_node(f"n{i}", cpu=4) for i in range(3)], reuse=False)
    for i in range(3):
        made.cluster.add(make_pod(f"low-{i}", cpu=2, node=f"n{i}", priority=0))
        made.cluster.add(make_pod(f"kept-{i}", cpu=2, nominated_node=f"n{i}", priority=9))
    return made


def place(scheduler: MemoryScheduler, pod: Pod) -> str:
    """Return where a pod would go; it is not told to anyone."""
    attempt = drive(scheduler.decide(pod))
    scheduler.discard(attempt)
    return attempt.decision.node_name


def make_mean(name: str, priority: int = 5) -> Pod:
    return make_pod(name, cpu=2, priority=priority, spec={"preemptionPolicy": "Never"})


def test_only_what_has_changed_is_asked_again(scheduler: MemoryScheduler, asked: list[int]) -> None:
    assert place(scheduler, make_mean("a")) == ""
    assert place(scheduler, make_mean("b")) == ""
    assert asked == [3]
    assert place(scheduler, make_mean("c", priority=9)) == ""
    assert asked == [3, 3]


def test_room_that_comes_is_seen(scheduler: MemoryScheduler, asked: list[int]) -> None:
    assert place(scheduler, make_mean("a")) == ""
    low = scheduler.cluster.pods.get("low-1", "default")
    assert low is not None
    scheduler.cluster.delete(low)
    assert place(scheduler, make_mean("b")) == "n1"
    assert asked == [3, 1]


def test_a_nomination_that_ends_is_seen(scheduler: MemoryScheduler, asked: list[int]) -> None:
    assert place(scheduler, make_mean("a")) == ""
    kept = scheduler.cluster.pods.get("kept-2", "default")
    assert kept is not None
    scheduler.cluster.delete(kept)
    assert place(scheduler, make_mean("b")) == "n2"
    assert asked == [3]


def test_a_nomination_that_comes_is_seen(scheduler: MemoryScheduler, asked: list[int]) -> None:
    scheduler.cluster.add(make_node("n3", cpu=2))
    assert place(scheduler, make_mean("a")) == "n3"
    scheduler.cluster.add(make_pod("kept-3", cpu=1, nominated_node="n3", priority=9))
    assert place(scheduler, make_mean("b")) == ""
    assert asked == [3, 1]


def test_its_own_nomination_does_not_count_for_a_pod(
    scheduler: MemoryScheduler, asked: list[int]
) -> None:
    own = make_mean("own", priority=9)
    scheduler.cluster.add(make_node("n3", cpu=2))
    scheduler.cluster.add(own)
    scheduler.cluster.nominator.add(own, "n3")
    assert place(scheduler, make_mean("a", priority=9)) == ""
    assert place(scheduler, own) == "n3"
    assert place(scheduler, make_mean("b", priority=9)) == ""
