"""Tests of PodTopologySpread against a recount pod by pod."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.api import Pod, ReplicaSet, Service, TopologySpreadConstraint
from mooring.framework.cluster_events import ActionType, EventResource
from mooring.framework.state import CycleState
from mooring.plugins.args import PodTopologySpreadArgs
from mooring.plugins.pod_topology_spread import PodTopologySpread
from mooring.plugins.pod_topology_spread.plugin import NOT_PRE_FILTERED, NOT_PRE_SCORED
from mooring.plugins.pod_topology_spread.spread_constraints import (
    DO_NOT_SCHEDULE,
    SCHEDULE_ANYWAY,
    SpreadConstraint,
    parse,
)
from tests.plugins.clusters import (
    HOSTNAME,
    ZONE,
    Cluster,
    make,
    make_node,
    make_pod,
    raw_scores,
    refusals,
)
from tests.plugins.pod_topology_spread import clusters, naive


def _parsed(pod: Pod) -> list[SpreadConstraint]:
    return [
        parse(constraint, pod.metadata.labels)
        for constraint in pod.spec.topology_spread_constraints
    ]


@given(data=st.data())
def test_filter_refuses_what_a_recount_refuses(data: st.DataObject) -> None:
    nodes = data.draw(clusters.nodes())
    cluster = Cluster(nodes, data.draw(clusters.pods(nodes)))
    pod = data.draw(clusters.incoming(DO_NOT_SCHEDULE))
    plugin = PodTopologySpread(None, cluster)
    state = CycleState()
    assert plugin.pre_filter(state, pod, cluster.snapshot) is None
    expected = naive.filter_nodes(_parsed(pod), pod, cluster.snapshot.infos())
    assert refusals(plugin, state, pod, cluster.snapshot) == expected
    some = cluster.snapshot.select(np.arange(len(nodes))[::-2])
    assert refusals(plugin, state, pod, some) == {
        name: status for name, status in expected.items() if name in some.names
    }


@given(data=st.data())
def test_pods_added_and_removed_count_as_in_a_changed_cluster(data: st.DataObject) -> None:
    nodes = data.draw(clusters.nodes())
    pods = [pod for pod in data.draw(clusters.pods(nodes)) if not pod.is_terminating]
    cluster = Cluster(nodes, pods)
    pod = data.draw(clusters.incoming(DO_NOT_SCHEDULE, empty=False))
    plugin = PodTopologySpread(None, cluster)
    state = CycleState()
    plugin.pre_filter(state, pod, cluster.snapshot)
    before = refusals(plugin, state, pod, cluster.snapshot)
    info = data.draw(st.sampled_from(cluster.snapshot.infos()))
    removed = [one for one in info.pods.values() if data.draw(st.booleans())]
    added = make_pod("added", {"app": "web"}, node=info.name)
    trial = state.clone()
    for other in removed:
        assert plugin.remove_pod(trial, pod, other, info) is None
    assert plugin.add_pod(trial, pod, cluster.pod_info(added), info) is None
    gone = {other.uid for other in removed}
    changed = Cluster(nodes, [one for one in (*pods, added) if one.metadata.uid not in gone])
    expected = naive.filter_nodes(_parsed(pod), pod, changed.snapshot.infos())
    assert refusals(plugin, trial, pod, cluster.snapshot) == expected
    assert refusals(plugin, state, pod, cluster.snapshot) == before


@given(data=st.data())
def test_scores_are_those_of_a_recount(data: st.DataObject) -> None:
    nodes = data.draw(clusters.nodes())
    cluster = Cluster(nodes, data.draw(clusters.pods(nodes)))
    pod = data.draw(clusters.incoming(SCHEDULE_ANYWAY))
    _check_scores(data, cluster, pod, PodTopologySpread(None, cluster), _parsed(pod), True)


@given(data=st.data())
def test_system_defaults_score_nodes_that_lack_a_label(data: st.DataObject) -> None:
    nodes = data.draw(clusters.nodes())
    service = make(Service, "web", "default", spec={"selector": {"app": "web"}})
    cluster = Cluster(nodes, data.draw(clusters.pods(nodes)), [service])
    pod = make_pod("incoming", {"app": "web"})
    selector = parse(
        make_pod(
            "x", topologySpreadConstraints=[{"labelSelector": {"matchLabels": {"app": "web"}}}]
        ).spec.topology_spread_constraints[0],
        {},
    ).selector
    constraints = [SpreadConstraint(3, HOSTNAME, selector), SpreadConstraint(5, ZONE, selector)]
    _check_scores(data, cluster, pod, PodTopologySpread(None, cluster), constraints, False)


def _check_scores(
    data: st.DataObject,
    cluster: Cluster,
    pod: Pod,
    plugin: PodTopologySpread,
    constraints: list[SpreadConstraint],
    require_all: bool,
) -> None:
    everything = cluster.snapshot
    kept = data.draw(
        st.lists(st.booleans(), min_size=len(everything), max_size=len(everything)).filter(any)
    )
    feasible = everything.where(np.array(kept))
    state = CycleState()
    assert plugin.pre_score(state, pod, feasible) is None
    scores = raw_scores(plugin, state, pod, feasible)
    raw, normalized = naive.score_nodes(
        constraints, pod, everything.infos(), feasible.names, require_all
    )
    assert scores == raw
    array = np.array(list(scores.values()), dtype=np.int64)
    answer = plugin.normalize_score(state, pod, array)
    assert dict(zip(feasible.names, answer.tolist(), strict=True)) == normalized


# Special rules.


def _hard(selector: dict[str, object] | None, **fields: object) -> dict[str, object]:
    return {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": DO_NOT_SCHEDULE,
        "labelSelector": selector,
        **fields,
    }


def test_the_first_constraint_that_fails_gives_the_reason() -> None:
    web = {"matchLabels": {"app": "web"}}
    nodes = [
        make_node("full", {ZONE: "x", "rack": "1"}),
        make_node("rackless", {ZONE: "x"}),
        make_node("empty", {ZONE: "y", "rack": "2"}),
    ]
    cluster = Cluster(nodes, [make_pod("one", {"app": "web"}, node="full")])
    pod = make_pod(
        "incoming",
        {"app": "web"},
        topologySpreadConstraints=[_hard(web), _hard(web, topologyKey="rack")],
    )
    plugin = PodTopologySpread(None, cluster)
    state = CycleState()
    plugin.pre_filter(state, pod, cluster.snapshot)
    found = refusals(plugin, state, pod, cluster.snapshot)
    assert {name: (status.code.label, status.reasons) for name, status in found.items()} == {
        "full": ("Unschedulable", ("node(s) didn't match pod topology spread constraints",)),
        "rackless": (
            "Unschedulable",
            ("node(s) didn't match pod topology spread constraints",),
        ),
    }
    swapped = make_pod(
        "incoming",
        {"app": "web"},
        topologySpreadConstraints=[_hard(web, topologyKey="rack"), _hard(web)],
    )
    plugin.pre_filter(state, swapped, cluster.snapshot)
    status = refusals(plugin, state, swapped, cluster.snapshot)["rackless"]
    assert (status.code.label, status.reasons) == (
        "UnschedulableAndUnresolvable",
        ("node(s) didn't match pod topology spread constraints (missing required label)",),
    )


@pytest.mark.parametrize(
    ("selector", "metadata"),
    [
        pytest.param({}, {}, id="an empty selector, which counts no pod at first"),
        pytest.param(
            {"matchLabels": {"app": "web"}},
            {"deletionTimestamp": "2026-01-01T00:00:00Z"},
            id="a terminating pod, which is not counted at first",
        ),
    ],
)
def test_a_removal_counts_what_was_never_counted(
    selector: dict[str, object], metadata: dict[str, str]
) -> None:
    nodes = [make_node("a", {ZONE: "x"}), make_node("b", {ZONE: "y"})]
    other = make_pod("one", {"app": "web"}, node="a", metadata=metadata)
    cluster = Cluster(nodes, [other])
    pod = make_pod("incoming", {"app": "web"}, topologySpreadConstraints=[_hard(selector)])
    plugin = PodTopologySpread(None, cluster)
    state = CycleState()
    plugin.pre_filter(state, pod, cluster.snapshot)
    assert refusals(plugin, state, pod, cluster.snapshot) == {}
    info = cluster.snapshot.info(0)
    plugin.remove_pod(state, pod, cluster.pod_info(other), info)
    # x has -1 pods now, so y, with 0, exceeds the skew.
    assert refusals(plugin, state, pod, cluster.snapshot).keys() == {"b"}


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
    pod = make_pod("x", topologySpreadConstraints=[_hard(bad)])
    answer = plugin.pre_filter(CycleState(), pod, cluster.snapshot)
    assert answer is not None
    assert answer.message == (
        "get constraints from pod: obtaining pod's hard topology spread constraints: "
        '"Near" is not a valid label selector operator'
    )


def test_a_node_that_changes_is_seen_at_once() -> None:
    cluster = Cluster([make_node("a", {ZONE: "x"}), make_node("b")])
    plugin = PodTopologySpread(None, cluster)
    pod = make_pod("x", topologySpreadConstraints=[_hard({})])
    for labels, missing in (({}, {"b"}), ({ZONE: "y"}, set())):
        cluster.cache.update_node(make_node("b", labels))
        state = CycleState()
        plugin.pre_filter(state, pod, cluster.snapshot)
        assert refusals(plugin, state, pod, cluster.snapshot).keys() == missing


def test_only_pods_that_are_not_spread_are_signed() -> None:
    service = make(Service, "web", "default", spec={"selector": {"app": "web"}})
    cluster = Cluster([], [], [service])
    bare, served = make_pod("a"), make_pod("b", {"app": "web"})
    spread = make_pod("c", topologySpreadConstraints=[_hard({})])
    undefaulted = PodTopologySpread(PodTopologySpreadArgs(defaulting_type="List"), cluster)
    defaulted = PodTopologySpread(None, cluster)
    assert [undefaulted.sign_pod(pod) for pod in (bare, served, spread)] == [(), (), None]
    assert [defaulted.sign_pod(pod) for pod in (bare, served, spread)] == [(), None, None]


def test_it_asks_for_events_of_pods_and_nodes() -> None:
    pods, nodes = PodTopologySpread(None, Cluster()).events_to_register()
    assert (pods.resource, pods.actions) == (
        EventResource.POD,
        ActionType.ADD
        | ActionType.DELETE
        | ActionType.UPDATE_POD_LABEL
        | ActionType.UPDATE_POD_TOLERATION,
    )
    assert (nodes.resource, nodes.actions) == (
        EventResource.NODE,
        ActionType.ADD
        | ActionType.DELETE
        | ActionType.UPDATE_NODE_LABEL
        | ActionType.UPDATE_NODE_TAINT,
    )
