"""Tests of InterPodAffinity against a recount pod by pod."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.api import Pod
from mooring.framework.cluster_events import ActionType, EventResource
from mooring.framework.state import CycleState
from mooring.plugins.args import InterPodAffinityArgs
from mooring.plugins.inter_pod_affinity import InterPodAffinity
from mooring.plugins.inter_pod_affinity.plugin import NOT_PRE_FILTERED, NOT_PRE_SCORED
from tests.plugins.clusters import (
    HOSTNAME,
    ZONE,
    Cluster,
    make_node,
    make_pod,
    raw_scores,
    refusals,
)
from tests.plugins.inter_pod_affinity import clusters, naive

_SPACES = naive.Namespaces(clusters.NAMESPACES)


def _draw(data: st.DataObject) -> tuple[Cluster, Pod]:
    nodes = data.draw(clusters.nodes())
    cluster = Cluster(nodes, data.draw(clusters.pods(nodes)), clusters.NAMESPACES)
    return cluster, data.draw(clusters.pod())


@given(data=st.data())
def test_filter_refuses_what_a_recount_refuses(data: st.DataObject) -> None:
    cluster, pod = _draw(data)
    nodes = cluster.snapshot
    plugin = InterPodAffinity(None, cluster)
    expected = naive.filter_nodes(cluster.pod_info(pod), nodes.infos(), _SPACES)
    state = CycleState()
    answer = plugin.pre_filter(state, pod, nodes)
    if expected is None:
        assert answer is not None
        assert answer.is_skip
        return
    assert answer is None
    assert refusals(plugin, state, pod, nodes) == expected
    some = nodes.select(np.arange(len(nodes))[::-2])
    assert refusals(plugin, state, pod, some) == {
        name: status for name, status in expected.items() if name in some.names
    }


@given(data=st.data())
def test_pods_added_and_removed_count_as_in_a_changed_cluster(data: st.DataObject) -> None:
    cluster, pod = _draw(data)
    nodes = cluster.snapshot
    plugin = InterPodAffinity(None, cluster)
    state = CycleState()
    if plugin.pre_filter(state, pod, nodes) is not None:
        return
    before = refusals(plugin, state, pod, nodes)
    info = data.draw(st.sampled_from(nodes.infos()))
    removed = [other for other in info.pods.values() if data.draw(st.booleans())]
    added = data.draw(clusters.pod("added", info.name))
    trial = state.clone()
    assert plugin.add_pod(trial, pod, cluster.pod_info(added), info) is None
    for other in removed:
        assert plugin.remove_pod(trial, pod, other, info) is None
    after = refusals(plugin, trial, pod, nodes)
    assert refusals(plugin, state, pod, nodes) == before
    for other in removed:
        cluster.cache.remove_pod(other.uid)
    cluster.cache.add_pod(added)
    expected = naive.filter_nodes(cluster.pod_info(pod), nodes.infos(), _SPACES)
    assert after == (expected or {})


@given(data=st.data(), hard_weight=st.integers(0, 3))
def test_scores_are_those_of_a_recount(data: st.DataObject, hard_weight: int) -> None:
    cluster, pod = _draw(data)
    nodes = cluster.snapshot
    args = InterPodAffinityArgs(hard_pod_affinity_weight=hard_weight)
    plugin = InterPodAffinity(args, cluster)
    kept = data.draw(st.lists(st.booleans(), min_size=len(nodes), max_size=len(nodes)).filter(any))
    feasible = nodes.where(np.array(kept))
    expected = naive.score_nodes(
        cluster.pod_info(pod), nodes.infos(), feasible.names, _SPACES, hard_weight
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


# Special rules.


def _term(app: str, key: str = ZONE) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}


def _required(side: str, *terms: dict[str, Any]) -> dict[str, Any]:
    return {side: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def _preferred(side: str, weight: int, term: dict[str, Any]) -> dict[str, Any]:
    preference = {"weight": weight, "podAffinityTerm": term}
    return {side: {"preferredDuringSchedulingIgnoredDuringExecution": [preference]}}


_NODES = [make_node("a", {ZONE: "x"}), make_node("b", {ZONE: "y"}), make_node("c")]


def _refused(cluster: Cluster, pod: Pod) -> dict[str, str]:
    plugin = InterPodAffinity(None, cluster)
    state = CycleState()
    if plugin.pre_filter(state, pod, cluster.snapshot) is not None:
        return {}
    found = refusals(plugin, state, pod, cluster.snapshot)
    return {name: f"{status.code.label}: {status.message}" for name, status in found.items()}


@pytest.mark.parametrize(
    ("pods", "pod", "expected"),
    [
        pytest.param(
            [make_pod("p", {"app": "web"}, node="a")],
            make_pod("x", affinity=_required("podAffinity", _term("web"))),
            dict.fromkeys(
                "bc", "UnschedulableAndUnresolvable: node(s) didn't match pod affinity rules"
            ),
            id="affinity needs the domain of a matching pod",
        ),
        pytest.param(
            [],
            make_pod("x", {"app": "web"}, affinity=_required("podAffinity", _term("web"))),
            {"c": "UnschedulableAndUnresolvable: node(s) didn't match pod affinity rules"},
            id="the first of a group goes anywhere with the topology key",
        ),
        pytest.param(
            [make_pod("p", {"app": "web"}, node="a")],
            make_pod("x", affinity=_required("podAntiAffinity", _term("web"))),
            {"a": "Unschedulable: node(s) didn't match pod anti-affinity rules"},
            id="anti-affinity refuses the domain of a matching pod",
        ),
        pytest.param(
            [make_pod("p", node="a", affinity=_required("podAntiAffinity", _term("web")))],
            make_pod("x", {"app": "web"}),
            {"a": "Unschedulable: node(s) didn't satisfy existing pods anti-affinity rules"},
            id="an existing pod keeps the pod away",
        ),
        pytest.param(
            [make_pod("p", node="c", affinity=_required("podAntiAffinity", _term("web")))],
            make_pod("x", {"app": "web"}),
            {},
            id="an existing pod on a node without the topology key keeps none away",
        ),
    ],
)
def test_reasons(pods: list[Pod], pod: Pod, expected: dict[str, str]) -> None:
    assert _refused(Cluster(_NODES, pods), pod) == expected


def test_one_pod_must_match_all_affinity_terms() -> None:
    pods = [
        make_pod("p", {"app": "web"}, node="a"),
        make_pod("q", {"app": "web", "tier": "front"}, node="b"),
    ]
    front = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"tier": "front"}}}
    pod = make_pod("x", affinity=_required("podAffinity", _term("web", HOSTNAME), front))
    assert _refused(Cluster(_NODES, pods), pod).keys() == {"a", "c"}


@pytest.mark.parametrize("order", [1, -1], ids=["as written", "the other way round"])
def test_terms_of_one_topology_key_add_up(order: int) -> None:
    terms = [_term("web"), _term("db")][::order]
    hating = make_pod("p", node="b", affinity=_required("podAntiAffinity", *terms))
    pods = [make_pod("q", {"app": "web"}, node="a"), hating]
    pod = make_pod("x", {"app": "db"}, affinity=_required("podAntiAffinity", *terms))
    assert _refused(Cluster(_NODES, pods), pod) == {
        "a": "Unschedulable: node(s) didn't match pod anti-affinity rules",
        "b": "Unschedulable: node(s) didn't satisfy existing pods anti-affinity rules",
    }


def test_worths_that_cancel_out_are_scored_all_the_same() -> None:
    pods = [
        make_pod("p", {"app": "web"}, node="a"),
        make_pod("q", {"app": "db"}, node="a"),
    ]
    affinity = _preferred("podAffinity", 5, _term("web")) | _preferred(
        "podAntiAffinity", 5, _term("db")
    )
    cluster = Cluster(_NODES, pods)
    plugin = InterPodAffinity(None, cluster)
    state = CycleState()
    assert plugin.pre_score(state, make_pod("x", affinity=affinity), cluster.snapshot) is None
    assert set(raw_scores(plugin, state, make_pod("x"), cluster.snapshot).values()) == {0}


def test_preferences_of_existing_pods_are_ignored_only_for_pods_without_any() -> None:
    liking = make_pod("p", node="a", affinity=_preferred("podAffinity", 7, _term("web")))
    cluster = Cluster(_NODES, [liking])
    args = InterPodAffinityArgs(ignore_preferred_terms_of_existing_pods=True)
    plugin = InterPodAffinity(args, cluster)
    plain = make_pod("x", {"app": "web"})
    answer = plugin.pre_score(CycleState(), plain, cluster.snapshot)
    assert answer is not None
    assert answer.is_skip
    choosy = make_pod("x", {"app": "web"}, affinity=_preferred("podAffinity", 1, _term("db")))
    state = CycleState()
    assert plugin.pre_score(state, choosy, cluster.snapshot) is None
    assert raw_scores(plugin, state, choosy, cluster.snapshot) == {"a": 7, "b": 0, "c": 0}


def test_a_filter_or_score_without_its_first_half_is_an_error() -> None:
    cluster = Cluster([make_node("a")])
    plugin = InterPodAffinity(None, cluster)
    pod, state, info = make_pod("x"), CycleState(), cluster.snapshot.info(0)
    assert refusals(plugin, state, pod, cluster.snapshot) == {"a": NOT_PRE_FILTERED}
    assert plugin.remove_pod(state, pod, cluster.pod_info(pod), info) is NOT_PRE_FILTERED
    assert plugin.score(state, pod, info) is NOT_PRE_SCORED
    assert plugin.score_nodes(state, pod, cluster.snapshot) is NOT_PRE_SCORED
    assert NOT_PRE_SCORED.message == (
        'failed to read "PreScoreInterPodAffinity" from cycleState: not found'
    )


def test_pods_are_signed_unless_a_term_speaks_of_them_or_they_carry_terms() -> None:
    term = {"labelSelector": {"matchLabels": {"a": "1"}}, "topologyKey": ZONE}
    shy = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    node, holder = make_node("n"), make_pod("holder", {}, node="n", affinity=shy)
    plugin = InterPodAffinity(None, Cluster([node], [holder]))
    assert plugin.sign_pod(make_pod("x", {"a": "2"})) == ()
    assert plugin.sign_pod(make_pod("x", {"a": "1"})) is None
    assert plugin.sign_pod(make_pod("x", affinity={"podAffinity": {}})) is None


def test_it_asks_for_events_of_pods_and_nodes() -> None:
    pods, nodes = InterPodAffinity(None, Cluster()).events_to_register()
    assert (pods.resource, pods.actions) == (
        EventResource.POD,
        ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_POD_LABEL,
    )
    assert (nodes.resource, nodes.actions) == (
        EventResource.NODE,
        ActionType.ADD | ActionType.UPDATE_NODE_LABEL,
    )
