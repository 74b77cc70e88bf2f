"""The priority by which the queue orders pods and pod groups."""

from __future__ import annotations

from mooring.framework.queued import QueuedPod
from mooring.testing import make_pod, make_pod_group


def test_a_group_has_its_own_priority_and_not_that_of_a_pod() -> None:
    pod = make_pod("p", priority=3)
    assert QueuedPod(pod, 0.0).priority == 3
    assert QueuedPod(pod, 0.0, group=make_pod_group(priority=9)).priority == 9
