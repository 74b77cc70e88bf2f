"""Which events queue a refused pod again."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from mooring.framework.cluster_events import (
    ALL_EVENTS,
    ActionType,
    ClusterEvent,
    EventResource,
    QueueingHint,
)
from mooring.framework.plugin import Plugin
from mooring.observe.metrics import Metrics
from mooring.queue.event_types import ASSIGNED_POD_ADD, ASSIGNED_POD_UPDATE, FORCE_ACTIVATED
from mooring.queue.queueing_hints import Hints, QueueingStrategy
from tests.queue.pods import NODE_ADD, NODE_LABEL, NODE_TAINT, POD_ADD, node, pod, refuser

POD_LABEL = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_LABEL)
POD_UPDATE = ClusterEvent(EventResource.POD, ActionType.UPDATE)
ASSIGNED_POD_LABEL = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_LABEL)
ANY_ADD = ClusterEvent(EventResource.WILDCARD, ActionType.ADD)
CUSTOM = ClusterEvent("queues.v1.example.com", ActionType.ADD)
NODE_ADD_AND_TAINT = ClusterEvent(
    EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT, lambda *_: QueueingHint.SKIP
)


def _raise(pod: Any, old: Any, new: Any) -> QueueingHint:
    raise ValueError("boom")


def answers(event: ClusterEvent, hint: Any) -> ClusterEvent:
    return ClusterEvent(event.resource, event.actions, hint)


def says(answer: Any) -> Any:
    return lambda pod, old, new: answer


class Silent(Plugin):
    """A plugin that does not register events."""

    name = "P"

    def filter(self, state: Any, pod: Any, node: Any) -> None: ...


@pytest.mark.parametrize(
    ("registered", "happened", "expected"),
    [
        pytest.param([POD_ADD], POD_ADD, True, id="an event without a hint"),
        pytest.param([POD_ADD], ASSIGNED_POD_ADD, True, id="a pod stands for an assigned pod"),
        pytest.param([NODE_ADD], POD_ADD, False, id="another resource"),
        pytest.param([NODE_LABEL], NODE_ADD, False, id="another action"),
        pytest.param([POD_LABEL], ASSIGNED_POD_LABEL, True, id="a special update"),
        pytest.param([POD_UPDATE], ASSIGNED_POD_LABEL, True, id="any update, and a special one"),
        pytest.param([POD_LABEL], ASSIGNED_POD_UPDATE, False, id="special, and a general one"),
        pytest.param([ANY_ADD], NODE_ADD, True, id="any resource"),
        pytest.param([CUSTOM], CUSTOM, True, id="a custom resource"),
        pytest.param([answers(POD_ADD, says(QueueingHint.SKIP))], POD_ADD, False, id="says no"),
        pytest.param([answers(POD_ADD, says(QueueingHint.QUEUE))], POD_ADD, True, id="says yes"),
        pytest.param([answers(POD_ADD, _raise)], POD_ADD, True, id="a hint that raises"),
        pytest.param([answers(POD_ADD, says("no"))], POD_ADD, True, id="a hint that says nonsense"),
        pytest.param(
            [answers(POD_ADD, says(QueueingHint.SKIP)), POD_ADD], POD_ADD, True, id="one of two"
        ),
        pytest.param([NODE_ADD], NODE_TAINT, False, id="who waits for nodes, and a taint"),
        pytest.param([], NODE_ADD, False, id="who waits for nothing"),
    ],
)
def test_worth_requeuing(registered: Any, happened: ClusterEvent, expected: bool) -> None:
    hints = Hints({"P": refuser("P", *registered)})
    for _ in range(2):
        assert hints.worth_requeuing(pod(), {"P"}, happened, None, pod("new")) is expected


def test_who_waits_for_nodes_waits_for_taints_in_1_36() -> None:
    def worth(*registered: ClusterEvent) -> bool:
        hints = Hints({"P": refuser("P", *registered)}, node_add_includes_taints=True)
        return hints.worth_requeuing(pod(), {"P"}, NODE_TAINT, node(), node())

    assert worth(NODE_ADD)
    assert not worth(NODE_ADD_AND_TAINT), "unless it does so itself"


@pytest.mark.parametrize(("changed", "queued"), [("a", True), ("b", False)])
def test_only_its_own_changes_are_events_of_the_target_pod(changed: str, queued: bool) -> None:
    for resource in (EventResource.TARGET_POD, EventResource.POD):
        hints = Hints({"P": refuser("P", ClusterEvent(resource, ActionType.UPDATE))})
        happened = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE)
        found = hints.worth_requeuing(pod("a"), {"P"}, happened, pod(changed), pod(changed))
        assert found is queued


@pytest.mark.parametrize(
    ("refused_by", "happened", "new", "expected"),
    [
        pytest.param({"Q"}, POD_ADD, None, True, id="a stranger waits for all"),
        pytest.param(set(), POD_ADD, None, True, id="refused by nobody"),
        pytest.param({"P"}, ALL_EVENTS, None, True, id="the event of all events"),
        pytest.param({"P"}, FORCE_ACTIVATED, pod(), True, id="an event for this pod alone"),
        pytest.param({"P"}, FORCE_ACTIVATED, pod("b"), False, id="an event for another pod"),
        pytest.param({"P"}, FORCE_ACTIVATED, node(), False, id="an event for no pod"),
    ],
)
def test_special_cases(refused_by: Any, happened: Any, new: Any, expected: bool) -> None:
    hints = Hints({"P": refuser("P", NODE_ADD)})
    assert hints.worth_requeuing(pod(), refused_by, happened, None, new) is expected


def test_a_plugin_that_registers_nothing_waits_for_all() -> None:
    hints = Hints({"P": Silent()})
    assert hints.worth_requeuing(pod(), {"P"}, CUSTOM, None, None)
    assert list(hints.waiting_for(CUSTOM)) == ["P"]


def test_a_plugin_that_cannot_refuse_waits_for_nothing() -> None:
    class Scores(Plugin):
        def score(self, state: Any, pod: Any, node: Any) -> int:
            return 1

    assert not Hints({"Scores": Scores()}).waiting_for(NODE_ADD)


@pytest.mark.parametrize(
    ("unschedulable", "pending", "expected"),
    [
        pytest.param({"Yes"}, set(), QueueingStrategy.AFTER_BACKOFF, id="refused"),
        pytest.param(set(), {"Yes"}, QueueingStrategy.IMMEDIATELY, id="pending"),
        pytest.param({"Yes"}, {"No"}, QueueingStrategy.AFTER_BACKOFF, id="the pending one says no"),
        pytest.param({"No"}, {"Yes"}, QueueingStrategy.IMMEDIATELY, id="the pending one says yes"),
        pytest.param({"No"}, set(), QueueingStrategy.SKIP, id="nobody says yes"),
    ],
)
def test_strategy(unschedulable: Any, pending: Any, expected: QueueingStrategy) -> None:
    hints = Hints({"Yes": refuser("Yes", NODE_ADD), "No": refuser("No", NODE_LABEL)})
    assert hints.strategy(pod(), unschedulable, pending, NODE_ADD, None, node()) is expected


def test_the_hint_is_told_who_waits_and_what_changed() -> None:
    told = []

    def hint(pod: Any, old: Any, new: Any) -> QueueingHint:
        told.append((pod.name, old, new.name))
        return QueueingHint.QUEUE

    hints = Hints({"P": refuser("P", answers(POD_ADD, hint))})
    assert hints.worth_requeuing(pod("waits"), {"P"}, POD_ADD, None, pod("new"))
    assert told == [("waits", None, "new")]


def test_a_hint_that_raises_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    hints = Hints({"P": refuser("P", answers(NODE_ADD, _raise))})
    with caplog.at_level(logging.ERROR):
        hints.worth_requeuing(pod(), {"P"}, NODE_ADD, None, node())
    assert caplog.messages == ["QueueingHintFn returns error"]
    assert caplog.records[0].kv["plugin"] == "P"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("hint", "label"),
    [
        pytest.param(None, "Queue", id="no hint"),
        pytest.param(says(QueueingHint.SKIP), "QueueSkip", id="no"),
        pytest.param(_raise, "Error", id="an exception"),
    ],
)
def test_the_time_of_hints_is_taken(hint: Any, label: str) -> None:
    metrics = Metrics()
    times = iter((10.0, 10.25))
    plugin = refuser("P", answers(NODE_LABEL, hint))
    hints = Hints({"P": plugin}, metrics=metrics, now=lambda: next(times))
    hints.worth_requeuing(pod(), {"P"}, NODE_LABEL, None, node())
    name = "scheduler_queueing_hint_execution_duration_seconds_sum"
    labels = {"plugin": "P", "event": "NodeUpdateNodeLabel", "hint": label}
    assert metrics.registry.get_sample_value(name, labels) == 0.25
