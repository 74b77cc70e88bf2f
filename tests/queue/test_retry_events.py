"""The texts for events that queue a pod again."""

from __future__ import annotations

import pytest

from mooring.framework.cluster_events import ALL_EVENTS, ActionType, ClusterEvent, EventResource
from mooring.queue.retry_events import retry_texts


@pytest.mark.parametrize(
    ("events", "texts"),
    [
        pytest.param([], [], id="none"),
        pytest.param([ALL_EVENTS], ["any event"], id="all"),
        pytest.param(
            [ClusterEvent(EventResource.NODE, ActionType.ALL)],
            ["Node Add", "Node Update", "Node Delete"],
            id="every change of nodes",
        ),
        pytest.param(
            [
                ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_TOLERATION),
                ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_SCALE_DOWN),
                ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT),
            ],
            [
                "Node Update (taints)",
                "assigned Pod Update (scale down)",
                "this Pod Update (tolerations)",
            ],
            id="nodes first, then pods",
        ),
        pytest.param(
            [
                ClusterEvent(EventResource.CSI_NODE, ActionType.ADD),
                ClusterEvent("widgets.v1.example.com", ActionType.DELETE),
            ],
            ["CSINode Add", "widgets.v1.example.com Delete"],
            id="other kinds",
        ),
    ],
)
def test_texts(events: list[ClusterEvent], texts: list[str]) -> None:
    assert retry_texts(events) == texts
