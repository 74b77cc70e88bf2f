"""The pods of a cluster that have no node."""

from __future__ import annotations

from mooring.api import Pod
from mooring.informers.store import Store
from mooring.testing.builders import make_pod
from mooring.ui.pending_pods import PendingPodList


def test_they_are_in_the_order_of_a_queue() -> None:
    old, young = (
        {"creationTimestamp": "2026-01-01T00:00:00Z"},
        {"creationTimestamp": "2026-01-02T00:00:00Z"},
    )
    store: Store[Pod] = Store(
        [
            make_pod("young", metadata=young),
            make_pod("old", metadata=old),
            make_pod("important", metadata=young, priority=7),
            make_pod("placed", node="n"),
            make_pod("finished", status={"phase": "Failed"}),
        ]
    )
    pending = PendingPodList(store)
    assert len(pending) == 3
    page = pending.page("", 0, 10)
    assert [pod["name"] for pod in page["pods"]] == ["important", "old", "young"]
    assert page["total"] == 3
    store.add(make_pod("old", node="n"))
    assert len(pending) == 2


def test_pages_and_a_filter() -> None:
    pending = PendingPodList(Store([make_pod(f"web-{i}", namespace="shop") for i in range(5)]))
    page = pending.page("shop/web", 3, 2)
    assert (page["total"], page["offset"]) == (5, 3)
    assert [pod["name"] for pod in page["pods"]] == ["web-3", "web-4"]
    assert pending.page("web-4", 0, 10)["total"] == 1
    assert pending.page("other/", 0, 10) == {"total": 0, "offset": 0, "pods": []}


def test_what_is_known_of_their_place() -> None:
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "full"}
    pods = [
        make_pod("a"),
        make_pod("b", gates=["quota", "other"]),
        make_pod("c", status={"conditions": [said]}),
        make_pod("d", nominated_node="n1"),
    ]
    found = PendingPodList(Store(pods)).page("", 0, 10)["pods"]
    assert [(pod["state"], pod["message"]) for pod in found] == [
        ("waiting", ""),
        ("gated", "quota, other"),
        ("unschedulable", "full"),
        ("nominated", "n1"),
    ]
