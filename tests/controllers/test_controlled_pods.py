from __future__ import annotations

import random
from typing import Any

import pytest

from mooring.api import Pod, parse_time
from mooring.api.kinds import decode_as, decode_raw
from mooring.controllers.controlled_pods import (
    DELETION_COST,
    first_to_go,
    generate_name,
    is_active,
    is_available,
    is_ready,
    pod_of,
    ready_since,
    until_available,
)
from tests.support.controllers import workload

SINCE = "2026-01-01T00:00:00Z"
NOW = parse_time(SINCE)


def pod(name: str = "p", ready: str = "", **more: Any) -> Pod:
    """Return a pod; `ready` is the time since which it is ready."""
    status = {"phase": "Running", **more.pop("status", {})}
    if ready:
        condition = {"type": "Ready", "status": "True", "lastTransitionTime": ready}
        status["conditions"] = [condition]
    metadata = {"name": name, "uid": name, "creationTimestamp": SINCE, **more.pop("metadata", {})}
    spec = {"nodeName": "n", **more.pop("spec", {})}
    return decode_as({"metadata": metadata, "spec": spec, "status": status}, Pod)


def test_generated_names_are_short_enough() -> None:
    name = generate_name("a" * 70, random.Random(1))
    assert name.startswith("a" * 58) and len(name) == 63
    assert generate_name("web-", random.Random(1)) != generate_name("web-", random.Random(2))


def test_a_pod_of_a_template() -> None:
    owner = decode_raw(workload("ReplicaSet", "web"))
    template = {
        "metadata": {"labels": {"a": "b"}, "annotations": {}, "name": "ignored"},
        "spec": {"containers": []},
    }
    found = pod_of(template, owner, "web-1", generateName="web-")
    metadata = found["metadata"]
    assert metadata["name"] == "web-1" and metadata["generateName"] == "web-"
    assert metadata["labels"] == {"a": "b"} and "annotations" not in metadata
    assert metadata["ownerReferences"][0]["name"] == "web"
    assert metadata["ownerReferences"][0]["controller"] is True
    assert found["spec"] == {"containers": []}


def test_readiness() -> None:
    assert ready_since(pod(ready=SINCE)) == SINCE
    assert ready_since(pod()) is None
    refused = pod(status={"conditions": [{"type": "Ready", "status": "False"}]})
    assert ready_since(refused) is None and not is_ready(refused)
    timeless = pod(status={"conditions": [{"type": "Ready", "status": "True"}]})
    assert ready_since(timeless) == "" and is_ready(timeless)


@pytest.mark.parametrize(
    ("seconds", "later", "available"),
    [(0, 0, True), (10, 9, False), (10, 10, True)],
    ids=["at once", "too early", "in time"],
)
def test_availability(seconds: int, later: int, available: bool) -> None:
    assert is_available(pod(ready=SINCE), seconds, NOW + later) is available
    assert not is_available(pod(), seconds, NOW + later)


def test_when_the_next_pod_becomes_available() -> None:
    pods = [pod(ready=SINCE), pod(ready="2026-01-01T00:00:05Z"), pod()]
    assert until_available(pods, 10, NOW + 5) == 5
    assert until_available(pods, 10, NOW + 12) == 3
    assert until_available(pods, 10, NOW + 20) is None
    assert until_available(pods, 0, NOW) is None


def test_pods_that_count() -> None:
    assert is_active(pod())
    assert not is_active(pod(status={"phase": "Failed"}))
    assert not is_active(pod(metadata={"deletionTimestamp": SINCE}))


LATER = "2026-01-01T00:01:00Z"
RANKED: dict[str, tuple[Pod, Pod]] = {
    "a pod without a node before one with a node": (pod("a", spec={"nodeName": ""}), pod("b")),
    "a pending pod before a running one": (pod("a", status={"phase": "Pending"}), pod("b")),
    "a pod that is not ready before one that is": (pod("a"), pod("b", SINCE)),
    "a cheap pod before a dear one": (
        pod("a", SINCE, metadata={"annotations": {DELETION_COST: "-1"}}),
        pod("b", SINCE),
    ),
    "a cost that is no number is nothing": (
        pod("a", SINCE, metadata={"annotations": {DELETION_COST: "x"}}),
        pod("b", SINCE, metadata={"annotations": {DELETION_COST: "1"}}),
    ),
    "a pod that is ready for a shorter time first": (pod("a", LATER), pod("b", SINCE)),
    "a pod with more restarts first": (
        pod("a", SINCE, status={"containerStatuses": [{"name": "c", "restartCount": 2}]}),
        pod("b", SINCE),
    ),
    "a younger pod first": (
        pod("a", SINCE, metadata={"creationTimestamp": LATER}),
        pod("b", SINCE),
    ),
    "else by identity": (pod("a", SINCE), pod("b", SINCE)),
}


@pytest.mark.parametrize(("first", "second"), RANKED.values(), ids=RANKED)
def test_the_order_of_deletion(first: Pod, second: Pod) -> None:
    assert first_to_go([second, first]) == [first, second]
    assert first_to_go([first, second]) == [first, second]


def test_pods_on_a_crowded_node_go_first() -> None:
    crowded, alone = pod("z", SINCE), pod("a", SINCE, spec={"nodeName": "m"})
    related = [pod("r", SINCE)]
    assert first_to_go([alone, crowded], related) == [crowded, alone]
