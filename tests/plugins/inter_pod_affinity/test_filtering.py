"""Required affinity and anti-affinity, against a recount pod by pod."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.api import Pod
from mooring.framework.state import CycleState
from mooring.plugins.inter_pod_affinity import InterPodAffinity
from tests.plugins.clusters import (
    HOSTNAME,
    Cluster,
    make_pod,
    refusals,
)
from tests.plugins.inter_pod_affinity import clusters, naive
from tests.plugins.inter_pod_affinity.affinity_terms import (
    NODES,
    SPACES,
    draw_cluster,
    required,
    term,
)


@given(data=st.data())
def test_filter_refuses_what_a_recount_refuses(data: st.DataObject) -> None:
    cluster, pod = draw_cluster(data)
    nodes = cluster.snapshot
    plugin = InterPodAffinity(None, cluster)
    expected = naive.filter_nodes(cluster.pod_info(pod), nodes.infos(), SPACES)
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
    cluster, pod = draw_cluster(data)
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
    expected = naive.filter_nodes(cluster.pod_info(pod), nodes.infos(), SPACES)
    assert after == (expected or {})


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
            make_pod("x", affinity=required("podAffinity", term("web"))),
            dict.fromkeys(
                "bc", "UnschedulableAndUnresolvable: node(s) didn't match pod affinity rules"
            ),
            id="affinity needs the domain of a matching pod",
        ),
        pytest.param(
            [],
            make_pod("x", {"app": "web"}, affinity=required("podAffinity", term("web"))),
            {"c": "UnschedulableAndUnresolvable: node(s) didn't match pod affinity rules"},
            id="the first of a group goes anywhere with the topology key",
        ),
        pytest.param(
            [make_pod("p", {"app": "web"}, node="a")],
            make_pod("x", affinity=required("podAntiAffinity", term("web"))),
            {"a": "Unschedulable: node(s) didn't match pod anti-affinity rules"},
            id="anti-affinity refuses the domain of a matching pod",
        ),
        pytest.param(
            [make_pod("p", node="a", affinity=required("podAntiAffinity", term("web")))],
            make_pod("x", {"app": "web"}),
            {"a": "Unschedulable: node(s) didn't satisfy existing pods anti-affinity rules"},
            id="an existing pod keeps the pod away",
        ),
        pytest.param(
            [make_pod("p", node="c", affinity=required("podAntiAffinity", term("web")))],
            make_pod("x", {"app": "web"}),
            {},
            id="an existing pod on a node without the topology key keeps none away",
        ),
    ],
)
def test_reasons(pods: list[Pod], pod: Pod, expected: dict[str, str]) -> None:
    assert _refused(Cluster(NODES, pods), pod) == expected


def test_one_pod_must_match_all_affinity_terms() -> None:
    pods = [
        make_pod("p", {"app": "web"}, node="a"),
        make_pod("q", {"app": "web", "tier": "front"}, node="b"),
    ]
    front = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"tier": "front"}}}
    pod = make_pod("x", affinity=required("podAffinity", term("web", HOSTNAME), front))
    assert _refused(Cluster(NODES, pods), pod).keys() == {"a", "c"}


@pytest.mark.parametrize("order", [1, -1], ids=["as written", "the other way round"])
def test_terms_of_one_topology_key_add_up(order: int) -> None:
    terms = [term("web"), term("db")][::order]
    hating = make_pod("p", node="b", affinity=required("podAntiAffinity", *terms))
    pods = [make_pod("q", {"app": "web"}, node="a"), hating]
    pod = make_pod("x", {"app": "db"}, affinity=required("podAntiAffinity", *terms))
    assert _refused(Cluster(NODES, pods), pod) == {
        "a": "Unschedulable: node(s) didn't match pod anti-affinity rules",
        "b": "Unschedulable: node(s) didn't satisfy existing pods anti-affinity rules",
    }
