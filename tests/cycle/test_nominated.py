"""The cache of refusals because of nominated pods, for identical pods."""

from __future__ import annotations

import pytest

from mooring.api import Pod
from mooring.cycle import filtering, nominated
from mooring.testing import make_node, make_pod
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collect how many nodes were filtered with their nominated pods, each time."""
    counts: list[int] = []

    def counting(*args: object) -> object:
        counts.append(len(args[3]))  # type: ignore[arg-type]
        return filtering.refused_with(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(nominated, "refused_with", counting)
    return counts


@pytest.fixture
def scheduler() -> MemoryScheduler:
    """Return a scheduler of three nodes, each with one pod and another one nominated."""
    made = MemoryScheduler([make_node(f"n{i}", cpu=4) for i in range(3)], reuse=False)
    for i in range(3):
        made.cluster.add(make_pod(f"low-{i}", cpu=2, node=f"n{i}", priority=0))
        made.cluster.add(make_pod(f"kept-{i}", cpu=2, nominated_node=f"n{i}", priority=9))
    return made


def place(scheduler: MemoryScheduler, pod: Pod) -> str:
    """Return the node that a pod would get, and discard the attempt."""
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
    scheduler.nominator.add(own, "n3")
    assert place(scheduler, make_mean("a", priority=9)) == ""
    assert place(scheduler, own) == "n3"
    assert place(scheduler, make_mean("b", priority=9)) == ""


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the nodes whose nominated pods were looked at."""
    names: list[str] = []

    def noting(nominator: object, pod: object, name: str) -> object:
        names.append(name)
        return filtering.nominated_before(nominator, pod, name)  # type: ignore[arg-type]

    monkeypatch.setattr(nominated, "nominated_before", noting)
    return names


def test_a_node_whose_nominations_ended_is_looked_at_no_more_when_node_objects_change(
    scheduler: MemoryScheduler, looked: list[str]
) -> None:
    place(scheduler, make_mean("a"))
    kept = scheduler.cluster.pods.get("kept-1", "default")
    assert kept is not None
    scheduler.cluster.delete(kept)
    scheduler.cluster.add(make_node("n3", cpu=1))
    looked.clear()
    assert place(scheduler, make_mean("b")) == "n1"
    assert looked == ["n0", "n2"]
    scheduler.cluster.add(make_pod("more", node="n1"))
    looked.clear()
    place(scheduler, make_mean("c"))
    assert looked == []


def test_a_node_without_nominated_pods_is_looked_at_no_more(
    scheduler: MemoryScheduler, looked: list[str]
) -> None:
    place(scheduler, make_mean("a"))
    kept = scheduler.cluster.pods.get("kept-1", "default")
    assert kept is not None
    scheduler.cluster.delete(kept)
    place(scheduler, make_mean("b"))
    assert looked == ["n0", "n1", "n2", "n1"]
    # The pods of two nodes change; only one of the nodes has a nominated pod.
    for name in ("n1", "n2"):
        scheduler.cluster.add(make_pod(f"more-{name}", node=name))
    looked.clear()
    place(scheduler, make_mean("c"))
    assert looked == ["n2"]


@pytest.mark.parametrize("row", [0, 1, 2])
def test_the_pods_own_nomination_does_not_count_and_those_of_others_do(
    scheduler: MemoryScheduler, row: int
) -> None:
    kept = scheduler.cluster.pods.get(f"kept-{row}", "default")
    assert kept is not None
    like_it = make_pod("like", cpu=2, priority=9)
    assert place(scheduler, like_it) == ""
    assert place(scheduler, kept) == f"n{row}"
    # The result for that pod, whose own nomination was ignored, is not reused for others.
    assert place(scheduler, like_it) == ""
    assert place(scheduler, kept) == f"n{row}"


def test_a_node_that_comes_back_is_asked_again(scheduler: MemoryScheduler) -> None:
    assert place(scheduler, make_mean("a")) == ""
    scheduler.cluster.add(make_node("n1", cpu=8))
    assert place(scheduler, make_mean("b")) == "n1"
    scheduler.cluster.add(make_node("n1", cpu=4))
    assert place(scheduler, make_mean("c")) == ""


def test_only_so_many_kinds_of_pods_are_remembered(
    scheduler: MemoryScheduler, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nominated, "_KINDS_OF_PODS", 2)
    for priority in (5, 6, 5, 7):
        place(scheduler, make_mean("a", priority))
    assert asked == [3, 3, 3]
    place(scheduler, make_mean("b", 5))
    assert asked == [3, 3, 3]
    place(scheduler, make_mean("c", 6))
    assert asked == [3, 3, 3, 3]


def test_four_kinds_of_pods_are_remembered(scheduler: MemoryScheduler, asked: list[int]) -> None:
    for priority in (5, 6, 7, 8, 5):
        place(scheduler, make_mean("a", priority))
    assert asked == [3] * 4
    place(scheduler, make_mean("b", 9))
    place(scheduler, make_mean("c", 5))
    assert asked == [3] * 5
    place(scheduler, make_mean("d", 6))
    assert asked == [3] * 6


def test_more_changes_of_nominations_than_are_remembered_are_seen(
    scheduler: MemoryScheduler,
) -> None:
    assert place(scheduler, make_mean("a")) == ""
    kept = scheduler.cluster.pods.get("kept-1", "default")
    assert kept is not None
    scheduler.cluster.delete(kept)
    nominator = scheduler.nominator
    other = make_mean("other")
    scheduler.cluster.add(other)
    for _ in range(2050):
        nominator.add(other, "n0")
        nominator.delete(other.metadata.uid)
    assert place(scheduler, make_mean("b")) == "n1"
