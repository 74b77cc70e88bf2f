"""What a running scheduler says of a pod, as text and as data."""

from __future__ import annotations

import json

from tests.app.world import make_node, make_pod
from tests.explain.histories import RecordedWorld


async def test_the_text_about_a_pending_pod() -> None:
    world = RecordedWorld()
    world.add_nodes(3, cpu=1)
    await world.try_pod("p", cpu=3)
    world.clock.advance(12.0)
    found = await world.ask(world.explainer.explain_pod("default", "p"))
    lines = found.lines()
    assert lines[0] == "default/p is pending: attempt 1, 12 s ago, profile default-scheduler"
    assert lines[1].startswith("  0/3 nodes are available: 3 Insufficient cpu.")
    (why,) = [line for line in lines if "NodeResourcesFit  n0" in line]
    assert why.endswith("n0: cpu 2 short (asks 3, 1 free)")
    nearest = lines.index("NEAREST  3 nodes if it asked for 2 of cpu less")
    queue = lines[nearest + 1]
    assert queue.startswith(
        "QUEUE    unschedulable for 12 s; tried again on Node Add, Node Update ("
    )
    assert ", at the latest " in queue


async def test_the_text_about_a_pod_with_a_node() -> None:
    world = RecordedWorld()
    world.add_nodes(2)
    await world.try_pod("p")
    found = await world.ask(world.explainer.explain_pod("default", "p"))
    lines = found.lines(nodes=1)
    node = found.current_node
    assert lines[0].startswith(f"default/p is on {node}: attempt 1, 0 s ago")
    assert any(line.startswith(f"Chosen: {node}") for line in lines)
    assert not any(line.startswith("QUEUE") for line in lines)


async def test_an_answer_of_now_says_so() -> None:
    world = RecordedWorld()
    world.pods.add(make_pod("p", gates=["a/b"]))
    await world.settle()
    found = await world.ask(world.explainer.explain_pod("default", "p"))
    lines = found.lines()
    assert lines[0] == (
        "default/p is pending: no attempt is known, profile default-scheduler; asked now"
    )
    assert lines[-1] == "QUEUE    gated by SchedulingGates"


async def test_an_answer_that_differs_from_the_attempt_says_why_the_attempt_failed() -> None:
    world = RecordedWorld()
    world.add_nodes(1, cpu=1)
    await world.try_pod("p", cpu=3)
    found = await world.ask(world.explainer.explain_pod("default", "p"))
    told = "0/1 nodes are available: 1 Insufficient cpu."
    assert found.record is not None and found.record.message.startswith(told)
    assert sum(told in line for line in found.lines()) == 1
    found.found.decision.message = "0/2 nodes are available: 2 Insufficient cpu."
    assert found.lines()[1].startswith(f"  attempt 1: {told}")


async def test_the_data_has_the_record_and_the_queue() -> None:
    world = RecordedWorld()
    world.add_nodes(1, cpu=1)
    await world.try_pod("p", cpu=3)
    await world.after(400.0)
    found = await world.ask(world.explainer.explain_pod("default", "p"))
    data = json.loads(json.dumps(found.data()))
    assert (data["version"], data["state"], data["attempt"]) == (2, "is pending", 2)
    assert (data["askedNow"], data["recorded"]) == (False, False)
    assert data["queue"]["place"] == "unschedulable"
    assert data["queue"]["plugins"] == ["NodeResourcesFit"]
    assert data["record"]["refusingPlugins"] == ["NodeResourcesFit"]
    assert [one["attempt"] for one in data["earlierAttempts"]] == [1]
    assert data["extendersNotAsked"] == []


async def test_data_of_a_pod_that_is_gone() -> None:
    world = RecordedWorld()
    world.nodes.add(make_node("n"))
    await world.try_pod("p")
    world.pods.delete("p", "default")
    found = await world.ask(world.explainer.explain_pod("default", "p"))
    assert found.data()["state"] == "is gone"
    assert found.data()["queue"] is None
    assert found.lines()[0].startswith("default/p is gone: attempt 1")
