"""PodTopologySpread: which pods it leaves alone, its defaults, its errors and events."""

from __future__ import annotations

from mooring.api import ReplicaSet, Service, TopologySpreadConstraint
from mooring.framework.cluster_events import ActionType, EventResource
from mooring.framework.state import CycleState
from mooring.plugins.args import PodTopologySpreadArgs
from mooring.plugins.pod_topology_spread import PodTopologySpread
from mooring.plugins.pod_topology_spread.plugin import NOT_PRE_FILTERED, NOT_PRE_SCORED
from mooring.plugins.pod_topology_spread.spread_constraints import (
    DO_NOT_SCHEDULE,
)
from tests.plugins.clusters import (
    ZONE,
    Cluster,
    make,
    make_node,
    make_pod,
    refusals,
)
from tests.plugins.pod_topology_spread import clusters

# Special rules.


def test_a_pod_without_constraints_or_siblings_is_left_alone() -> None:
    cluster = Cluster([make_node("a")])
    plugin = PodTopologySpread(None, cluster)
    for pod in (make_pod("bare"), make_pod("labelled", {"app": "web"})):
        for answer in (
            plugin.pre_filter(CycleState(), pod, cluster.snapshot),
            plugin.pre_score(CycleState(), pod, cluster.snapshot),
        ):
            assert answer is not None
            assert answer.is_skip


def test_list_defaults_filter_and_need_every_key() -> None:
    args = PodTopologySpreadArgs(
        defaulting_type="List",
        default_constraints=(
            TopologySpreadConstraint(
                max_skew=1, topology_key=ZONE, when_unsatisfiable=DO_NOT_SCHEDULE
            ),
        ),
    )
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}
    owned = make(ReplicaSet, "web", "default", spec={"selector": {"matchLabels": {"app": "web"}}})
    nodes = [make_node("a", {ZONE: "x"}), make_node("b", {ZONE: "y"}), make_node("c")]
    cluster = Cluster(nodes, [make_pod("one", {"app": "web"}, node="a")], [owned])
    plugin = PodTopologySpread(args, cluster)
    pod = make_pod("incoming", {"app": "web"}, metadata={"ownerReferences": [owner]})
    state = CycleState()
    assert plugin.pre_filter(state, pod, cluster.snapshot) is None
    found = refusals(plugin, state, pod, cluster.snapshot)
    assert {name: status.code.label for name, status in found.items()} == {
        "a": "Unschedulable",
        "c": "UnschedulableAndUnresolvable",
    }


def test_a_filter_or_score_without_its_first_half_is_an_error() -> None:
    cluster = Cluster([make_node("a")])
    plugin = PodTopologySpread(None, cluster)
    pod, state, info = make_pod("x"), CycleState(), cluster.snapshot.info(0)
    assert refusals(plugin, state, pod, cluster.snapshot) == {"a": NOT_PRE_FILTERED}
    assert plugin.add_pod(state, pod, cluster.pod_info(pod), info) is NOT_PRE_FILTERED
    assert plugin.score(state, pod, info) is NOT_PRE_SCORED
    assert plugin.score_nodes(state, pod, cluster.snapshot) is NOT_PRE_SCORED
    assert NOT_PRE_FILTERED.message == (
        'reading "PreFilterPodTopologySpread" from cycleState: not found'
    )


def test_a_malformed_selector_is_an_error_of_the_pod() -> None:
    bad = {"matchExpressions": [{"key": "app", "operator": "Near"}]}
    cluster = Cluster([make_node("a")])
    plugin = PodTopologySpread(None, cluster)
    pod = make_pod("x", topologySpreadConstraints=[clusters.hard(bad)])
    answer = plugin.pre_filter(CycleState(), pod, cluster.snapshot)
    assert answer is not None
    assert answer.message == (
        "get constraints from pod: obtaining pod's hard topology spread constraints: "
        '"Near" is not a valid label selector operator'
    )


def test_a_node_that_changes_is_seen_at_once() -> None:
    cluster = Cluster([make_node("a", {ZONE: "x"}), make_node("b")])
    plugin = PodTopologySpread(None, cluster)
    pod = make_pod("x", topologySpreadConstraints=[clusters.hard({})])
    for labels, missing in (({}, {"b"}), ({ZONE: "y"}, set())):
        cluster.cache.update_node(make_node("b", labels))
        state = CycleState()
        plugin.pre_filter(state, pod, cluster.snapshot)
        assert refusals(plugin, state, pod, cluster.snapshot).keys() == missing


def test_only_pods_that_are_not_spread_are_signed() -> None:
    service = make(Service, "web", "default", spec={"selector": {"app": "web"}})
    cluster = Cluster([], [], [service])
    bare, served = make_pod("a"), make_pod("b", {"app": "web"})
    spread = make_pod("c", topologySpreadConstraints=[clusters.hard({})])
    undefaulted = PodTopologySpread(PodTopologySpreadArgs(defaulting_type="List"), cluster)
    defaulted = PodTopologySpread(None, cluster)
    assert [undefaulted.sign_pod(pod) for pod in (bare, served, spread)] == [(), (), None]
    assert [defaulted.sign_pod(pod) for pod in (bare, served, spread)] == [(), None, None]


def test_it_asks_for_events_of_pods_and_nodes() -> None:
    pods, itself, nodes = PodTopologySpread(None, Cluster()).events_to_register()
    assert (pods.resource, pods.actions) == (
        EventResource.ASSIGNED_POD,
        ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_POD_LABEL,
    )
    assert (itself.resource, itself.actions) == (
        EventResource.TARGET_POD,
        ActionType.UPDATE_POD_LABEL | ActionType.UPDATE_POD_TOLERATION,
    )
    assert (nodes.resource, nodes.actions) == (
        EventResource.NODE,
        ActionType.ADD
        | ActionType.DELETE
        | ActionType.UPDATE_NODE_LABEL
        | ActionType.UPDATE_NODE_TAINT,
    )
