from __future__ import annotations

import numpy as np

from mooring.cache import Cache
from mooring.framework.decision import NodeStatuses
from mooring.framework.features import FeatureGates
from mooring.framework.pod_info import PodInfos
from mooring.framework.status import Status
from tests.plugins.cluster import make_node

FULL, CLOSED = Status.unschedulable("full"), Status.unresolvable("closed")


def three() -> NodeStatuses:
    """Return the statuses of three nodes: one passes, one is refused, one was not evaluated."""
    cache = Cache(PodInfos(FeatureGates()))
    for name in ("a", "b", "c"):
        cache.add_node(make_node(name))
    statuses = NodeStatuses(cache.nodes)
    statuses.accept(np.array([0]))
    statuses.refuse(np.array([1]), FULL)
    return statuses


def test_a_row_is_told_as_its_node_is() -> None:
    statuses = three()
    assert [statuses.at(row) for row in range(3)] == [None, FULL, statuses.absent]
    assert [statuses.get(name) for name in "abc"] == [None, FULL, statuses.absent]
    assert statuses.passing.tolist() == [0]


def test_a_copy_goes_its_own_way() -> None:
    statuses = three()
    statuses.absent = CLOSED
    copy = statuses.copy()
    assert dict(copy.items()) == {"a": None, "b": FULL, "c": CLOSED}
    copy.refuse(np.array([0]), CLOSED)
    copy.accept(np.array([1]))
    assert copy.describe() == "0/3 nodes are available: 2 closed."
    assert statuses.describe() == "0/3 nodes are available: 1 closed, 1 full."
    assert statuses.passing.tolist() == [0]


def test_a_refusal_that_names_its_nodes_is_told_for_each_of_them() -> None:
    statuses = three()
    statuses.refuse(np.array([0, 2]), Status.unschedulable("{node} is far").per_node())
    assert [statuses.at(row) for row in range(3)] == [
        Status.unschedulable("a is far"),
        FULL,
        Status.unschedulable("c is far"),
    ]
    assert dict(statuses.items()) == {name: statuses.get(name) for name in "abc"}
    groups = [(status, rows.tolist()) for status, rows in statuses.groups()]
    assert groups == [(FULL, [1]), (statuses.at(0), [0]), (statuses.at(2), [2])]
    assert statuses.describe() == "0/3 nodes are available: 1 a is far, 1 c is far, 1 full."
