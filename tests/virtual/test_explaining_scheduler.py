"""A scheduler that explains some pods' attempts."""

from __future__ import annotations

from mooring.framework.features import FeatureGates
from mooring.testing.builders import make_node, make_pod, make_pod_group
from mooring.virtual.driving import drive
from mooring.virtual.explaining_scheduler import ExplainingScheduler
from mooring.virtual.simulation import schedule_all


def test_only_the_pods_asked_for_are_examined_and_all_attempts_are_counted() -> None:
    a, b = make_pod("a"), make_pod("b", gates=["x/y"])
    scheduler = ExplainingScheduler([make_node("n1"), a, b], explained=[b.uid])
    for pod in (a, b, b):
        drive(scheduler.schedule_one(pod))
    assert scheduler.examiner.attempts == {a.uid: 1, b.uid: 2}
    assert list(scheduler.examiner.examinations) == [b.uid]
    assert [found.attempt for found in scheduler.examiner.examinations[b.uid]] == [1, 2]


def test_what_grows_with_the_nodes_is_kept_of_explained_pods_only() -> None:
    a, b = make_pod("a"), make_pod("b")
    scheduler = ExplainingScheduler([make_node("n1"), make_node("n2"), a, b], explained=[b.uid])
    first, second = (drive(scheduler.schedule_one(pod)) for pod in (a, b))
    assert (first.statuses, first.feasible, first.scores, first.totals) == (None, None, {}, None)
    assert first.node_name
    assert second.totals is not None
    assert second.scores


GROUPS = FeatureGates({"GenericWorkload": True})


def test_an_attempt_of_a_group_is_explained_by_the_group() -> None:
    pods = [make_pod(f"g-{i}", group="g") for i in range(2)]
    objects = [make_node("n1"), make_pod_group("g", min_count=2), *pods]
    scheduler = ExplainingScheduler(objects, features=GROUPS, explained=[pods[0].uid])
    scheduler.examiner.group_examinations["default/g"] = []
    drive(schedule_all(scheduler))
    (found,) = scheduler.examiner.group_examinations["default/g"]
    assert found.status is None
    assert scheduler.examiner.examinations[pods[0].uid] == []


def test_a_gated_pod_of_a_group_is_explained_by_itself() -> None:
    pod = make_pod("g-0", group="g")
    objects = [make_node("n1"), make_pod_group("g", min_count=2), pod]
    scheduler = ExplainingScheduler(objects, features=GROUPS, explained=[pod.uid])
    scheduler.examiner.group_examinations["default/g"] = []
    drive(schedule_all(scheduler))
    assert scheduler.examiner.group_examinations["default/g"] == []
    (found,) = scheduler.examiner.examinations[pod.uid]
    assert found.decision.pre_enqueue is not None


def test_one_attempt_of_a_group_can_be_asked_for() -> None:
    there, here = make_pod("g-0", group="g", node="n1"), make_pod("g-1", group="g")
    objects = [make_node("n1"), make_pod_group("g", min_count=2), there, here]
    scheduler = ExplainingScheduler(objects, features=GROUPS)
    (found,) = drive(scheduler.explain_in_group(here))
    assert [pod.name for pod in found.pods] == ["g-1"]
    assert found.status is None
