from __future__ import annotations

import numpy as np

from mooring.errors import MAX_TEXT
from mooring.framework.decision import Decision, NodeStatuses
from mooring.framework.status import Status
from mooring.scheduler.failure import Failure
from tests.plugins.clusters import Cluster, make_node, make_pod


def test_a_message_fits_into_a_condition() -> None:
    """kube-apiserver takes 3 MiB a request; kube-scheduler's condition would be refused."""
    long = "x" * 5_000_000
    assert Failure(long, rejected=False).message == "x" * (MAX_TEXT - 4) + " ..."
    assert Failure("short", rejected=True).message == "short"


def test_a_failure_backs_off_if_a_refusal_does() -> None:
    nodes = Cluster([make_node("a"), make_node("b")]).snapshot
    for status in (Status.unresolvable("no"), Status.unresolvable("no").after_backoff()):
        statuses = NodeStatuses(nodes)
        statuses.refuse(np.array([0]), Status.unschedulable("other"))
        statuses.refuse(np.array([1]), status)
        decision = Decision(make_pod("p"), "default-scheduler", statuses=statuses)
        assert Failure.of(decision).backs_off is status.backs_off
        early = Decision(make_pod("p"), "default-scheduler", pre_filter=status)
        assert Failure.of(early).backs_off is status.backs_off
        assert Failure.on_node(status).backs_off is status.backs_off
