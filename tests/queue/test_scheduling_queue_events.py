"""What events, updates and deletions do to queued pods."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from mooring.api import Pod
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, QueueingHint
from mooring.queue.event_types import ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE
from mooring.queue.queued_pod_info import Place
from tests.queue.pods import (
    NODE_ADD,
    NODE_LABEL,
    POD_ADD,
    Queue,
    a_queue,
    node,
    pod,
    refuser,
)


@pytest.mark.parametrize(
    ("by", "pending", "event", "place"),
    [
        pytest.param(["Fit"], [], NODE_ADD, Place.BACKOFF, id="asked for"),
        pytest.param(["Fit"], [], NODE_LABEL, Place.UNSCHEDULABLE, id="not asked for"),
        pytest.param(["Affinity"], [], ASSIGNED_POD_ADD, Place.BACKOFF, id="a pod on a node"),
        pytest.param(["Affinity", "Fit"], [], NODE_ADD, Place.BACKOFF, id="by one of two"),
        pytest.param([], ["Fit"], NODE_ADD, Place.ACTIVE, id="pending pods need not back off"),
        pytest.param(["Extender"], [], NODE_LABEL, Place.BACKOFF, id="an extender's refusal"),
    ],
)
def test_what_an_event_does(by: Any, pending: Any, event: ClusterEvent, place: Place) -> None:
    queue = a_queue()
    queue.refuse(pod("a"), by, pending)
    queue.move_all(event, None, node())
    assert queue.names(place) == ["a"]


def test_an_event_asks_only_about_pods_whose_plugins_wait_for_it() -> None:
    asked: list[str] = []

    def hint(pod: Pod, old: Any, new: Any) -> QueueingHint:
        asked.append(pod.name)
        return QueueingHint.SKIP

    fit = refuser("Fit", ClusterEvent(EventResource.NODE, ActionType.ADD, hint))
    queue = Queue(fit, refuser("Affinity", POD_ADD))
    queue.refuse(pod("a"), ["Fit"])
    queue.refuse(pod("b"), ["Affinity"])
    queue.refuse(pod("c"), ["Affinity", "Fit"])
    queue.move_all(NODE_ADD, None, node())
    assert sorted(asked) == ["a", "c"]


class Unread:
    """An event that must not be looked at."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was read")


def test_an_event_while_no_pod_waits_costs_nothing() -> None:
    queue = a_queue()
    queue.add(pod("a"))
    unread: Any = Unread()
    queue.move_all(unread, None, node())
    assert queue.popped() == "a"
    with pytest.raises(AssertionError, match="was read"):
        queue.move_all(unread, None, node())


