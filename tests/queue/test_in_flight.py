"""Pods in flight, and the events they missed."""

from __future__ import annotations

from mooring.observe.metrics import Metrics
from mooring.queue.in_flight import InFlight
from tests.queue.pods import NODE_ADD, NODE_LABEL, pod


def test_nothing_is_kept_while_nobody_is_in_flight() -> None:
    flight = InFlight()
    assert not flight.note(NODE_ADD, None, "a")
    flight.start(pod("p"))
    assert list(flight.since("p")) == []
    flight.validate()


def test_a_pod_is_shown_what_came_after_it_left() -> None:
    flight = InFlight()
    flight.start(pod("p1"))
    assert flight.note(NODE_ADD, None, "a")
    flight.start(pod("p2"))
    flight.note(NODE_LABEL, "a", "b")
    assert [new for _, _, new in flight.since("p1")] == ["a", "b"]
    assert [new for _, _, new in flight.since("p2")] == ["b"]
    assert [one.metadata.name for one in flight] == ["p1", "p2"]


def test_events_are_forgotten_when_the_last_pod_that_missed_them_is_done() -> None:
    flight = InFlight()
    for name in ("p1", "p2", "p3"):
        flight.start(pod(name))
        flight.note(NODE_ADD, None, name)
    kept = []
    for name in ("p2", "p1", "p3"):
        flight.done(name)
        flight.validate()
        kept.append(flight.events_kept)
    assert kept == [3, 1, 0]
    flight.done("p3")
    assert "p3" not in flight


def test_what_is_tracked_shows_in_metrics() -> None:
    metrics = Metrics()
    flight = InFlight(metrics)

    def shown(event: str) -> float | None:
        return metrics.registry.get_sample_value("scheduler_inflight_events", {"event": event})

    assert shown("NodeAdd") is None
    flight.start(pod("p"))
    flight.note(NODE_ADD, None, "a")
    flight.note(NODE_ADD, None, "b")
    assert (shown("PodPopped"), shown("NodeAdd")) == (1, 2)
    flight.done("stranger")
    assert (shown("PodPopped"), shown("NodeAdd")) == (1, 2)
    flight.done("p")
    assert (shown("PodPopped"), shown("NodeAdd")) == (0, 0)
    flight.done("p")
    assert (shown("PodPopped"), shown("NodeAdd")) == (0, 0)
