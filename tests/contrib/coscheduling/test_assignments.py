"""What the plugin remembers of each group between attempts."""

from __future__ import annotations

from mooring.api import POD_GROUP_LABEL, Pod
from mooring.contrib.coscheduling.assignments import FREQUENT, Assignments, Expirations, Failures
from mooring.testing import make_pod

KEY = "default/g"


def member(name: str) -> Pod:
    return make_pod(name, labels={POD_GROUP_LABEL: "g"})


def test_assigned_members_are_counted_once() -> None:
    assignments = Assignments()
    assert assignments.assign(member("a")) == 1
    assert assignments.assign(member("a")) == 1
    assert assignments.assign(member("b")) == 2
    assignments.release(member("a"))
    assignments.release(member("never"))
    assert assignments.count(KEY) == 1


def test_each_wait_is_ended_once() -> None:
    assignments = Assignments()
    for name in "abc":
        assignments.assign(member(name))
        assignments.wait(member(name))
    assignments.release(member("b"))
    assert list(assignments.take_waiting(KEY)) == [member("a").uid, member("c").uid]
    assert list(assignments.take_waiting(KEY)) == []


def test_a_member_that_was_given_up_counts_no_longer_and_is_forgotten_once() -> None:
    assignments = Assignments()
    assignments.assign(member("a"))
    assignments.give_up(member("a"))
    assert assignments.count(KEY) == 0
    assert assignments.was_given_up(member("a"))
    assert not assignments.was_given_up(member("a"))


def test_rejected_members_are_known_until_they_get_a_node() -> None:
    assignments = Assignments()
    for name in "ab":
        assignments.assign(member(name))
        assignments.reject(member(name))
    assignments.assign(member("b"))
    assignments.forget(member("gone"))
    assert [pod.name for pod in assignments.take_rejected(KEY)] == ["a"]
    assert list(assignments.take_rejected(KEY)) == []


def test_a_name_counts_until_its_time_is_over_and_is_not_extended() -> None:
    names = Expirations()
    assert names.add(KEY, 100.0, 10)
    assert not names.add(KEY, 105.0, 10)
    assert names.has(KEY, 109.9)
    assert not names.has(KEY, 110.0)
    assert names.add(KEY, 110.0, 10)
    names.delete(KEY)
    assert not names.has(KEY, 110.0)


def test_a_time_of_0_counts_as_three_seconds() -> None:
    names = Expirations()
    names.add(KEY, 100.0, 0)
    assert (names.has(KEY, 102.9), names.has(KEY, 103.0)) == (True, False)


def test_the_last_failure_is_known_until_the_group_starts() -> None:
    failures = Failures()
    assert failures.last(KEY) is None
    failures.add(KEY, 100.0)
    failures.add(KEY, 200.0)
    assert failures.last(KEY) == 200.0
    failures.delete(KEY)
    assert failures.last(KEY) is None


def test_many_failures_within_a_second_are_frequent() -> None:
    failures = Failures()
    for number in range(FREQUENT):
        assert not failures.is_frequent(KEY, 100.0 + number / 100)
        failures.add(KEY, 100.0 + number / 100)
    assert failures.is_frequent(KEY, 100.5)
    assert not failures.is_frequent(KEY, 101.5)


def test_as_many_failures_with_pauses_are_not() -> None:
    failures = Failures()
    for number in range(3 * FREQUENT):
        failures.add(KEY, 100.0 + number * 0.5)
        assert not failures.is_frequent(KEY, 100.0 + number * 0.5)
