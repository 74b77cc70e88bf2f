"""Scores of affinity, against a recount pod by pod."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.framework.state import CycleState
from mooring.plugins.args import InterPodAffinityArgs
from mooring.plugins.inter_pod_affinity import InterPodAffinity
from mooring.plugins.inter_pod_affinity.scoring import normalize
from tests.plugins.clusters import (
    Cluster,
    make_pod,
    raw_scores,
)
from tests.plugins.inter_pod_affinity import naive
from tests.plugins.inter_pod_affinity.affinity_terms import (
    NODES,
    SPACES,
    draw_cluster,
    preferred,
    term,
)


@given(data=st.data(), hard_weight=st.integers(0, 3))
def test_scores_are_those_of_a_recount(data: st.DataObject, hard_weight: int) -> None:
    cluster, pod = draw_cluster(data)
    nodes = cluster.snapshot
    args = InterPodAffinityArgs(hard_pod_affinity_weight=hard_weight)
    plugin = InterPodAffinity(args, cluster)
    kept = data.draw(st.lists(st.booleans(), min_size=len(nodes), max_size=len(nodes)).filter(any))
    feasible = nodes.where(np.array(kept))
    expected = naive.score_nodes(
        cluster.pod_info(pod), nodes.infos(), feasible.names, SPACES, hard_weight
    )
    state = CycleState()
    answer = plugin.pre_score(state, pod, feasible)
    if expected is None:
        assert answer is not None
        assert answer.is_skip
        return
    assert answer is None
    raw, normalized = expected
    assert raw_scores(plugin, state, pod, feasible) == raw
    scores = plugin.score_nodes(state, pod, feasible)
    assert isinstance(scores, np.ndarray)
    found = plugin.normalize_score(state, pod, scores)
    assert dict(zip(feasible.names, found.tolist(), strict=True)) == normalized


def test_worths_that_cancel_out_are_scored_all_the_same() -> None:
    pods = [
        make_pod("p", {"app": "web"}, node="a"),
        make_pod("q", {"app": "db"}, node="a"),
    ]
    affinity = preferred("podAffinity", 5, term("web")) | preferred(
        "podAntiAffinity", 5, term("db")
    )
    cluster = Cluster(NODES, pods)
    plugin = InterPodAffinity(None, cluster)
    state = CycleState()
    assert plugin.pre_score(state, make_pod("x", affinity=affinity), cluster.snapshot) is None
    assert set(raw_scores(plugin, state, make_pod("x"), cluster.snapshot).values()) == {0}


def test_preferences_of_existing_pods_are_ignored_only_for_pods_without_any() -> None:
    liking = make_pod("p", node="a", affinity=preferred("podAffinity", 7, term("web")))
    cluster = Cluster(NODES, [liking])
    args = InterPodAffinityArgs(ignore_preferred_terms_of_existing_pods=True)
    plugin = InterPodAffinity(args, cluster)
    plain = make_pod("x", {"app": "web"})
    answer = plugin.pre_score(CycleState(), plain, cluster.snapshot)
    assert answer is not None
    assert answer.is_skip
    choosy = make_pod("x", {"app": "web"}, affinity=preferred("podAffinity", 1, term("db")))
    state = CycleState()
    assert plugin.pre_score(state, choosy, cluster.snapshot) is None
    assert raw_scores(plugin, state, choosy, cluster.snapshot) == {"a": 7, "b": 0, "c": 0}


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        pytest.param([], [], id="no node"),
        pytest.param([7, 7], [0, 0], id="equal scores are all 0"),
        pytest.param([-5, 0, 5], [0, 50, 100], id="the span is stretched"),
        # 100 * (29 / 100) is 28.999999999999996 in float64, and is truncated.
        pytest.param([0, 29, 100], [0, 28, 100], id="the quotient comes first, then it is cut"),
    ],
)
def test_normalize(scores: list[int], expected: list[int]) -> None:
    assert normalize(np.array(scores, dtype=np.int64)).tolist() == expected
