from __future__ import annotations

from typing import Any

import pytest

from mooring.api import CustomResource, Pod
from mooring.api.kinds import decode_as, decode_raw
from mooring.controllers.job_status import (
    FINALIZER,
    INDEX,
    count,
    decided,
    finished,
    index_of,
    is_failed,
    parse_indexes,
    total,
    write_indexes,
)


def job(**spec: Any) -> CustomResource:
    return decode_raw({"apiVersion": "batch/v1", "kind": "Job", "metadata": {}, "spec": spec})


def pod(uid: str, phase: str = "Running", index: str = "", **metadata: Any) -> Pod:
    given = {"uid": uid, "finalizers": [FINALIZER], "annotations": {INDEX: index}, **metadata}
    return decode_as({"metadata": given, "status": {"phase": phase}}, Pod)


def condition(type: str, status: str = "True") -> dict[str, Any]:
    return {"conditions": [{"type": type, "status": status}]}


def test_how_a_job_ended() -> None:
    assert finished(condition("Complete")) == "Complete"
    assert finished(condition("Failed")) == "Failed"
    assert finished(condition("Failed", "False")) == finished({}) == ""


def test_how_a_job_will_end() -> None:
    found = decided(condition("SuccessCriteriaMet"))
    assert found is not None and found["type"] == "SuccessCriteriaMet"
    assert decided(condition("FailureTarget")) is not None
    assert decided(condition("FailureTarget", "False")) is None


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("", set()), ("3", {3}), ("0-2", {0, 1, 2}), ("1,3-5,9", {1, 3, 4, 5, 9})],
)
def test_indexes_are_read_and_written(text: str, numbers: set[int]) -> None:
    assert parse_indexes(text) == numbers
    assert write_indexes(numbers) == text


def test_two_neighbours_are_no_range() -> None:
    assert write_indexes({1, 2, 5}) == "1,2,5"


@pytest.mark.parametrize(("text", "index"), [("7", 7), ("", None), ("x", None), ("-1", None)])
def test_the_index_of_a_pod(text: str, index: int | None) -> None:
    assert index_of(pod("a", index=text)) == index


def test_failed_pods() -> None:
    when = "2026-01-01T00:00:00Z"
    assert is_failed(pod("a", "Failed"))
    assert is_failed(pod("a", "Running", deletionTimestamp=when))
    assert not is_failed(pod("a", "Succeeded", deletionTimestamp=when))
    assert not is_failed(pod("a"))


def test_an_ended_pod_is_noted_first_and_counted_once_its_finalizer_is_gone() -> None:
    status: dict[str, Any] = {}
    ended = count(job(), status, [pod("a", "Succeeded"), pod("b", "Failed"), pod("c")], over=False)
    assert [one.metadata.uid for one in ended] == ["a", "b"]
    assert status["uncountedTerminatedPods"] == {"succeeded": ["a"], "failed": ["b"]}
    assert (total(status, "succeeded"), total(status, "failed")) == (1, 1)
    # The finalizer of one pod is gone; the other one still has it.
    count(job(), status, [pod("b", "Failed"), pod("c")], over=False)
    assert status["succeeded"] == 1
    assert status["uncountedTerminatedPods"] == {"failed": ["b"]}
    count(job(), status, [pod("c")], over=False)
    assert (status["succeeded"], status["failed"]) == (1, 1)
    assert status["uncountedTerminatedPods"] == {}
    assert (total(status, "succeeded"), total(status, "failed")) == (1, 1)


def test_a_pod_without_the_finalizer_was_counted_before() -> None:
    status: dict[str, Any] = {}
    assert count(job(), status, [pod("a", "Succeeded", finalizers=[])], over=False) == []
    assert total(status, "succeeded") == 0


def test_indexes_of_a_job() -> None:
    indexed = job(completionMode="Indexed", completions=3)
    pods = [pod("a", "Succeeded", "0"), pod("b", "Succeeded", "2"), pod("c", "Succeeded", "7")]
    status: dict[str, Any] = {"completedIndexes": "1"}
    count(indexed, status, pods, over=False)
    assert (status["completedIndexes"], status["succeeded"]) == ("0-2", 3)
    assert status["uncountedTerminatedPods"] == {}


def test_pods_of_a_job_that_is_over_may_go() -> None:
    status: dict[str, Any] = {}
    (ended,) = count(job(), status, [pod("a")], over=True)
    assert ended.metadata.uid == "a"
    assert status["uncountedTerminatedPods"] == {}


def test_pods_deleted_by_a_suspension_do_not_count_as_failed() -> None:
    when = "2026-01-01T00:00:00Z"
    status: dict[str, Any] = {}
    pods = [pod("a", deletionTimestamp=when), pod("b", "Failed")]
    count(job(suspend=True), status, pods, over=False)
    assert status["uncountedTerminatedPods"] == {"failed": ["b"]}