@pytest.mark.parametrize(
    ("event", "refused_by", "told"),
    [
        pytest.param(NODE_LABEL, "Fit", True, id="no plugin waits for it"),
        pytest.param(NODE_ADD, "Affinity", False, id="a plugin waits for it, though no pod does"),
        pytest.param(NODE_LABEL, "Extender", False, id="a pod waits for every event"),
    ],
)
def test_an_event_that_nobody_waits_for_is_told_in_the_log(
    event: ClusterEvent, refused_by: str, told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    queue = a_queue()
    queue.refuse(pod("a"), [refused_by])
    with caplog.at_level(logging.INFO - 6):
        queue.move_all(event, None, node())
    message = "receive an event that isn't interested by any enabled plugins"
    assert (message in caplog.messages) is told


def test_an_event_may_be_for_some_pods_only() -> None:
    queue = a_queue()
    for name, priority in (("a", 1), ("b", 5)):
        queue.refuse(pod(name, priority=priority), ["Fit"])
    queue.move_all(NODE_ADD, None, node(), lambda pod: pod.priority <= 1)
    assert queue.names(Place.BACKOFF) == ["a"]


@pytest.mark.parametrize(
    ("event", "place"),
    [
        pytest.param(NODE_ADD, Place.BACKOFF, id="one that helps"),
        pytest.param(ASSIGNED_POD_ADD, Place.UNSCHEDULABLE, id="one that does not"),
    ],
)
def test_an_event_while_the_pod_is_in_flight_counts_when_it_comes_back(
    event: ClusterEvent, place: Place
) -> None:
    queue = a_queue()
    queue.add(pod("a"))
    queue.move_all(NODE_ADD, None, node("before it left"))
    info = queue.take()
    queue.move_all(event, None, node())
    queue.add_unschedulable(info, info.pod, ["Fit"])
    assert queue.names(place) == ["a"]


def test_an_extenders_refusal_counts_events_that_no_plugin_asked_for() -> None:
    queue = a_queue()
    queue.add(pod("a"))
    info = queue.take()
    queue.move_all(NODE_LABEL, node(), node())
    queue.add_unschedulable(info, info.pod, ["Extender"])
    assert queue.names(Place.BACKOFF) == ["a"]


def test_a_pending_pod_that_missed_its_event_becomes_active_at_once() -> None:
    queue = a_queue()
    queue.add(pod("a"))
    info = queue.take()
    queue.move_all(ASSIGNED_POD_DELETE, pod("b"), None)
    queue.move_all(ASSIGNED_POD_ADD, None, pod("b"))
    queue.move_all(NODE_ADD, None, node())
    queue.add_unschedulable(info, info.pod, ["Affinity"], ["Fit"])
    assert queue.names(Place.ACTIVE) == ["a"]


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        pytest.param(pod("a"), pod("a", x="y"), Place.BACKOFF, id="a change that helps"),
        pytest.param(
            pod("a"), pod("a", priority=3), Place.UNSCHEDULABLE, id="a change that does not"
        ),
    ],
)
def test_an_update_of_an_unschedulable_pod(old: Pod, new: Pod, place: Place) -> None:
    queue = a_queue()
    queue.refuse(old, ["Labels"])
    queue.update(old, new)
    assert queue.names(place) == ["a"]
    info = queue.get("default/a")
    assert info is not None
    assert info.pod is new


def test_an_update_in_flight_counts_when_the_pod_comes_back() -> None:
    queue = a_queue()
    queue.add(pod("a"))
    info = queue.take()
    queue.update(pod("a"), pod("a", x="y"))
    assert queue.get("default/a") is None
    queue.add_unschedulable(info, pod("a", x="y"), ["Labels"])
    assert queue.names(Place.BACKOFF) == ["a"]


def test_an_update_of_a_pod_that_backs_off_leaves_it_there() -> None:
    queue = a_queue()
    queue.refuse(pod("a"))
    queue.update(pod("a"), pod("a", x="y"))
    assert queue.names(Place.BACKOFF) == ["a"]
    queue.validate()


def test_an_update_of_an_unknown_pod_adds_it() -> None:
    queue = a_queue()
    queue.update(pod("a"), pod("a", x="y"))
    assert queue.take().pod.labels == {"x": "y"}


def test_a_pod_that_is_recreated_takes_the_place_of_the_old_one() -> None:
    queue = a_queue()
    queue.refuse(pod("a", uid="1"), ["Labels"])
    queue.update(pod("a", uid="1"), pod("a", uid="2", x="y"))
    queue.delete(pod("a", uid="1"))
    info = queue.take()
    assert info.uid == "2"
    queue.done("2")
    queue.validate()


@pytest.mark.parametrize(
    ("prepare", "place"),
    [
        pytest.param(lambda queue: queue.add(pod("a")), Place.ACTIVE, id="active"),
        pytest.param(lambda queue: queue.refuse(pod("a")), Place.BACKOFF, id="backing off"),
        pytest.param(
            lambda queue: queue.refuse(pod("a"), ["Fit"]), Place.UNSCHEDULABLE, id="unschedulable"
        ),
        pytest.param(lambda queue: queue.add(pod("a", hold="")), Place.UNSCHEDULABLE, id="gated"),
    ],
)
def test_a_pod_can_be_deleted_wherever_it_is(prepare: Any, place: Place) -> None:
    queue = a_queue()
    prepare(queue)
    assert queue.names(place) == ["a"]
    queue.delete(pod("a"))
    assert queue.get("default/a") is None
    assert queue.popped() is None
    queue.validate()
