"""Pods count from when they are bound until measurements show them."""

from __future__ import annotations

from msgspec.structs import replace

from mooring.contrib.load.recent_pods import RecentPods
from mooring.observe.clock import VirtualClock
from mooring.testing import make_node, make_pod
from mooring.virtual.memory_scheduler import MemoryScheduler


def world(*names: str) -> tuple[RecentPods, MemoryScheduler, VirtualClock]:
    clock = VirtualClock(start=1000.0)
    scheduler = MemoryScheduler([make_node(name) for name in names], clock=clock)
    return RecentPods(lambda pod: 100, clock), scheduler, clock


def test_a_pod_counts_until_a_minute_before_the_end_of_measurements() -> None:
    recent, scheduler, _ = world("a", "b")
    nodes = scheduler.cache.nodes
    recent.added(make_pod("p", node="a"))
    recent.added(make_pod("pending"))
    assert recent.sums(900, nodes).tolist() == [100, 0]
    assert recent.sums(1059, nodes).tolist() == [100, 0]
    assert recent.sums(1060, nodes).tolist() == [0, 0]


def test_a_pod_counts_from_its_binding_and_until_its_deletion() -> None:
    recent, scheduler, _ = world("a")
    nodes = scheduler.cache.nodes
    pending = make_pod("p")
    bound = replace(pending, spec=replace(pending.spec, node_name="a"))
    assert recent.sums(900, nodes).tolist() == [0]
    recent.updated(pending, bound)
    recent.updated(bound, bound)
    assert recent.sums(900, nodes).tolist() == [100]
    recent.deleted(bound)
    recent.deleted(bound)
    assert recent.sums(900, nodes).tolist() == [0]


def test_the_log_names_the_rows_that_changed() -> None:
    recent, scheduler, _ = world("a", "b")
    nodes = scheduler.cache.nodes
    recent.sums(900, nodes)
    recent.added(make_pod("p", node="b"))
    recent.added(make_pod("q", node="gone"))
    recent.sums(900, nodes)
    assert recent.log == [1]
    scheduler.cluster.add(make_node("c"))
    assert recent.sums(900, nodes).tolist() == [0, 100, 0]
