"""Which pods are more important, and what it costs to clear a node."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mooring.api import Pod, decode_as
from mooring.framework.features import FeatureGates
from mooring.framework.pod_info import PodInfo, PodInfos
from mooring.plugins.preemption.importance import by_importance, cost, costs, started


def victim(priority: int, minute: int | None) -> PodInfo:
    """Return a pod of some priority that started at a minute, or has not started."""
    status = {} if minute is None else {"startTime": f"2026-01-01T00:{minute:02}:00Z"}
    document = {"metadata": {"name": "p"}, "spec": {"priority": priority}, "status": status}
    return PodInfos(FeatureGates()).of(decode_as(document, Pod))


VICTIMS = st.lists(
    st.builds(victim, st.integers(-5, 5), st.none() | st.integers(0, 59)), min_size=1, max_size=5
)


def test_higher_priority_then_an_earlier_start_is_more_important() -> None:
    low, late, early, waiting = victim(1, 0), victim(2, 30), victim(2, 10), victim(2, None)
    assert by_importance([low, waiting, late, early]) == [early, late, waiting, low]


def test_a_cost_has_its_parts_in_the_order_of_their_weight() -> None:
    pods = [victim(3, 20), victim(1, 0), victim(3, 10)]
    assert cost(pods, 2) == (2, 3, 3 * 2**31 + 7, 3, -started(pods[2]))
    assert cost([victim(1, None)], 0)[-1] == -math.inf


@given(st.lists(st.tuples(VICTIMS, st.integers(0, 3)), min_size=1, max_size=4))
def test_many_nodes_cost_what_each_of_them_costs(nodes: list[tuple[list[PodInfo], int]]) -> None:
    pods = [pod for victims, _ in nodes for pod in victims]
    positions = [number for number, (victims, _) in enumerate(nodes) for _ in victims]
    together = costs(
        np.array(positions, dtype=np.intp),
        np.array([pod.priority for pod in pods], dtype=np.int64),
        np.array([started(pod) for pod in pods]),
        np.array([violations for _, violations in nodes]),
    )
    assert together == [cost(victims, violations) for victims, violations in nodes]
