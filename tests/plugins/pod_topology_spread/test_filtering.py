"""Hard constraints, against a recount pod by pod."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.framework.state import CycleState
from mooring.plugins.pod_topology_spread import PodTopologySpread
from mooring.plugins.pod_topology_spread.spread_constraints import (
    DO_NOT_SCHEDULE,
)
from tests.plugins.clusters import (
    ZONE,
    Cluster,
    make_node,
    make_pod,
    refusals,
)
from tests.plugins.pod_topology_spread import clusters, naive


@given(data=st.data())
def test_filter_refuses_what_a_recount_refuses(data: st.DataObject) -> None:
    nodes = data.draw(clusters.nodes())
    cluster = Cluster(nodes, data.draw(clusters.pods(nodes)))
    pod = data.draw(clusters.incoming(DO_NOT_SCHEDULE))
    plugin = PodTopologySpread(None, cluster)
    state = CycleState()
    assert plugin.pre_filter(state, pod, cluster.snapshot) is None
    expected = naive.filter_nodes(clusters.parsed(pod), pod, cluster.snapshot.infos())
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
    expected = naive.filter_nodes(clusters.parsed(pod), pod, changed.snapshot.infos())
    assert refusals(plugin, trial, pod, cluster.snapshot) == expected
    assert refusals(plugin, state, pod, cluster.snapshot) == before


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
        topologySpreadConstraints=[clusters.hard(web), clusters.hard(web, topologyKey="rack")],
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
        topologySpreadConstraints=[clusters.hard(web, topologyKey="rack"), clusters.hard(web)],
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
    pod = make_pod("incoming", {"app": "web"}, topologySpreadConstraints=[clusters.hard(selector)])
    plugin = PodTopologySpread(None, cluster)
    state = CycleState()
    plugin.pre_filter(state, pod, cluster.snapshot)
    assert refusals(plugin, state, pod, cluster.snapshot) == {}
    info = cluster.snapshot.info(0)
    plugin.remove_pod(state, pod, cluster.pod_info(other), info)
    # x has -1 pods now, so y, with 0, exceeds the skew.
    assert refusals(plugin, state, pod, cluster.snapshot).keys() == {"b"}
