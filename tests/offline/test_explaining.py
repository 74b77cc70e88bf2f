"""A scheduler that explains some pods' attempts."""

from __future__ import annotations

from mooring.offline.driving import drive
from mooring.offline.explaining import ExplainingScheduler
from mooring.testing.builders import make_node, make_pod


def test_only_the_pods_asked_for_are_examined_and_all_attempts_are_counted() -> None:
    a, b = make_pod("a"), make_pod("b", gates=["x/y"])
    scheduler = ExplainingScheduler([make_node("n1"), a, b], explained=[b.uid])
    for pod in (a, b, b):
        drive(scheduler.schedule_one(pod))
    assert scheduler.attempts == {a.uid: 1, b.uid: 2}
    assert list(scheduler.examinations) == [b.uid]
    assert [found.attempt for found in scheduler.examinations[b.uid]] == [1, 2]


def test_what_grows_with_the_nodes_is_kept_of_explained_pods_only() -> None:
    a, b = make_pod("a"), make_pod("b")
    scheduler = ExplainingScheduler([make_node("n1"), make_node("n2"), a, b], explained=[b.uid])
    first, second = (drive(scheduler.schedule_one(pod)) for pod in (a, b))
    assert (first.statuses, first.feasible, first.scores, first.totals) == (None, None, {}, None)
    assert first.node_name
    assert second.totals is not None
    assert second.scores
