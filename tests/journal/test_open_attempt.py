"""The data of an attempt that the loop hands over, and the entries made from it."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from mooring.api import WorkloadPodGroup
from mooring.explain.recording import weighted_points
from mooring.journal.entries import AttemptBegins, AttemptEnds, Permitted, Reserved
from mooring.journal.open_attempt import OpenAttempt, Scored, totals_digest
from mooring.testing import make_node, make_pod, make_pod_group
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import Attempt
from tests.explain.runs import make_scheduler


def _decided(group: WorkloadPodGroup | None = None) -> tuple[OpenAttempt, Attempt]:
    """Decide an attempt and reserve its node."""
    nodes = [make_node("big", cpu="64"), make_node("small", cpu="2"), make_node("tiny", cpu="1")]
    name = "" if group is None else group.metadata.name
    scheduler = make_scheduler([*nodes, make_pod("web", cpu="2", group=name)])
    (pod,) = scheduler.cluster.pods.list()
    attempt = drive(scheduler.decide(pod))
    assert drive(scheduler.reserve(attempt))
    return (
        OpenAttempt(
            attempt.info,
            pod,
            3,
            12.0,
            None,
            5,
            6,
            group,
            decision=attempt.decision,
            decided=13.0,
            reserved=14.0,
        ),
        attempt,
    )


def test_a_pod_that_is_placed_makes_two_entries_unless_it_waits_at_permit() -> None:
    current, attempt = _decided()
    decision, uid = attempt.decision, attempt.info.uid
    assert decision.totals is not None
    current.place(attempt, 15.0)
    assert current.decision is None, "the arrays of the scores are kept"
    begins, ends = current.entries()
    assert isinstance(begins, AttemptBegins) and isinstance(ends, AttemptEnds)
    assert (begins.time, begins.attempt, begins.seed, begins.sampling_start) == (12.0, 3, 5, 6)
    assert (begins.within, begins.post_filter) == (None, True)
    assert (ends.reserved, ends.permitted) == (14.0, 15.0)
    record = ends.record
    assert (ends.time, record.time, record.attempt, record.name) == (13.0, attempt.start, 3, "web")
    assert (record.outcome, record.node) == ("scheduled", decision.node_name)
    assert (record.evaluated, record.feasible, record.seed) == (3, 2, 5)
    assert ends.points == weighted_points(decision, decision.node_name)
    assert (ends.top, ends.best) == (decision.totals.max(), 1)
    assert ends.totals == totals_digest(decision.totals)
    current.begun = True
    assert [type(entry) for entry in current.entries()] == [AttemptEnds]
    current.waits = {"Quota": 5.0}
    ends, *others = current.entries()
    assert isinstance(ends, AttemptEnds) and (ends.reserved, ends.permitted) == (0.0, 0.0)
    assert others == [
        Reserved(14.0, uid, decision.node_name),
        Permitted(15.0, uid, {"Quota": 5.0}),
    ]


def test_both_ways_to_the_end_of_an_attempt_give_the_same_entry() -> None:
    current, attempt = _decided()
    ending = replace(current, start=attempt.start).ending().entry()
    current.place(attempt, 15.0)
    _, ends = current.entries()
    assert isinstance(ends, AttemptEnds)
    assert replace(ends, reserved=0.0, permitted=0.0) == ending


def test_the_best_nodes_are_counted_if_the_decision_does_not_say_how_many_there_are() -> None:
    current, attempt = _decided()
    decision = attempt.decision
    bare = replace(decision, chosen=-1, best_count=0)
    scored, known = Scored.of(bare), Scored.of(decision)
    assert scored is not None and known is not None
    assert scored.points == known.points
    current.decision = bare
    counted = current.ending().entry()
    current.decision = decision
    assert counted == current.ending().entry()
    assert Scored.of(replace(decision, totals=None)) is None


def test_pods_of_a_group_do_not_preempt_and_may_be_confined_to_rows() -> None:
    current, _ = _decided(make_pod_group("crew"))
    current.within = np.array([2, 0], dtype=np.intp)
    begins = current.beginning()
    assert (begins.within, begins.post_filter) == ((2, 0), False)
    assert current.ending().entry().record.pod_group == "default/crew"


def test_the_digest_of_totals_depends_on_every_one() -> None:
    totals = np.array([1, 2, 3], dtype=np.int64)
    other = np.array([1, 2, 4], dtype=np.int64)
    strided = np.array([1, 0, 2, 0, 3, 0], dtype=np.int64)[::2]
    assert totals_digest(totals) == totals_digest(strided) != totals_digest(other)
