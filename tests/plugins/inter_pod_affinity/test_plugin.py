"""InterPodAffinity: its errors, signatures and events."""

from __future__ import annotations

from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource
from mooring.framework.state import CycleState
from mooring.plugins.inter_pod_affinity import InterPodAffinity
from mooring.plugins.inter_pod_affinity.plugin import NOT_PRE_FILTERED, NOT_PRE_SCORED
from tests.plugins.clusters import (
    ZONE,
    Cluster,
    make_node,
    make_pod,
    refusals,
)


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
    pods, itself, nodes = InterPodAffinity(None, Cluster()).events_to_register()
    assert (pods.resource, pods.actions) == (
        EventResource.ASSIGNED_POD,
        ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_POD_LABEL,
    )
    assert itself == ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_LABEL)
    assert (nodes.resource, nodes.actions) == (
        EventResource.NODE,
        ActionType.ADD | ActionType.UPDATE_NODE_LABEL,
    )
