"""Which events bring a refused pod back."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.framework.events import (
    ALL_EVENTS,
    ActionType,
    ClusterEvent,
    EventResource,
    QueueingHint,
)
from mooring.queue.hints import Hints
from tests.cycle.scheduling import make_pod, plugin

POD_ADD = ClusterEvent(EventResource.POD, ActionType.ADD)
NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)


def _raise(pod: Any, old: Any, new: Any) -> QueueingHint:
    raise ValueError("boom")


def waits_for(event: ClusterEvent, hint: Any = None) -> Any:
    registered = ClusterEvent(event.resource, event.actions, hint)
    return plugin("P", filter=lambda *_: None, events_to_register=lambda: [registered])()


@pytest.mark.parametrize(
    ("refuser", "refused_by", "happened", "expected"),
    [
        pytest.param(waits_for(POD_ADD), {"P"}, POD_ADD, True, id="an event without a hint"),
        pytest.param(waits_for(NODE_ADD), {"P"}, POD_ADD, False, id="another resource"),
        pytest.param(
            waits_for(POD_ADD, lambda pod, old, new: QueueingHint.SKIP),
            {"P"},
            POD_ADD,
            False,
            id="a hint that says no",
        ),
        pytest.param(waits_for(POD_ADD, _raise), {"P"}, POD_ADD, True, id="a hint that raises"),
        pytest.param(waits_for(NODE_ADD), {"Q"}, POD_ADD, True, id="a stranger waits for all"),
        pytest.param(waits_for(NODE_ADD), set(), POD_ADD, True, id="refused by nobody"),
        pytest.param(waits_for(NODE_ADD), {"P"}, ALL_EVENTS, True, id="the event of all events"),
        pytest.param(
            plugin("P", filter=lambda *_: None)(), {"P"}, POD_ADD, True, id="nothing registered"
        ),
    ],
)
def test_worth_requeuing(refuser: Any, refused_by: Any, happened: Any, expected: bool) -> None:
    hints = Hints({"P": refuser})
    assert (
        hints.worth_requeuing(make_pod(), refused_by, happened, None, make_pod("new")) is expected
    )


def test_the_hint_is_told_who_waits_and_what_changed() -> None:
    told = []

    def hint(pod: Any, old: Any, new: Any) -> QueueingHint:
        told.append((pod.name, old, new.name))
        return QueueingHint.QUEUE

    hints = Hints({"P": waits_for(POD_ADD, hint)})
    assert hints.worth_requeuing(make_pod("waits"), {"P"}, POD_ADD, None, make_pod("new"))
    assert told == [("waits", None, "new")]
