"""Which domains a pod group may go to."""

from __future__ import annotations

from mooring.framework.placements import Placement
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.topology_placement_generator import TopologyPlacementGenerator
from tests.scheduler.groups import GroupWorld

RACK = "example.com/rack"
TOPOLOGY = {"TopologyAwareWorkloadScheduling": True}


def world_of(**racks: str) -> GroupWorld:
    """Return a world with nodes by the first letters of each rack's text."""
    world = GroupWorld(gates=TOPOLOGY)
    for rack, names in racks.items():
        world.add_nodes(*names, labels={RACK: rack})
    world.add_nodes("bare")
    return world


def generate(world: GroupWorld, topology: str = RACK) -> dict[str, list[str]] | Status:
    group = world.add_group("g", topology=topology)
    world.scheduler.inbox.drain()
    profile = world.scheduler.profiles["default-scheduler"]
    plugin = profile.plugins["TopologyPlacementGenerator"]
    assert isinstance(plugin, TopologyPlacementGenerator)
    nodes = world.scheduler.cache.nodes
    found = plugin.generate_placements(CycleState(), group, nodes)
    if isinstance(found, Status):
        return found
    return {one.name: names(one, world) for one in found}


def names(placement: Placement, world: GroupWorld) -> list[str]:
    nodes = world.scheduler.cache.nodes
    return sorted(name for name, inside in zip(nodes.names, placement.mask, strict=True) if inside)


def test_each_value_of_the_label_is_a_placement() -> None:
    world = world_of(r1="ab", r2="c")
    assert generate(world) == {"r1": ["a", "b"], "r2": ["c"]}


def test_without_a_constraint_all_nodes_are_one_placement() -> None:
    assert generate(world_of(r1="a"), topology="") == {"": ["a", "bare"]}


def test_a_label_that_nobody_has_leaves_no_placement() -> None:
    assert generate(world_of(r1="a"), topology="nowhere") == {}


def test_only_the_domain_of_running_pods_is_left() -> None:
    world = world_of(r1="ab", r2="c")
    world.add_pod("p", group="g", node="c")
    assert generate(world) == {"r2": ["c"]}


def test_running_pods_in_several_domains_or_none_are_an_error() -> None:
    world = world_of(r1="ab", r2="c")
    world.add_pod("p", group="g", node="bare")
    text = "cannot determine domain for already scheduled pods: "
    assert generate(world) == Status.error(f"{text}no topology domain found for pod default/p")
    world = world_of(r1="ab", r2="c")
    world.add_pod("p", group="g", node="a")
    world.add_pod("q", group="g", node="c")
    status = generate(world)
    assert status == Status.error(f"{text}more than 1 domain found for pod group: r1, r2")
    world = world_of(r1="a")
    world.add_pod("p", group="g", node="gone")
    status = generate(world)
    assert isinstance(status, Status)
    assert 'nodeinfo not found for node name "gone"' in status.message
