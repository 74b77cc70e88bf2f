"""The answers of the Filter plugins as columns."""

from __future__ import annotations

import numpy as np

from mooring.explain.filter_verdicts import PASSES, FilterVerdicts
from mooring.framework.status import Status

NO = Status.unschedulable("no").by("A")
NEVER = Status.unresolvable("never").by("B")


def rows(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    return np.array(numbers, dtype=np.intp)


def verdicts() -> FilterVerdicts:
    found = FilterVerdicts(["n0", "n1", "n2", "n3", "left out"])
    found.asked[:4] = True
    found.add_plugin("A")
    found.add_plugin("B")
    found.refuse("B", NEVER, rows(1, 2))
    found.refuse("A", NO, rows(2))
    return found


def test_the_first_refusal_is_that_of_the_first_plugin() -> None:
    found = verdicts()
    assert found.statuses == [NEVER, NO]
    assert found.first.tolist() == [PASSES, 0, 1, PASSES, PASSES]
    assert found.of_node(2) == [NO, NEVER]
    assert found.of_node(0) == []


def test_a_node_that_was_not_asked_about_does_not_pass() -> None:
    found = verdicts()
    assert found.refusals.tolist() == [0, 1, 2, 0, 0]
    assert found.passing.tolist() == [True, False, False, True, False]


def test_groups_come_with_the_largest_first() -> None:
    found = verdicts()
    found.refuse("A", NO, rows(0, 3))
    groups = [(status, nodes.tolist()) for status, nodes in found.groups(found.first)]
    assert groups == [(NO, [0, 2, 3]), (NEVER, [1])]


def test_without_nodes_there_is_nothing() -> None:
    found = FilterVerdicts()
    assert len(found) == 0
    assert list(found.groups(found.first)) == []
