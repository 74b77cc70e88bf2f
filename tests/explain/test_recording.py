"""Records of decisions."""

from __future__ import annotations

from mooring.explain.recording import outline_of, weighted_points
from mooring.framework.decision import Decision, Outcome, PostFilterResult
from mooring.framework.status import Status
from mooring.testing import make_composite_pod_group, make_node, make_pod, make_pod_group
from mooring.virtual.driving import drive
from tests.explain.runs import make_scheduler


def test_a_record_has_what_the_decision_says() -> None:
    pod = make_pod("web", namespace="shop", group="crew")
    victim = make_pod("old", namespace="shop")
    decision = Decision(
        pod,
        "default-scheduler",
        outcome=Outcome.UNSCHEDULABLE,
        evaluated_nodes=7,
        unschedulable_plugins=frozenset({"NodePorts", "NodeAffinity"}),
        pending_plugins=frozenset({"Gang"}),
        message="no",
        post_filter=PostFilterResult(Status.success(), "n1", (victim,)),
    )
    group = make_pod_group("crew", namespace="shop")
    record = outline_of(decision, 3, 12.5, 9, 4, group).record()
    assert (record.key, record.uid, record.attempt, record.time) == ("shop/web", pod.uid, 3, 12.5)
    assert (record.outcome, record.message, record.node) == ("unschedulable", "no", "")
    assert (record.seed, record.sampling_start, record.pod_group) == (9, 4, "shop/crew")
    assert record.refusing_plugins == ("Gang", "NodeAffinity", "NodePorts")
    assert (record.evaluated, record.feasible) == (7, 0)
    assert (record.nominated_node, record.victims) == ("n1", ("shop/old",))
    assert (record.sequence, record.composite_pod_group) == (0, "")


def test_a_record_names_the_group_of_the_pod_and_the_top_of_the_tree() -> None:
    decision = Decision(make_pod("web", group="part"), "default-scheduler")
    top = make_composite_pod_group("job")
    record = outline_of(decision, 1, 0.0, 0, 0, top).record()
    assert (record.pod_group, record.composite_pod_group) == ("default/part", "default/job")
    alone = outline_of(decision, 1, 0.0, 0, 0).record()
    assert (alone.pod_group, alone.composite_pod_group) == ("", "")


def test_a_pod_that_was_placed_has_no_refusals() -> None:
    pod = make_pod("web")
    decision = Decision(pod, "default-scheduler", outcome=Outcome.SCHEDULED, node_name="n")
    record = outline_of(decision, 1, 1.0, 0, 0).record()
    assert (record.outcome, record.node) == ("scheduled", "n")
    assert (record.refusing_plugins, record.victims, record.nominated_node) == ((), (), "")


def test_the_weighted_points_a_node() -> None:
    nodes = [make_node("big", cpu="64"), make_node("small", cpu="2"), make_node("tiny", cpu="1")]
    scheduler = make_scheduler([*nodes, make_pod(cpu="2")])
    (pending,) = scheduler.cluster.pods.list()
    decision = drive(scheduler.decide(pending, examine=True)).decision
    assert decision.totals is not None
    assert sum(weighted_points(decision, "big").values()) == decision.totals.max()
    assert weighted_points(decision, "big")["NodeResourcesFit"] > 0
    assert weighted_points(decision, "tiny") == {}
    assert weighted_points(decision, "nowhere") == {}
    decision.totals = None
    assert weighted_points(decision, "big") == {}
