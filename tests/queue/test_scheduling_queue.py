"""The whole queue: what happens to pods between their arrival and their binding."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest

from mooring.api import Pod
from mooring.framework.cluster_events import ClusterEvent
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.framework.pod_info import PodInfos
from mooring.framework.queued import QueuedPod
from mooring.framework.status import Status
from mooring.observe.metrics import Metrics
from mooring.queue.event_types import ASSIGNED_POD_DELETE
from mooring.queue.nominator import PodNominator
from mooring.queue.queued_pod_info import Place
from tests.queue.pods import (
    NODE_ADD,
    NODE_LABEL,
    PROFILE,
    Queue,
    a_queue,
    gate,
    held,
    node,
    pod,
)

NO_EARLY_POP = {"SchedulerPopFromBackoffQ": False}


# ---- order


def test_the_most_important_pod_comes_first_and_of_equals_the_earliest() -> None:
    queue = a_queue()
    for name, priority in (("low", 1), ("first", 5), ("second", 5), ("high", 9)):
        queue.add(pod(name, priority=priority))
        queue.clock.advance(1)
    assert [queue.popped() for _ in range(5)] == ["high", "first", "second", "low", None]


def test_pods_that_come_at_the_same_moment_keep_their_order() -> None:
    queue = a_queue()
    for name in ("c", "a", "b"):
        queue.add(pod(name))
    assert [queue.popped() for _ in range(3)] == ["c", "a", "b"]


def test_a_queue_sort_plugin_may_compare_instead_of_giving_a_key() -> None:
    class ByName(Plugin):
        def less(self, a: QueuedPod, b: QueuedPod) -> bool:
            return a.pod.name > b.pod.name

    queue = a_queue(sort=ByName())
    for name in ("b", "c", "a"):
        queue.add(pod(name))
    assert [queue.popped() for _ in range(3)] == ["c", "b", "a"]


def test_a_pod_whose_priority_changes_changes_its_place() -> None:
    queue = a_queue()
    queue.add(pod("a", priority=5))
    queue.add(pod("b", priority=1))
    queue.update(pod("b", priority=1), pod("b", priority=9))
    assert [queue.popped(), queue.popped(), queue.popped()] == ["b", "a", None]


# ---- attempts


def test_attempts_and_times_are_counted() -> None:
    queue = a_queue()
    queue.add(pod("a"))
    first = queue.take()
    assert (first.attempts, first.timestamp, first.initial_attempt_timestamp) == (1, 1000, 1000)
    queue.clock.advance(5)
    queue.add_unschedulable(first, first.pod)
    queue.clock.advance(5)
    queue.flush()
    again = queue.take()
    assert again is first
    assert (again.attempts, again.timestamp, again.initial_attempt_timestamp) == (2, 1005, 1000)
    assert queue.scheduling_cycle == 2


def test_a_pod_in_flight_is_in_no_place_until_it_comes_back() -> None:
    queue = a_queue()
    queue.add(pod("a"))
    info = queue.take()
    assert queue.get("default/a") is None
    assert [one.name for one in queue.in_flight()] == ["a"]
    queue.done(info.uid)
    assert queue.in_flight() == []
    assert queue.popped() is None


def test_a_pod_that_comes_back_twice_is_reported_and_kept_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    queue = a_queue()
    queue.add(pod("a"))
    info = queue.take()
    queue.add_unschedulable(info, info.pod, ["Fit"])
    with caplog.at_level(logging.ERROR):
        queue.add_unschedulable(info, info.pod, ["Affinity"])
    assert "already present" in caplog.records[0].kv["err"]  # type: ignore[attr-defined]
    assert queue.names(Place.UNSCHEDULABLE) == ["a"]


def test_a_refused_pod_that_was_never_in_flight_backs_off(
    caplog: pytest.LogCaptureFixture,
) -> None:
    queue = a_queue()
    queue.add(pod("a"))
    info = queue.take()
    queue.done(info.uid)
    with caplog.at_level(logging.ERROR):
        queue.add_unschedulable(info, info.pod, ["Fit"])
    assert caplog.messages == ["Error getting cluster events for pod"]
    assert queue.names(Place.BACKOFF) == ["a"]


def test_a_pod_that_is_being_scheduled_is_not_scheduled_twice(
    caplog: pytest.LogCaptureFixture,
) -> None:
    queue = a_queue()
    queue.add(pod("a"))
    queue.take()
    queue.add(pod("a"))
    queue.add(pod("b"))
    with caplog.at_level(logging.ERROR):
        assert queue.popped() == "b"
    assert caplog.messages == ["Discarding the popped pod"]


# ---- failures


@pytest.mark.parametrize(
    ("by", "place"),
    [
        pytest.param(["Fit"], Place.UNSCHEDULABLE, id="a refusal waits for an event"),
        pytest.param([], Place.BACKOFF, id="a fault backs off"),
    ],
)
def test_where_a_failed_pod_goes(by: list[str], place: Place) -> None:
    queue = a_queue()
    queue.refuse(pod("a"), by)
    assert queue.names(place) == ["a"]


def test_errors_back_off_longer_and_longer() -> None:
    queue = a_queue()
    queue.add(pod("a"))
    waits = []
    for _ in range(6):
        info = queue.take()
        start = queue.clock.now()
        queue.add_unschedulable(info, info.pod)
        assert queue.pop() is None
        wakeup = queue.next_wakeup()
        assert wakeup is not None
        queue.clock.advance(wakeup - start)
        queue.flush()
        waits.append(queue.clock.now() - start)
    # Each backoff lasts until the end of the second in which it expires.
    assert waits == [2, 3, 5, 9, 11, 11]


def test_a_refusal_ends_a_row_of_errors() -> None:
    queue = a_queue()
    queue.add(pod("a"))
    info = queue.take()
    for by in ((), (), ("Fit",)):
        queue.add_unschedulable(info, info.pod, by)
        queue.clock.advance(20)
        queue.flush()
        queue.move_all(NODE_ADD, None, node())
        assert queue.take() is info
    assert (info.consecutive_errors, info.unschedulable_count) == (0, 1)


def test_an_idle_scheduler_does_not_wait_for_refused_pods() -> None:
    queue = a_queue()
    queue.refuse(pod("a"), ["Fit"])
    queue.move_all(NODE_ADD, None, node())
    assert queue.names(Place.BACKOFF) == ["a"]
    queue.add(pod("b"))
    assert [queue.popped(), queue.popped()] == ["b", "a"]


def test_an_idle_scheduler_waits_where_popping_early_is_off() -> None:
    queue = a_queue(gates=NO_EARLY_POP)
    queue.refuse(pod("a"), ["Fit"])
    queue.move_all(NODE_ADD, None, node())
    assert queue.popped() is None
    queue.clock.advance(1.001)
    queue.flush()
    assert queue.popped() == "a"


def test_a_pod_that_has_waited_long_enough_becomes_active_at_once() -> None:
    queue = a_queue()
    queue.refuse(pod("a"), ["Fit"])
    queue.clock.advance(3)
    queue.move_all(NODE_ADD, None, node())
    assert queue.names(Place.ACTIVE) == ["a"]


def test_backoff_can_be_switched_off() -> None:
    queue = a_queue(max_backoff=0)
    queue.refuse(pod("a"))
    assert queue.names(Place.ACTIVE) == ["a"]


# ---- gates


def test_a_gated_pod_is_not_tried_until_its_gate_lets_it_go() -> None:
    queue = a_queue()
    queue.add(pod("a", hold=""))
    assert queue.popped() is None
    queue.move_all(NODE_ADD, None, node())
    assert queue.names(Place.UNSCHEDULABLE) == ["a"]
    queue.clock.advance(5)
    queue.update(pod("a", hold=""), pod("a"))
    info = queue.take()
    assert (info.attempts, info.initial_attempt_timestamp) == (1, 1005)


def test_a_gated_pod_stays_gated_while_the_gate_says_so() -> None:
    queue = a_queue()
    queue.add(pod("a", hold=""))
    queue.update(pod("a", hold=""), pod("a", hold="", other=""))
    assert queue.popped() is None
    queue.validate()


def test_a_pod_that_is_gated_after_a_failure_does_not_back_off() -> None:
    queue = a_queue()
    queue.add(pod("a"))
    info = queue.take()
    queue.add_unschedulable(info, pod("a", hold=""))
    assert queue.names(Place.UNSCHEDULABLE) == ["a"]
    assert info.is_gated


def test_the_gate_is_asked_after_the_backoff_where_popping_early_is_off() -> None:
    closed: list[str] = []
    hold = gate("Hold", lambda pod: held("hold")(pod) if closed else None)
    queue = Queue(hold, gates=NO_EARLY_POP)
    queue.refuse(pod("a", hold=""))
    assert queue.names(Place.BACKOFF) == ["a"]
    closed.append("now")
    queue.clock.advance(5)
    queue.flush()
    assert queue.names(Place.UNSCHEDULABLE) == ["a"]


# ---- activation and time


@pytest.mark.parametrize(
    ("prepare", "popped"),
    [
        pytest.param(lambda queue: queue.refuse(pod("a"), ["Fit"]), "a", id="an unschedulable pod"),
        pytest.param(lambda queue: queue.refuse(pod("a")), "a", id="one that backs off"),
        pytest.param(lambda queue: queue.add(pod("a", hold="")), None, id="not a gated one"),
        pytest.param(lambda queue: None, None, id="nor an unknown one"),
        pytest.param(lambda queue: queue.add(pod("a")), "a", id="an active one stays so"),
    ],
)
def test_activate(prepare: Any, popped: str | None) -> None:
    queue = a_queue()
    prepare(queue)
    queue.activate([pod("a")])
    queue.validate()
    assert queue.popped() == popped


def test_activating_goes_on_behind_pods_that_are_left_alone() -> None:
    queue = a_queue()
    queue.refuse(pod("refused"), ["Fit"])
    queue.refuse(pod("faulty"))
    queue.add(pod("active"))
    queue.activate([pod("unknown"), pod("active"), pod("faulty"), pod("refused")])
    assert queue.names(Place.ACTIVE) == ["active", "faulty", "refused"]


def test_looks_for_pods_that_wait_too_long_are_half_a_minute_apart() -> None:
    queue = a_queue(max_in_unschedulable=10)
    queue.clock.advance(30)
    queue.flush()
    queue.refuse(pod("a"), ["Fit"])
    queue.clock.advance(29.5)
    queue.flush()
    assert queue.names(Place.UNSCHEDULABLE) == ["a"]
    queue.clock.advance(0.5)
    queue.flush()
    assert queue.names(Place.ACTIVE) == ["a"]


def test_activation_in_flight_counts_when_the_pod_comes_back() -> None:
    queue = a_queue()
    for name in ("a", "b"):
        queue.add(pod(name))
    a, b = queue.take(), queue.take()
    queue.activate([a.pod])
    for info in (a, b):
        queue.add_unschedulable(info, info.pod, ["Fit"])
    assert (queue.names(Place.BACKOFF), queue.names(Place.UNSCHEDULABLE)) == (["a"], ["b"])


def test_a_pod_that_waits_too_long_is_tried_without_a_reason() -> None:
    queue = a_queue()
    queue.refuse(pod("a"), ["Fit"])
    wakeup = queue.next_wakeup()
    assert wakeup is not None
    assert 1300 < wakeup < 1300.01
    queue.clock.advance(299)
    queue.flush()
    assert queue.popped() is None
    queue.clock.advance(31)
    queue.flush()
    info = queue.take()
    assert info.was_flushed
    queue.add_unschedulable(info, info.pod, ["Fit"])
    assert not info.was_flushed


def test_a_pod_that_waits_too_long_and_is_held_back_then_was_not_tried() -> None:
    """PreEnqueue lets the pod pass at first; a later success is not one of the flush."""
    holds: list[bool] = []
    queue = Queue(gate("Hold", lambda pod: Status.unschedulable("held") if holds else None))
    queue.refuse(pod("a"), ["Fit"])
    holds.append(True)
    queue.clock.advance(331)
    queue.flush()
    info = queue.get("default/a")
    assert info is not None
    assert (info.is_gated, info.was_flushed) == (True, False)


def test_a_gated_pod_is_looked_at_again_after_a_while_and_not_at_every_look() -> None:
    asked: list[str] = []

    def status(pod: Pod) -> Any:
        asked.append(pod.name)
        return held("hold")(pod)

    queue = Queue(gate("Hold", status), max_in_unschedulable=60)
    queue.add(pod("a", hold=""))
    for _ in range(10):
        queue.clock.advance(30)
        queue.flush()
    assert 1 + 3 <= len(asked) <= 1 + 5
    info = queue.get("default/a")
    assert info is not None
    assert not info.was_flushed


@pytest.mark.parametrize(
    ("prepare", "wakeup"),
    [
        pytest.param(lambda queue: None, None, id="an empty queue"),
        pytest.param(lambda queue: queue.add(pod("a")), None, id="an active pod"),
        pytest.param(lambda queue: queue.refuse(pod("a")), 1002.0, id="one that backs off"),
    ],
)
def test_next_wakeup(prepare: Any, wakeup: float | None) -> None:
    queue = a_queue()
    prepare(queue)
    assert queue.next_wakeup() == wakeup


def test_waking_up_when_told_to_is_enough() -> None:
    queue = a_queue(gates=NO_EARLY_POP, initial_backoff=0.3, max_backoff=0.7)
    for name in ("a", "b"):
        queue.refuse(pod(name))
        queue.clock.advance(0.1)
    popped = []
    for _ in range(2):
        wakeup = queue.next_wakeup()
        assert wakeup is not None
        queue.clock.advance(wakeup - queue.clock.now())
        queue.flush()
        popped.append(queue.popped())
    assert popped == ["a", "b"]


# ---- nominations


def nominated(name: str, to: str) -> Pod:
    plain = pod(name)
    return msgspec.structs.replace(
        plain, status=msgspec.structs.replace(plain.status, nominated_node_name=to)
    )


def test_nominations_follow_the_pods() -> None:
    nominator = PodNominator(PodInfos(FeatureGates()))
    queue = a_queue(nominator=nominator)
    queue.add(nominated("a", "n1"))
    assert nominator.node_of("a") == "n1"
    queue.update(nominated("a", "n1"), nominated("a", "n2"))
    assert nominator.node_of("a") == "n2"
    queue.delete(pod("a"))
    assert nominator.node_of("a") == ""


@pytest.mark.parametrize(("release", "node"), [("1.36", ""), ("1.37", "n1")])
def test_a_gated_pod_is_nominated_since_1_37(release: str, node: str) -> None:
    nominator = PodNominator(PodInfos(FeatureGates()))
    hold = gate("Hold", lambda pod: Status.unresolvable())
    queue = Queue(hold, release=release, nominator=nominator)
    queue.add(nominated("a", "n1"))
    assert queue.names(Place.UNSCHEDULABLE) == ["a"]
    assert nominator.node_of("a") == node


def test_a_nomination_that_only_memory_knows_survives_an_update() -> None:
    nominator = PodNominator(PodInfos(FeatureGates()))
    queue = a_queue(nominator=nominator)
    queue.refuse(pod("a"), ["Fit"])
    nominator.add(pod("a"), "n1")
    queue.update(pod("a"), pod("a", priority=2))
    assert nominator.node_of("a") == "n1"


# ---- metrics and the log


def test_metrics_show_where_pods_are_and_why_they_came_there() -> None:
    metrics = Metrics()
    queue = a_queue(metrics=metrics)

    def value(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(f"scheduler_{name}", labels)

    def sizes() -> tuple[float | None, ...]:
        names = ("active", "backoff", "unschedulable", "gated")
        pods = tuple(value("pending_pods", queue=name) for name in names)
        assert pods == tuple(value("queued_entities", queue=name, type="pod") for name in names)
        return pods

    assert sizes() == (0, 0, 0, 0)
    queue.refuse(pod("refused"), ["Fit"])
    queue.refuse(pod("faulty"))
    queue.add(pod("gated", hold=""))
    queue.add(pod("active"))
    assert sizes() == (1, 1, 1, 1)
    assert value("unschedulable_pods", plugin="Fit", profile=PROFILE) == 1
    queue.move_all(NODE_ADD, None, node())
    assert queue.popped() == "active"
    assert queue.popped() == "refused"
    assert value("unschedulable_pods", plugin="Fit", profile=PROFILE) == 0
    queue.clock.advance(5)
    queue.flush()
    arrivals, entities = (
        {
            (labels["queue"], labels["event"]): amount
            for family in metrics.registry.collect()
            for name, labels, amount, *_ in family.samples
            if name == f"scheduler_queue_incoming_{what}_total"
        }
        for what in ("pods", "entities")
    )
    assert entities == arrivals
    assert arrivals == {
        ("active", "UnscheduledPodAdd"): 3,
        ("unschedulable", "ScheduleAttemptFailure"): 1,
        ("backoff", "ScheduleAttemptFailure"): 1,
        ("unschedulable", "UnscheduledPodAdd"): 1,
        ("backoff", "NodeAdd"): 1,
        ("active", "PopFromBackoffQ"): 1,
        ("active", "BackoffComplete"): 1,
    }


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(Place.UNSCHEDULABLE, id="unschedulable"),
        pytest.param(Place.BACKOFF, id="backing off"),
    ],
)
def test_a_deleted_pod_no_longer_counts_for_its_plugins(place: Place) -> None:
    metrics = Metrics()
    queue = a_queue(metrics=metrics)
    queue.refuse(pod("a"), ["Fit"])
    if place is Place.BACKOFF:
        queue.move_all(NODE_ADD, None, node())
    assert queue.names(place) == ["a"]
    queue.delete(pod("a"))
    labels = {"plugin": "Fit", "profile": PROFILE}
    assert metrics.registry.get_sample_value("scheduler_unschedulable_pods", labels) == 0


def test_the_log_tells_a_pods_way_in_kube_schedulers_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    queue = a_queue()
    with caplog.at_level(logging.INFO - 5):
        queue.refuse(pod("a"), ["Fit"])
        queue.move_all(ASSIGNED_POD_DELETE, pod("x"), None)
        queue.move_all(NODE_ADD, None, node())
    told = [(record.levelno, record.getMessage(), record.kv) for record in caplog.records]  # type: ignore[attr-defined]
    moved = "Pod moved to an internal scheduling queue"
    assert [(level, message) for level, message, _ in told] == [
        (logging.INFO - 5, moved),
        (logging.INFO - 3, moved),
        (logging.INFO - 5, moved),
    ]
    assert [pairs["queue"] for _, _, pairs in told] == ["Active", "Unschedulable", "Backoff"]
    assert told[1][2]["event"] == "ScheduleAttemptFailure"
    assert told[1][2]["unschedulable plugins"] == {"Fit"}
    assert told[2][2]["event"] == "NodeAdd"


@pytest.mark.parametrize(
    ("event", "pending", "hint"),
    [
        pytest.param(NODE_LABEL, [], 0, id="skipped"),
        pytest.param(NODE_ADD, [], 1, id="after its backoff"),
        pytest.param(NODE_ADD, ["Fit"], 2, id="immediately"),
    ],
)
def test_the_log_tells_what_becomes_of_a_pod_by_kube_schedulers_numbers(
    event: ClusterEvent, pending: list[str], hint: int, caplog: pytest.LogCaptureFixture
) -> None:
    queue = a_queue()
    queue.add(pod("a"))
    info = queue.take()
    queue.move_all(event, None, node())
    with caplog.at_level(logging.INFO - 3):
        queue.add_unschedulable(info, info.pod, ["Fit"], pending)
    assert [record.kv["hint"] for record in caplog.records] == [hint]  # type: ignore[attr-defined]


def test_summary_counts_the_places() -> None:
    queue = a_queue()
    queue.refuse(pod("a"), ["Fit"])
    queue.refuse(pod("b"))
    queue.add(pod("c"))
    assert queue.summary() == "activeQ:1; backoffQ:1; unschedulablePods:1"
    assert queue.count_queued() == 2
