"""A pending pod and its history."""

from __future__ import annotations

from mooring.framework.queued import QueuedPod
from mooring.queue.queued_pod_info import NEVER, Place, QueuedPodInfo
from tests.queue.pods import PROFILE, pod


def test_a_new_pod_has_no_history() -> None:
    info = QueuedPodInfo(pod("a"), 100.0, 1)
    assert (info.key, info.uid, info.profile) == ("default/a", "a", PROFILE)
    assert (info.attempts, info.rejectors, info.is_gated) == (0, frozenset(), False)
    assert (info.backoff_expiration, info.initial_attempt_timestamp) == (NEVER, None)
    assert (info.unschedulable_count, info.consecutive_errors) == (0, 0)
    assert (info.was_flushed, info.flush_timestamp) == (False, NEVER)
    assert (info.place, info.ticket, info.filed) == (None, None, None)


def test_who_refused_and_who_waits_count_together() -> None:
    info = QueuedPodInfo(pod("a"), 100.0, 1)
    info.unschedulable_plugins = frozenset({"A"})
    assert info.rejectors == {"A"}
    info.pending_plugins = frozenset({"B"})
    assert info.rejectors == {"A", "B"}


def test_queue_sort_plugins_see_the_history() -> None:
    info = QueuedPodInfo(pod("a"), 100.0, 1)
    info.attempts, info.initial_attempt_timestamp = 3, 50.0
    info.unschedulable_plugins = frozenset({"A"})
    assert info.as_queued_pod() == QueuedPod(
        info.pod, 100.0, 50.0, 3, frozenset({"A"}), frozenset(), ""
    )


def test_it_says_where_it_is() -> None:
    info = QueuedPodInfo(pod("a"), 100.0, 1)
    assert repr(info) == "QueuedPodInfo('default/a', in flight or gone)"
    info.place = Place.BACKOFF
    assert repr(info) == "QueuedPodInfo('default/a', Backoff)"
