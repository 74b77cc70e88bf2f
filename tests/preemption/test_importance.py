"""Which pods are more important, and what it costs to evict them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.api import Pod, decode_as
from mooring.framework.features import FeatureGates
from mooring.framework.pod_info import PodInfo, PodInfos
from mooring.preemption.importance import by_importance, cost, costs, started
from mooring.testing import make_pod
from tests.plugins.clusters import Cluster

CLUSTER = Cluster()


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


def info(name: str, priority: int = 0, start: int | None = None) -> PodInfo:
    status: dict[str, Any] = {}
    if start is not None:
        status["startTime"] = f"1970-01-01T00:00:{start:02}Z"
    return CLUSTER.pod_info(make_pod(name, priority=priority, status=status))


def test_higher_priority_comes_first_then_the_earlier_start() -> None:
    pods = [
        info("new", 5),
        info("low", 1, 1),
        info("late", 5, 30),
        info("high", 9),
        info("early", 5, 10),
    ]
    names = [pod.pod.name for pod in by_importance(pods)]
    assert names == ["high", "early", "late", "new", "low"]


def test_a_pod_that_has_not_started_starts_last() -> None:
    assert started(info("a")) == math.inf
    assert started(info("a", start=7)) == 7.0


CHEAPER = [
    pytest.param([info("a", 9)], 0, [info("b", 1)], 1, id="fewer violations"),
    pytest.param([info("a", 1)] * 3, 0, [info("b", 2)], 0, id="a lower highest priority"),
    pytest.param(
        [info("a", 2), info("b", -5)], 0, [info("c", 2), info("d", 1)], 0, id="a lower sum"
    ),
    pytest.param([info("a", -1)], 0, [info("b", -1), info("c", -9)], 0, id="fewer victims"),
    pytest.param([info("a", 1, 30)], 0, [info("b", 1, 10)], 0, id="a later start"),
    pytest.param(
        [info("a", 2, 30), info("b", 1, 1)],
        0,
        [info("c", 2, 20), info("d", 1, 50)],
        0,
        id="the start of the most important alone",
    ),
]


@pytest.mark.parametrize(("victims", "violations", "others", "more"), CHEAPER)
def test_what_is_cheaper(
    victims: list[PodInfo], violations: int, others: list[PodInfo], more: int
) -> None:
    assert cost(victims, violations) < cost(others, more)


def test_the_costs_of_many_nodes_are_those_of_each() -> None:
    nodes = [[info("a", 3, 5)], [info("b", 1), info("c", 7, 9)], [info("d", -2, 4)] * 2]
    positions = np.array([i for i, pods in enumerate(nodes) for _ in pods])
    everyone = [pod for pods in nodes for pod in pods]
    found = costs(
        positions,
        np.array([pod.priority for pod in everyone]),
        np.array([started(pod) for pod in everyone]),
        np.array([0, 1, 2]),
    )
    assert found == [cost(pods, i) for i, pods in enumerate(nodes)]
