"""Entries of a journal that belong together."""

from __future__ import annotations

import msgspec
import pytest

from mooring.explain.attempt_record import AttemptRecord
from mooring.journal.entries import (
    AttemptBegins,
    AttemptEnds,
    CheckpointBegins,
    CheckpointEnds,
    CheckpointObject,
    Entry,
    ExtenderAnswer,
    Failed,
    Fetched,
    GroupBegins,
    GroupEnds,
    Nominated,
    Reserved,
    WorkBegins,
)
from mooring.replay.recorded_checkpoint import RecordedCheckpoint
from mooring.replay.recorded_steps import RecordedAttempt, RecordedGroup, recorded_steps

RECORD = AttemptRecord(
    sequence=0,
    time=1.0,
    namespace="default",
    name="web",
    uid="u",
    profile="p",
    attempt=1,
    outcome="scheduled",
)
BEGINS = AttemptBegins(1.0, "default", "web", "u", "5", "p", 1, 7, 0)
ENDS = AttemptEnds(1.5, RECORD)
ANSWER = ExtenderAnswer(1.2, "http://one", "filter", "u", [[], {}, {}])
RESERVED = Reserved(2.0, "u", "node")
FAILED = Failed(3.0, "u", "no", True)
FETCHED = Fetched(2.5, "GET http://one", 200)
NOMINATED = Nominated(2.6, "u", "")
GROUP = GroupBegins(0.5, "default", "gang", 7, ("u",))
GROUP_ENDS = GroupEnds(4.0, "default", "gang", "scheduled")


def steps(*entries: Entry) -> list[object]:
    return list(recorded_steps(entries))


def test_an_attempt_has_its_answers_and_its_end() -> None:
    assert steps(BEGINS, ANSWER, FETCHED, ENDS, RESERVED) == [
        FETCHED,
        RecordedAttempt(BEGINS, [ANSWER], ENDS),
        RESERVED,
    ]


WORK = WorkBegins(1.1, "fetch 1")
WORKED = Fetched(1.3, "GET http://one", 200, work="fetch 1")
SCORES = ExtenderAnswer(1.4, "http://one", "prioritize", "u", {})


def test_periodic_work_while_an_extender_filters_comes_before_the_attempt() -> None:
    assert steps(BEGINS, WORK, WORKED, ANSWER, ENDS) == [
        WORK,
        WORKED,
        RecordedAttempt(BEGINS, [ANSWER], ENDS),
    ]


def test_periodic_work_while_an_extender_scores_comes_after_the_attempt() -> None:
    decided = RecordedAttempt(BEGINS, [ANSWER, SCORES], ENDS)
    assert steps(BEGINS, ANSWER, WORKED, SCORES, ENDS) == [decided, WORKED]
    undecided = RecordedAttempt(BEGINS, [], None)
    assert steps(BEGINS, WORK, FAILED) == [undecided, WORK, FAILED]
    assert steps(BEGINS, WORK, BEGINS, ENDS)[:2] == [undecided, WORK]
    assert steps(BEGINS, WORK) == [undecided, WORK]


def test_work_does_not_end_the_attempt_of_a_group() -> None:
    attempt = RecordedAttempt(BEGINS, [], ENDS)
    assert steps(GROUP, WORK, BEGINS, ENDS, WORKED, GROUP_ENDS) == [
        WORK,
        WORKED,
        RecordedGroup(GROUP, [attempt], GROUP_ENDS),
    ]


def test_an_attempt_that_failed_has_no_end() -> None:
    undecided = RecordedAttempt(BEGINS, [], None)
    assert steps(BEGINS, FAILED) == [undecided, FAILED]
    assert steps(BEGINS, BEGINS, ENDS) == [undecided, RecordedAttempt(BEGINS, [], ENDS)]
    assert steps(BEGINS) == [undecided]
    assert undecided.time == 1.0


def test_an_end_without_a_beginning_is_left_out() -> None:
    assert steps(ENDS, RESERVED) == [RESERVED]


def test_a_group_has_the_attempts_of_its_pods() -> None:
    attempt = RecordedAttempt(BEGINS, [], ENDS)
    assert steps(GROUP, BEGINS, ENDS, NOMINATED, RESERVED, GROUP_ENDS, FAILED) == [
        NOMINATED,
        RecordedGroup(GROUP, [attempt, RESERVED], GROUP_ENDS),
        FAILED,
    ]


def test_a_group_that_did_not_end() -> None:
    (found,) = steps(GROUP, RESERVED)
    assert isinstance(found, RecordedGroup)
    assert (found.ends, found.time) == (None, 0.5)


def test_a_checkpoint_is_one_step() -> None:
    node = CheckpointObject(0.0, "nodes.v1.", msgspec.Raw(b'{"metadata":{"name":"a"}}'))
    found = steps(CheckpointBegins(0.0, 0, 0), node, CheckpointEnds(0.0, 1), FAILED)
    assert isinstance(found[0], RecordedCheckpoint)
    assert found[1:] == [FAILED]


def cycle(attempt_begins: float, **record: object) -> RecordedAttempt:
    """Return a cycle of the pod, with what differs from the usual in its record."""
    begins = msgspec.structs.replace(BEGINS, time=attempt_begins)
    ends = AttemptEnds(attempt_begins, msgspec.structs.replace(RECORD, **record))
    return RecordedAttempt(begins, [], ends)


FIRST, SECOND, THIRD = cycle(1.0, node="a"), cycle(2.0, message="no"), cycle(3.0, node="a")


@pytest.mark.parametrize(
    ("counted", "expected"),
    [
        pytest.param({"u": 0}, FIRST, id="the first cycle counts"),
        pytest.param({"u": 1}, SECOND, id="the second cycle counts"),
        pytest.param({"other": 1}, None, id="the pod was not tried in the placement that counts"),
        pytest.param({"u": 7}, None, id="the cycle was not recorded"),
    ],
)
def test_the_cycle_that_counts(counted: dict[str, int], expected: RecordedAttempt | None) -> None:
    ends = msgspec.structs.replace(GROUP_ENDS, counted=counted)
    group = RecordedGroup(GROUP, [FIRST, SECOND, THIRD], ends)
    assert group.cycles("u") == [FIRST, SECOND, THIRD]
    assert group.counted("u") is expected


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param([Reserved(4.0, "u", "a")], THIRD, id="the last one with the pod's node"),
        pytest.param([FAILED], SECOND, id="the first one with its message"),
        pytest.param([Failed(4.0, "u", "group", True)], FIRST, id="the first, if only the group's"),
    ],
)
@pytest.mark.parametrize("ends", [GROUP_ENDS, None])
def test_the_cycle_that_probably_counts_if_that_was_not_recorded(
    more: list[Reserved | Failed], expected: RecordedAttempt, ends: GroupEnds | None
) -> None:
    group = RecordedGroup(GROUP, [FIRST, SECOND, THIRD, *more], ends)
    assert group.counted("u") is expected
    assert group.counted("other") is None
