"""The sentence about a pod's place in the queue."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from mooring.explain.queue_text import moment_text, queue_text
from mooring.queue.queue_places import QueuePlace, Whereabouts

NOW = datetime(2026, 5, 4, 19, 38, 0).timestamp()
LATER = datetime(2026, 5, 4, 19, 42, 10).timestamp()


@pytest.mark.parametrize(
    ("place", "fields", "text"),
    [
        ("gated", {"plugins": ["SchedulingGates"]}, "gated by SchedulingGates"),
        ("active", {"position": 3}, "active, position 3"),
        ("active", {}, "active"),
        ("backingOff", {"until": LATER}, "backing off until 19:42:10"),
        ("inFlight", {}, "in flight"),
        (
            "waitingAtPermit",
            {"plugins": ["Coscheduling"], "until": LATER},
            "waiting at Permit for Coscheduling until 19:42:10",
        ),
        ("withoutGroup", {}, "waiting for its pod group to exist"),
        (
            "unschedulable",
            {
                "since": NOW - 12,
                "events": [
                    "Node Add",
                    "Node Update (allocatable, labels)",
                    "assigned Pod Delete",
                ],
                "latest": LATER,
            },
            "unschedulable for 12 s; tried again on Node Add, Node Update (allocatable, labels), "
            "assigned Pod Delete, at the latest 19:42:10",
        ),
        ("active", {"position": 1, "pod_group": "shop/g"}, "active, position 1 (pod group shop/g)"),
        (
            "inFlight",
            {"pod_group": "shop/g", "composite_pod_group": "shop/job"},
            "in flight (pod group shop/g of composite pod group shop/job)",
        ),
        (
            "withoutGroup",
            {"pod_group": "shop/g", "composite_pod_group": "shop/job"},
            "waiting for composite pod group shop/job, which is missing or above itself "
            "(pod group shop/g)",
        ),
    ],
)
def test_text(place: str, fields: dict[str, Any], text: str) -> None:
    found = QueuePlace(namespace="shop", name="p", uid="u", place=Whereabouts(place), **fields)
    assert queue_text(found, NOW) == text


def test_a_moment_on_another_day_has_its_date() -> None:
    assert moment_text(NOW + 3 * 86400, NOW) == "2026-05-07 19:38:00"
