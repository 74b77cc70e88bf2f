"""The steps of the tutorial: the pod is pending, a node gets the label, the pod runs."""

from __future__ import annotations

import logging

import pytest

from mooring.contrib.samples import Sample
from mooring.framework.decision import Outcome
from mooring.testing import make_node, make_pod, run_cycle, run_filter
from tests.contrib.samples.example import Example, messages, with_labels

MESSAGE = (
    "0/4 nodes are available: 1 Node: k8s, 1 Node: node1, 1 node(s) had untolerated taint(s), "
    "1 node(s) were unschedulable. preemption: 0/4 nodes are "
    "available: 2 No preemption victims found for incoming pod, 2 Preemption is not helpful for "
    "scheduling."
)


def test_only_nodes_with_the_label_pass() -> None:
    nodes = [make_node("a", labels={"cpu": "true"}), make_node("b", labels={"cpu": "false"})]
    result = run_filter(Sample, pod=make_pod(), nodes=[*nodes, make_node("c")])
    assert result.feasible == ["a"]
    assert result.reasons == {"Node: b": 1, "Node: c": 1}


async def test_the_pod_is_pending_until_a_node_is_labelled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="mooring.contrib")
    example = Example("sample")
    scheduler = example.scheduler(Sample)

    decision = await scheduler.schedule_one(example.pod)
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert decision.message == MESSAGE

    name = "test-scheduler-78c89768cf-5d9ct"
    assert set(messages(caplog, lambda text: text.startswith("filter"))) == {
        f"filter pod: {name}, node: k8s",
        f"filter pod: {name}, node: node1",
    }

    node1 = next(node for node in example.nodes if node.name == "node1")
    scheduler.cluster.add(with_labels(node1, cpu="true"))
    pending = scheduler.cluster.pods.get(name, "default")
    assert pending is not None
    decision = await scheduler.schedule_one(pending)
    assert decision.node_name == "node1"
    assert decision.evaluated_nodes == 4
    bound = scheduler.cluster.pods.get(name, "default")
    assert bound is not None
    assert bound.node_name == "node1"
    assert [(event.type, event.reason, event.note) for event in scheduler.events.recorded] == [
        ("Warning", "FailedScheduling", MESSAGE),
        ("Normal", "Scheduled", f"Successfully assigned default/{name} to node1"),
    ]


def test_pre_score_logs_the_nodes_that_are_left(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="mooring.contrib")
    nodes = [make_node(name, labels={"cpu": "true"}) for name in ("a", "b")]
    run_cycle(pod=make_pod("p"), nodes=nodes, plugins=[Sample])
    assert "prescore pod: p, nodes: ['a', 'b']" in caplog.messages
