"""Plugins that name the pods of an event before hints are asked."""

from __future__ import annotations

from typing import Any

from mooring.api import Pod
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, QueueingHint
from mooring.observe.metrics import Metrics
from mooring.queue.queued_pod_info import Place
from tests.queue.pods import NODE_ADD, Queue, node, pod, refuser

ON = {"SchedulerPreQueueingHints": True}


def test_a_plugin_that_names_the_pods_of_an_event_is_asked_about_those_alone() -> None:
    asked: list[str] = []

    def hint(one: Pod, old: Any, new: Any) -> QueueingHint:
        asked.append(one.name)
        return QueueingHint.QUEUE

    pods = [pod(name) for name in ("a", "b", "c")]
    named: list[Any] = [pods[:1], None, [pod("unknown"), pods[1]]]
    event = ClusterEvent(
        EventResource.NODE, ActionType.ADD, hint, pre_hint=lambda old, new: named.pop(0)
    )
    metrics = Metrics()
    queue = Queue(refuser("Fit", event), gates=ON, metrics=metrics)
    for expected in (["a"], ["a", "b", "c"], ["b"]):
        for one in pods:
            queue.add(one)
        for _ in pods:
            info = queue.take()
            queue.add_unschedulable(info, info.pod, ("Fit",))
        asked.clear()
        queue.move_all(NODE_ADD, None, node())
        assert sorted(asked) == expected
        for one in pods:
            queue.delete(one)
    counted = metrics.pre_queueing_hint_evaluations
    assert (counted["Fit", "narrowed"].value, counted["Fit", "all_pods"].value) == (2, 1)


def test_without_the_gate_every_refused_pod_is_asked_about() -> None:
    event = ClusterEvent(EventResource.NODE, ActionType.ADD, pre_hint=lambda old, new: [])
    queue = Queue(refuser("Fit", event))
    queue.add(pod())
    info = queue.take()
    queue.add_unschedulable(info, info.pod, ("Fit",))
    queue.move_all(NODE_ADD, None, node())
    assert queue.get("default/web") is not None
    assert queue.pods_in(Place.UNSCHEDULABLE) == []
