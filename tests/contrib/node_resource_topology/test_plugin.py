"""NodeResourceTopologyMatch: what it refuses, how it scores, and that both of its forms agree."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring import CycleState, Status
from mooring.api import Node, NodeResourceTopology, Pod, decode_as
from mooring.contrib.node_resource_topology import NodeResourceTopologyMatch
from mooring.contrib.node_resource_topology.args import (
    STRATEGIES,
    NumaScoringStrategy,
    TopologyMatchArgs,
)
from mooring.testing import check_plugin, make_node, make_pod, run_cycle, run_filter, run_score
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.contrib.node_resource_topology.generated import (
    GPU,
    random_node,
    random_pod,
    random_topology,
    topology,
)


def guaranteed(name: str, cpu: str = "3", **more: Any) -> Pod:
    requests = {"cpu": cpu, "memory": "1Gi", **more}
    container = {"name": "c", "image": "a", "resources": {"requests": requests, "limits": requests}}
    return make_pod(name, spec={"containers": [container]})


def two_cells(name: str = "a", cpu: int = 4, **more: Any) -> NodeResourceTopology:
    return topology(name, [{"cpu": cpu, "memory": "8Gi"}, {"cpu": cpu, "memory": "8Gi"}], **more)


def test_a_pod_that_fits_no_single_cell_is_refused() -> None:
    result = run_filter(
        NodeResourceTopologyMatch,
        pod=guaranteed("p", cpu="6"),
        nodes=[make_node("a"), make_node("b"), make_node("c")],
        objects=[two_cells("a"), two_cells("b", policy="none")],
    )
    assert result.feasible == ["b", "c"]
    assert result.reasons == {"cannot align pod": 1}


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        pytest.param("containers", "cannot align container", id="a container"),
        pytest.param("initContainers", "cannot align init container", id="an init container"),
        pytest.param("sidecar", "cannot align sidecar container", id="a sidecar"),
    ],
)
def test_with_container_scope_the_refusal_says_what_does_not_fit(kind: str, reason: str) -> None:
    large = guaranteed("p", cpu="6").spec.containers[0]
    small = guaranteed("p", cpu="1").spec.containers[0]
    resources = {"requests": large.resources.requests, "limits": large.resources.limits}
    entry = {"name": "large", "image": "a", "resources": resources}
    fits = {"requests": small.resources.requests, "limits": small.resources.limits}
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "a", "resources": fits}]}
    if kind == "containers":
        spec["containers"].append(entry)
    else:
        spec["initContainers"] = [
            entry | {"restartPolicy": "Always"} if kind == "sidecar" else entry
        ]
    result = run_filter(
        NodeResourceTopologyMatch,
        pod=make_pod("p", spec=spec),
        nodes=[make_node("a")],
        objects=[two_cells("a", scope="container")],
    )
    assert result.reasons == {reason: 1}


def test_a_device_that_the_node_does_not_have_is_refused_by_the_first_container_that_needs_it() -> (
    None
):
    nodes = [make_node(f"n{index}") for index in range(12)]
    result = run_filter(
        NodeResourceTopologyMatch,
        pod=guaranteed("p", cpu="1", **{GPU: "1"}),
        nodes=[*nodes, make_node("with", resources={GPU: 1})],
        objects=[
            *(two_cells(node.name, scope="container") for node in nodes),
            two_cells("with", scope="container"),
        ],
    )
    assert result.feasible == ["with"]
    assert result.reasons == {"cannot align container": 12}


def test_the_cells_with_the_most_room_score_best_by_default() -> None:
    result = run_score(
        NodeResourceTopologyMatch,
        pod=guaranteed("p", cpu="2"),
        nodes=[make_node("a"), make_node("b"), make_node("c")],
        objects=[two_cells("a", cpu=4), two_cells("b", cpu=8)],
    )
    assert result.raw == {"a": 68, "b": 81, "c": 0}


def test_pods_that_are_not_guaranteed_score_the_same_everywhere() -> None:
    result = run_score(
        NodeResourceTopologyMatch,
        pod=make_pod("p", cpu="2"),
        nodes=[make_node("a"), make_node("b")],
        objects=[two_cells("a")],
    )
    assert result.raw == {"a": 100, "b": 100}


def _cluster(seed: int, count: int) -> tuple[list[Node], list[NodeResourceTopology]]:
    rng = random.Random(seed)
    nodes = [random_node(rng, f"m{index}") for index in range(count)]
    return nodes, [random_topology(rng, node.name) for node in nodes if rng.random() < 0.9]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seed", range(10))
def test_the_columns_say_of_each_node_what_the_node_alone_says(strategy: str, seed: int) -> None:
    nodes, objects = _cluster(seed, 40)
    scheduler = MemoryScheduler([*nodes, *objects])
    args = TopologyMatchArgs(
        scoring_strategy=NumaScoringStrategy(strategy), cache_resync_period_seconds=5
    )
    plugin = NodeResourceTopologyMatch(args, next(iter(scheduler.profiles.values())).handle)
    plugin.start()
    every, state = scheduler.cache.nodes, CycleState()
    rng = random.Random(seed)
    for index in range(10):
        pod = random_pod(rng, f"p{index}")
        together: list[Status | None] = [None] * len(every)
        for status, mask in plugin.filter_nodes(state, pod, every):
            for position in mask.nonzero()[0].tolist():
                together[position] = status
        assert together == [plugin.filter(state, pod, info) for info in every.infos()]
        scores = plugin.score_nodes(state, pod, every)
        alone = [plugin.score(state, pod, info) for info in every.infos()]
        assert (np.zeros(len(every), dtype=np.int64) + scores).tolist() == alone
        plugin.reserve(state, pod, rng.choice(every.names))


@pytest.mark.parametrize(
    "args",
    [
        pytest.param(None, id="every report as it is"),
        pytest.param({"cacheResyncPeriodSeconds": 5}, id="the over-reserve cache"),
        pytest.param({"discardReservedNodes": True}, id="without reserved nodes"),
    ],
)
def test_it_keeps_the_contract(args: dict[str, Any] | None) -> None:
    rng = random.Random(1)
    objects = [random_topology(rng, f"n{index}") for index in range(7)]
    nodes, more = _cluster(2, 10)
    report = check_plugin(
        NodeResourceTopologyMatch,
        args=args,
        nodes=nodes,
        pods=[guaranteed("wide", cpu="4"), guaranteed("narrow", cpu="1")],
        objects=[*objects, *more],
        rounds=5,
    )
    assert report.refused
    assert report.scored


@pytest.mark.parametrize(
    "args",
    [
        {"scoringStrategy": {"type": "Other"}},
        {"scoringStrategy": {}},
        {"cache": {"resyncMethod": "Sometimes"}},
        {"cacheResyncPeriodSeconds": "soon"},
        {"preemptionModus": "Enabled"},
    ],
    ids=["strategy", "no strategy", "method", "text", "unknown"],
)
def test_bad_arguments_are_refused(args: dict[str, Any]) -> None:
    with pytest.raises(Exception, match=r"args of NodeResourceTopologyMatch: .*args"):
        run_filter(NodeResourceTopologyMatch, pod=make_pod("p"), nodes=[make_node("a")], args=args)


def test_reserved_pods_count_until_they_are_given_back() -> None:
    pods = [guaranteed(f"p{index}", cpu="3") for index in range(3)]
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {"multiPoint": {"enabled": [{"name": "NodeResourceTopologyMatch"}]}},
                "pluginConfig": [
                    {
                        "name": "NodeResourceTopologyMatch",
                        "args": {"cacheResyncPeriodSeconds": 5},
                    }
                ],
            }
        ],
    }
    first, second, third = run_cycle(
        nodes=[make_node("a", cpu=32)], pods=pods, objects=[two_cells("a")], config=config
    )
    assert first.node_name == "a"
    # One cell has room, but nobody knows which.
    assert (second.node_name, third.node_name) == ("", "")
    assert "cannot align pod" in second.message


def test_a_report_with_bad_numbers_is_told_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    bad = topology("a", [{"cpu": "many", "memory": "-1Gi"}, {"cpu": "4", "memory": "4Gi"}])
    result = run_filter(
        NodeResourceTopologyMatch,
        pod=guaranteed("p", cpu="1"),
        nodes=[make_node("a")],
        objects=[bad],
    )
    assert result.feasible == ["a"]
    (line,) = [record for record in caplog.records if "NodeResourceTopology" in record.message]
    assert "zone node-0, resource cpu" in str(line.__dict__["kv"])


TEXT = st.sampled_from(("cpu", "memory", GPU, "hugepages-2Mi", "", "?"))
AMOUNT = st.none() | st.integers(-(2**63), 2**63 - 1) | st.sampled_from(("1", "1500m", "9e18", "x"))
ZONE = st.fixed_dictionaries(
    {
        "name": st.sampled_from(("node-0", "node-1", "node-7", "node-64", "node-65", "x")),
        "type": st.sampled_from(("Node", "Node", "Socket")),
        "costs": st.lists(
            st.fixed_dictionaries(
                {
                    "name": st.sampled_from(("node-0", "node-1", "?")),
                    "value": st.integers(-(2**63), 2**63 - 1),
                }
            ),
            max_size=2,
        ),
        "resources": st.lists(
            st.fixed_dictionaries({"name": TEXT}, optional={"available": AMOUNT}), max_size=3
        ),
    }
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(ZONE, max_size=4), min_size=12, max_size=12), st.sampled_from(STRATEGIES))
def test_no_report_makes_it_fail(zones: list[list[Any]], strategy: str) -> None:
    said = [
        {"name": "topologyManagerPolicy", "value": "single-numa-node"},
        {"name": "topologyManagerScope", "value": "container"},
    ]
    reports = [
        decode_as(
            {"metadata": {"name": f"n{index}"}, "attributes": said, "zones": of_node},
            NodeResourceTopology,
        )
        for index, of_node in enumerate(zones)
    ]
    scheduler = MemoryScheduler([*(make_node(report.name) for report in reports), *reports])
    args = TopologyMatchArgs(scoring_strategy=NumaScoringStrategy(strategy))
    plugin = NodeResourceTopologyMatch(args, next(iter(scheduler.profiles.values())).handle)
    plugin.start()
    every, pod = scheduler.cache.nodes, guaranteed("p", cpu="1")
    for status, mask in plugin.filter_nodes(CycleState(), pod, every):
        assert status.is_rejected
        assert len(mask) == 12
    assert np.size(plugin.score_nodes(CycleState(), pod, every)) == 12
