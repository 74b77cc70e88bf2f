"""Unschedulable pods that are tried again although nothing has changed."""

from __future__ import annotations

from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.queue.unschedulable import UnschedulablePods
from mooring.queue.unschedulable_timeouts import FLUSH_INTERVAL, UnschedulableTimeouts
from tests.queue.pods import pod


def waiting(at: float) -> tuple[UnschedulableTimeouts, QueuedPodInfo]:
    pods = UnschedulablePods()
    timeouts = UnschedulableTimeouts(pods, 300.0, 0.0)
    info = QueuedPodInfo(pod(), at, 0)
    pods.add(info)
    return timeouts, info


def test_a_pod_is_due_at_the_first_search_after_its_time() -> None:
    timeouts, info = waiting(0.0)
    assert timeouts.take_due(FLUSH_INTERVAL) == []
    assert timeouts.take_due(301.0) == [info]
    assert (info.was_flushed, info.flush_timestamp) == (True, 301.0)
    # Between two searches nothing is looked for.
    info.flush_timestamp = -1000.0
    assert timeouts.take_due(301.0 + FLUSH_INTERVAL - 1) == []


def test_when_to_search() -> None:
    assert UnschedulableTimeouts(UnschedulablePods(), 300.0, 0.0).next_wakeup() is None
    timeouts, _ = waiting(10.0)
    moment = timeouts.next_wakeup()
    assert moment is not None and 310.0 < moment < 310.1


def test_the_latest_time_is_kept_however_busy_the_scheduler_is() -> None:
    for offset in range(int(FLUSH_INTERVAL)):
        timeouts, info = waiting(0.0)
        latest = timeouts.latest(info)
        moment = 1.0 + offset
        while not timeouts.take_due(moment):
            moment += 1.0
        assert moment <= latest


def test_a_pod_that_is_due_already_waits_for_the_next_search() -> None:
    timeouts, info = waiting(-1000.0)
    assert timeouts.latest(info) == FLUSH_INTERVAL
