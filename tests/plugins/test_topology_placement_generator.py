"""Which domains a pod group may go to."""

from __future__ import annotations

import pytest

from mooring.framework.cluster_events import QueueingHint
from mooring.framework.placements import Placement
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.topology_placement_generator import TopologyPlacementGenerator
from mooring.testing import make_node, make_pod
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


def plugin_of(world: GroupWorld) -> TopologyPlacementGenerator:
    plugin = world.scheduler.profiles["default-scheduler"].plugins["TopologyPlacementGenerator"]
    assert isinstance(plugin, TopologyPlacementGenerator)
    return plugin


def generate(world: GroupWorld, topology: str = RACK) -> dict[str, list[str]] | Status:
    group = world.add_group("g", topology=topology)
    world.scheduler.inbox.drain()
    nodes = world.scheduler.cache.nodes
    found = plugin_of(world).generate_placements(CycleState(), group, nodes)
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


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        pytest.param(None, {RACK: "r1"}, QueueingHint.QUEUE, id="a node in a domain"),
        pytest.param(None, {}, QueueingHint.SKIP, id="a node in no domain"),
        pytest.param({}, {RACK: "r1"}, QueueingHint.QUEUE, id="a node joins a domain"),
        pytest.param({RACK: "r1"}, {RACK: "r2"}, QueueingHint.QUEUE, id="it changes the domain"),
        pytest.param({RACK: "r1"}, {}, QueueingHint.SKIP, id="it leaves the domain"),
        pytest.param({RACK: "r1"}, {RACK: "r1", "x": "y"}, QueueingHint.SKIP, id="another label"),
    ],
)
def test_nodes_that_join_a_domain_may_help(
    old: dict[str, str] | None, new: dict[str, str], hint: QueueingHint
) -> None:
    world = world_of()
    generate(world)
    event, _ = plugin_of(world).events_to_register()
    assert event.hint is not None
    before = None if old is None else make_node("n", labels=old)
    pod = make_pod("p", group="g")
    assert event.hint(pod, before, make_node("n", labels=new)) is hint


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
