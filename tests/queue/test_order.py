"""The order of the queue, from either form of QueueSort."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.framework.queued import QueuedPod
from mooring.plugins.priority_sort import PrioritySort
from mooring.queue.order import queue_order
from tests.cycle.scheduling import make_pod, plugin

QUEUED = [
    QueuedPod(make_pod("low", priority=1), 1.0),
    QueuedPod(make_pod("late", priority=9), 3.0),
    QueuedPod(make_pod("early", priority=9), 2.0),
]


def less(a: Any, b: Any) -> bool:
    return bool(PrioritySort().less(a, b))


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        pytest.param(PrioritySort(), ["early", "late", "low"], id="a key"),
        pytest.param(plugin("Less", less=less)(), ["early", "late", "low"], id="a comparison"),
        pytest.param(None, ["low", "early", "late"], id="no plugin: as they came"),
    ],
)
def test_pods_are_sorted(sort: Any, expected: list[str]) -> None:
    ordered = sorted(QUEUED, key=queue_order(sort))
    assert [queued.pod.name for queued in ordered] == expected


def test_a_comparison_tells_before_after_and_equal() -> None:
    key = queue_order(plugin("Less", less=less)())
    low, late, _ = (key(queued) for queued in QUEUED)
    assert (late < low, late == low, late > low) == (True, False, False)
    assert (low < late, low == late, low > late) == (False, False, True)
    assert (low < low, low == low, low > low) == (False, True, False)


def test_a_comparison_that_calls_pods_equal_keeps_their_order() -> None:
    key = queue_order(plugin("Never", less=lambda a, b: False)())
    assert sorted(QUEUED, key=key) == QUEUED
