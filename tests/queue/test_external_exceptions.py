"""Exceptions that somebody else raised into plugin code pass through the queue."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from mooring.framework.cluster_events import ClusterEvent
from mooring.framework.plugin import Plugin
from mooring.framework.plugin_errors import AbandonedError
from mooring.queue.pod_heap import PodHeap
from mooring.queue.pre_enqueue import PreEnqueue
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.queue.queueing_hints import Hints
from tests.queue.pods import NODE_ADD, PROFILE, Profile, gate, node, pod, refuser


def ends(*_: Any) -> Any:
    raise AbandonedError


def test_a_key_of_queue_sort() -> None:
    with pytest.raises(AbandonedError):
        PodHeap(ends, count()).push(QueuedPodInfo(pod(), 0.0, 0))


def test_a_gate() -> None:
    pre_enqueue = PreEnqueue({PROFILE: Profile(gate("G", ends))}, lambda: 0.0)
    with pytest.raises(AbandonedError):
        pre_enqueue.run(QueuedPodInfo(pod(), 0.0, 0))


def test_a_hint() -> None:
    hints = Hints({"P": refuser("P", ClusterEvent(NODE_ADD.resource, NODE_ADD.actions, ends))})
    with pytest.raises(AbandonedError):
        hints.worth_requeuing(pod(), {"P"}, NODE_ADD, None, node())


def test_a_plugin_that_registers_events() -> None:
    registers = type("P", (Plugin,), {"filter": ends, "events_to_register": ends})
    with pytest.raises(AbandonedError):
        Hints({"P": registers()})
