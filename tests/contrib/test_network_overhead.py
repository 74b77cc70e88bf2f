"""NetworkOverhead keeps pods near the workloads that they depend on."""

from __future__ import annotations

from typing import Any

import pytest

from mooring import ClusterEvent, CycleState, QueueingHint, Status
from mooring.api import AppGroup, KubeObject, NetworkTopology, Node, Pod, decode_as
from mooring.api.app_group import APP_GROUP_LABEL, WORKLOAD_LABEL
from mooring.contrib.network_overhead import REGION, ZONE, NetworkOverhead
from mooring.testing import check_plugin, make_node, make_pod, run_filter, run_score
from mooring.virtual.memory_scheduler import MemoryScheduler


def node(name: str, region: str = "", zone: str = "") -> Node:
    labels = {key: value for key, value in ((REGION, region), (ZONE, zone)) if value}
    return make_node(name, labels=labels)


def member(name: str, workload: str, on: str = "") -> Pod:
    labels = {APP_GROUP_LABEL: "shop", WORKLOAD_LABEL: workload}
    return make_pod(name, labels=labels, node=on or None)


def group(limit: int = 10) -> AppGroup:
    dependency = {"workload": {"selector": "db"}, "maxNetworkCost": limit}
    return decode_as(
        {
            "metadata": {"name": "shop", "namespace": "default", "uid": "g"},
            "spec": {
                "workloads": [{"workload": {"selector": "web"}, "dependencies": [dependency]}]
            },
        },
        AppGroup,
    )


def topology(*costs: tuple[str, str, str, int], name: str = "nt-default") -> NetworkTopology:
    levels: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for key, origin, destination, cost in costs:
        entry = {"destination": destination, "networkCost": cost}
        levels.setdefault(key, {}).setdefault(origin, []).append(entry)
    return decode_as(
        {
            "metadata": {"name": name, "namespace": "default", "uid": "t"},
            "spec": {
                "weights": [
                    {
                        "name": "UserDefined",
                        "topologyList": [
                            {
                                "topologyKey": key,
                                "originList": [
                                    {"origin": origin, "costList": entries}
                                    for origin, entries in origins.items()
                                ],
                            }
                            for key, origins in levels.items()
                        ],
                    }
                ]
            },
        },
        NetworkTopology,
    )


NODES = [
    node("here", "r1", "z1"),
    node("near", "r1", "z1"),
    node("far", "r1", "z2"),
    node("away", "r2", "z3"),
    node("unknown", "r3", "z9"),
    node("bare"),
]
COSTS = topology((ZONE, "z2", "z1", 5), (REGION, "r2", "r1", 20))
DB = member("db", "db", on="here")


def objects(*more: KubeObject) -> list[KubeObject]:
    return [group(), COSTS, *more]


def test_costs_grow_with_the_distance() -> None:
    result = run_score(
        NetworkOverhead, pod=member("web", "web"), nodes=NODES, pods=[DB], objects=objects()
    )
    assert result.raw == {"here": 0, "near": 1, "far": 5, "unknown": 100, "bare": 100}
    assert result.normalized == {"here": 100, "near": 99, "far": 95, "unknown": 0, "bare": 0}


def test_a_node_with_more_violated_than_satisfied_dependencies_is_refused() -> None:
    result = run_filter(
        NetworkOverhead, pod=member("web", "web"), nodes=NODES, pods=[DB], objects=objects()
    )
    assert result.feasible == ["here", "near", "far", "unknown", "bare"]
    assert list(result.reasons) == [
        "Node away does not meet several network requirements from Workload dependencies: "
        "Satisfied: 0 Violated: 1"
    ]


@pytest.mark.parametrize(
    ("pod", "found"),
    [
        pytest.param(make_pod("p"), objects(), id="a pod outside any group"),
        pytest.param(member("p", "web"), [COSTS], id="a group that does not exist"),
        pytest.param(member("p", "web"), [group()], id="a topology that does not exist"),
        pytest.param(member("p", "db"), objects(), id="a workload without dependencies"),
    ],
)
def test_pods_without_dependencies_go_anywhere(pod: Pod, found: list[KubeObject]) -> None:
    result = run_score(NetworkOverhead, pod=pod, nodes=NODES, pods=[DB], objects=found)
    assert set(result.raw.values()) == {0}
    assert len(result.raw) == len(NODES)


def started(*cluster: KubeObject) -> tuple[NetworkOverhead, MemoryScheduler]:
    """Return the plugin in a cluster."""
    scheduler = MemoryScheduler(cluster)
    plugin = NetworkOverhead(None, next(iter(scheduler.profiles.values())).handle)
    plugin.start()
    return plugin, scheduler


def test_nodes_that_are_refused_alike_are_refused_at_once() -> None:
    many = [node(f"away-{number}", "r2", f"z{number}") for number in range(50)]
    plugin, scheduler = started(*NODES, *many, *objects(), DB)
    state, web, nodes = CycleState(), member("web", "web"), scheduler.cache.nodes
    assert plugin.pre_filter(state, web, nodes) is None
    ((status, mask),) = plugin.filter_nodes(state, web, nodes)
    assert int(mask.sum()) == len(many) + 1
    assert status.for_node("away-7") == plugin.filter(state, web, nodes.info(nodes.row("away-7")))


def test_a_dependency_on_a_node_that_does_not_exist_is_an_error() -> None:
    plugin, scheduler = started(*NODES, *objects(), member("db", "db", on="gone"))
    nodes = scheduler.cache.nodes
    status = plugin.pre_filter(CycleState(), member("web", "web"), nodes)
    assert status == Status.error('pod hostname not found: nodeinfo not found for node name "gone"')


def hint(plugin: NetworkOverhead, resource: Any) -> Any:
    events: list[ClusterEvent] = plugin.events_to_register()
    return next(event.hint for event in events if event.resource == resource)


def test_only_changes_of_the_pod_s_own_group_and_network_are_worth_another_attempt() -> None:
    plugin = NetworkOverhead()
    web = member("web", "web")
    after_group = hint(plugin, "appgroups.v1alpha1.appgroup.diktyo.x-k8s.io")
    after_topology = hint(plugin, "networktopologies.v1alpha1.networktopology.diktyo.x-k8s.io")
    assert after_group(web, None, group()) is QueueingHint.QUEUE
    assert after_group(make_pod("p"), None, group()) is QueueingHint.SKIP
    assert after_topology(web, COSTS, None) is QueueingHint.QUEUE
    assert after_topology(web, None, topology(name="other")) is QueueingHint.SKIP


def test_it_keeps_the_contract() -> None:
    report = check_plugin(
        NetworkOverhead,
        nodes=NODES,
        pods=[DB, member("web", "web"), member("more", "web")],
        objects=objects(),
        rounds=5,
    )
    assert report.refused
    assert report.tried
