"""Every pod is in exactly one part of the queue."""

from __future__ import annotations

import pytest

from mooring.observe.metrics import Metrics
from mooring.plugins.priority_sort import PrioritySort
from mooring.queue.order import queue_order
from mooring.queue.queued_pod_info import Place, QueuedPodInfo
from mooring.queue.sub_queues import SubQueues
from tests.queue.pods import PROFILE, pod


def some_places(metrics: Metrics | None = None) -> SubQueues:
    order = queue_order(PrioritySort())
    return SubQueues(order, metrics, initial_backoff=1, max_backoff=10, pop_early=True)


def an_info(name: str = "a", *refused_by: str) -> QueuedPodInfo:
    info = QueuedPodInfo(pod(name), 100.0, 1)
    info.unschedulable_plugins = frozenset(refused_by)
    return info


@pytest.mark.parametrize("to", Place)
@pytest.mark.parametrize("first", Place)
def test_a_pod_moves_from_any_place_to_any_other(first: Place, to: Place) -> None:
    places, info = some_places(), an_info("a", "Fit")
    places.put(info, first, "Test")
    places.put(info, to, "Test")
    places.validate()
    assert [one.key for place in Place for one in places.among(place)] == ["default/a"]
    assert (info.place, places.get("default/a")) == (to, info)
    places.take_out(info)
    places.validate()
    assert (info.place, places.get("default/a")) == (None, None)


def test_filing_an_unschedulable_pod_anew_is_no_arrival() -> None:
    metrics = Metrics()
    places, info = some_places(metrics), an_info("a", "Fit")
    places.put(info, Place.UNSCHEDULABLE, "Test")
    info.unschedulable_plugins = frozenset({"Other"})
    places.put(info, Place.UNSCHEDULABLE, "Test")
    labels = {"queue": "unschedulable", "event": "Test"}
    name = "scheduler_queue_incoming_pods_total"
    assert metrics.registry.get_sample_value(name, labels) == 1
    assert places.unschedulable.refused_by(PROFILE, ["Other"]) == [info]


def test_a_pod_in_two_places_is_noticed() -> None:
    places, info = some_places(), an_info("a", "Fit")
    places.put(info, Place.UNSCHEDULABLE, "Test")
    places.active.push(info)
    with pytest.raises(AssertionError, match="is found in"):
        places.validate()


def test_a_lost_pod_is_noticed() -> None:
    places, info = some_places(), an_info()
    places.put(info, Place.ACTIVE, "Test")
    places.active.pop()
    with pytest.raises(AssertionError, match="lost"):
        places.validate()
