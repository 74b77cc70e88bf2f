"""In a placement, spreading and affinity between pods count the whole cluster.

kube-scheduler limits only the candidate nodes to the placement (`ListNodesInPlacement`); PreFilter
plugins get all nodes (framework/runtime/framework.go, RunPreFilterPlugins). The expected nodes and
texts were seen on kube-scheduler 1.37.1.
"""

from __future__ import annotations

from typing import Any

from tests.scheduler.groups import GroupWorld

RACK = "example.com/rack"
ZONE = "topology.kubernetes.io/zone"
SPREADING = "node(s) didn't match pod topology spread constraints"


def world() -> GroupWorld:
    """Return racks A in zone z1 and B in zone z2, and a node of each zone in no rack."""
    found = GroupWorld(gates={"TopologyAwareWorkloadScheduling": True})
    for zone, rack in (("z1", "A"), ("z2", "B")):
        found.add_nodes(rack.lower(), zone=zone, labels={RACK: rack})
        found.add_nodes(f"{rack.lower()}-outside", zone=zone)
    return found


def spread(key: str) -> dict[str, Any]:
    constraint = {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    return {"topologySpreadConstraints": [constraint]}


def term(app: str) -> dict[str, Any]:
    return {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": app}}}


def required(kind: str, app: str) -> dict[str, Any]:
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term(app)]}}


async def test_spreading_counts_pods_of_other_placements() -> None:
    one = world()
    for name in ("w1", "w2"):
        one.add_pod(name, node="a", cpu="100m", labels={"app": "web"})
    one.add_pod("full", node="b", cpu=2)
    one.gang("g", 1, topology=RACK, labels={"app": "web"}, spec=spread(ZONE))
    await one.settle()
    # Within rack A alone, the pod would be spread evenly over the only zone.
    assert "g-0" not in one.bound()
    assert one.told("g-0") == ("Unschedulable", f"0/1 nodes are available: 1 {SPREADING}.")


async def test_spreading_counts_nodes_of_no_placement() -> None:
    one = world()
    one.add_nodes("a2", zone="z1", labels={RACK: "A"})
    one.add_pod("full", node="b", cpu=2)
    spec = spread("kubernetes.io/hostname")
    one.gang("g", 3, topology=RACK, cpu="500m", labels={"app": "web"}, spec=spec)
    await one.settle()
    # The third pod would be the second of its node, and the nodes outside of the rack have none.
    assert "g-2" not in one.bound()
    assert one.told("g-2") == ("Unschedulable", f"0/2 nodes are available: 2 {SPREADING}.")


async def test_affinity_counts_pods_on_nodes_of_no_placement() -> None:
    one = world()
    one.add_pod("db", node="a-outside", cpu="100m", labels={"app": "db"})
    spec = {"affinity": required("podAffinity", "db")}
    one.gang("g", 2, topology=RACK, cpu=1, spec=spec)
    await one.settle()
    bound = one.bound()
    assert (bound["g-0"], bound["g-1"]) == ("a", "a")


async def test_the_anti_affinity_of_pods_on_nodes_of_no_placement_counts() -> None:
    one = world()
    spec = {"affinity": required("podAntiAffinity", "web")}
    one.add_pod("shy", node="a-outside", cpu="100m", spec=spec)
    # Rack A is fuller, and would be preferred.
    one.add_pod("busy", node="a", cpu="900m")
    one.gang("g", 2, topology=RACK, cpu="500m", labels={"app": "web"})
    await one.settle()
    bound = one.bound()
    assert (bound["g-0"], bound["g-1"]) == ("b", "b")


async def test_preferences_count_pods_on_nodes_of_no_placement() -> None:
    one = GroupWorld(gates={"TopologyAwareWorkloadScheduling": True})
    one.add_nodes("a1", zone="z1", labels={RACK: "A"})
    one.add_nodes("a2", zone="z2", labels={RACK: "A"})
    one.add_nodes("outside", zone="z2")
    one.add_pod("db", node="outside", cpu="100m", labels={"app": "db"})
    weighted = {"weight": 100, "podAffinityTerm": term("db")}
    affinity = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}}
    one.gang("g", 1, topology=RACK, cpu="100m", spec={"affinity": affinity})
    await one.settle()
    assert one.bound()["g-0"] == "a2"
