"""Nodes that only one plugin refuses."""

from __future__ import annotations

from mooring.explain.examination import NodeVerdict
from mooring.explain.misses import Miss, nearest_misses
from mooring.framework.status import Status

NO = Status.unschedulable("no").by("A")
NEVER = Status.unresolvable("never").by("B")
FAULT = Status.error("broken").by("C")


def test_a_miss_is_refused_by_exactly_one_plugin() -> None:
    nodes = [
        NodeVerdict("passes", asked=True),
        NodeVerdict("one", asked=True, refusals=[NO]),
        NodeVerdict("two", asked=True, refusals=[NO, NEVER]),
        NodeVerdict("other", asked=True, refusals=[NEVER]),
        NodeVerdict("fault", asked=True, refusals=[FAULT]),
        NodeVerdict("left out"),
    ]
    assert nearest_misses(nodes) == [Miss("one", NO), Miss("other", NEVER)]
