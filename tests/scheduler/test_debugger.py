from __future__ import annotations

import logging

import pytest

from mooring.scheduler.debugger import Debugger
from tests.app.world import World, make_node, make_pod


async def logged(world: World, caplog: pytest.LogCaptureFixture) -> dict[str, dict[str, object]]:
    """Dump, and return what was logged: the values by message."""
    debugger = Debugger(world.scheduler, world.informers)  # type: ignore[arg-type]
    caplog.clear()
    with caplog.at_level(logging.INFO):
        debugger.dump()
        assert caplog.records == [], "only between two cycles"
        world.scheduler.inbox.drain()
    return {record.message: getattr(record, "kv", {}) for record in caplog.records}


async def test_cache_and_queue_are_dumped(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.nodes.add(make_node("n"))
    world.pods.add(make_pod("bound"))
    world.pods.add(make_pod("stuck", node_selector={"no": "where"}))
    await world.settle()
    found = await logged(world, caplog)
    nodes = str(found["Dump of cached NodeInfo"]["nodes"])
    assert nodes.startswith("Node name: n; Requested Resources: ")
    assert nodes.endswith("Scheduled Pods(number: 1): default/bound")
    assert found["Dump of scheduling queue"]["pods"] == "default/stuck"
    assert "Cache comparer finished" in found
    assert "Cache mismatch" not in found


async def test_what_cache_and_informers_disagree_about_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    world.nodes.add(make_node("n"))
    await world.settle()
    world.scheduler.cache.remove_node("n")
    world.scheduler.cache.add_node(make_node("ghost"))
    found = await logged(world, caplog)
    assert found["Cache mismatch"] == {"missedNodes": ["n"], "redundantNodes": ["ghost"]}
