"""Soft constraints, against a recount pod by pod."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mooring.api import Pod, Service
from mooring.framework.state import CycleState
from mooring.plugins.pod_topology_spread import PodTopologySpread
from mooring.plugins.pod_topology_spread.spread_constraints import (
    SCHEDULE_ANYWAY,
    SpreadConstraint,
    parse,
)
from tests.plugins.clusters import (
    HOSTNAME,
    ZONE,
    Cluster,
    make,
    make_pod,
    raw_scores,
)
from tests.plugins.pod_topology_spread import clusters, naive


@given(data=st.data())
def test_scores_are_those_of_a_recount(data: st.DataObject) -> None:
    nodes = data.draw(clusters.nodes())
    cluster = Cluster(nodes, data.draw(clusters.pods(nodes)))
    pod = data.draw(clusters.incoming(SCHEDULE_ANYWAY))
    _check_scores(data, cluster, pod, PodTopologySpread(None, cluster), clusters.parsed(pod), True)


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
