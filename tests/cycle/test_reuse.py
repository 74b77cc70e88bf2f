"""What identical pods take over from one another, and what they do not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from mooring.cycle import reuse
from mooring.framework.decision import Outcome
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.framework.status import Status
from mooring.offline.memory_scheduler import MemoryScheduler, drive
from mooring.testing import make_node, make_pod
from tests.cycle.decisions import told
from tests.cycle.scheduling import make_scheduler


def hits(scheduler: MemoryScheduler) -> int:
    """Return how often a pod took over what another was told."""
    return sum(
        remembered.hits
        for memory in scheduler.cycle._reuse.values()
        for remembered in memory._remembered.values()
    )


@pytest.fixture
def asked() -> list[tuple[str, list[str]]]:
    """Collect what the recording plugin was asked, and about which nodes."""
    return []


def recording(asked: list[tuple[str, list[str]]], **methods: Any) -> type[Plugin]:
    """Return a plugin that scores by the number of pods and notes what it is asked about."""

    class Recording(Plugin):
        def filter(self, state: Any, pod: Any, node: Any) -> Any:
            asked.append(("filter", [node.name]))

        def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Iterator[Any]:
            asked.append(("filter_nodes", list(nodes.names)))
            return iter(())

        def score(self, state: Any, pod: Any, node: Any) -> Any:
            asked.append(("score", [node.name]))
            return 100 - len(node.pods)

        def score_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
            asked.append(("score_nodes", list(nodes.names)))
            return 100 - nodes.pod_count

        def sign_pod(self, pod: Any) -> Any:
            return pod.metadata.labels.get("team", "")

    for name, method in methods.items():
        setattr(Recording, name, method)
    return Recording


EVERY = [f"n{i}" for i in range(8)]
AFRESH = [("filter_nodes", EVERY), ("score_nodes", EVERY)]


def start(asked: list[tuple[str, list[str]]], **methods: Any) -> MemoryScheduler:
    """Return a scheduler of eight nodes whose first pod has been placed."""
    nodes = [make_node(name) for name in EVERY]
    scheduler = make_scheduler([recording(asked, **methods)], nodes)
    place(scheduler, asked)
    return scheduler


def place(
    scheduler: MemoryScheduler, asked: list[tuple[str, list[str]]], **fields: Any
) -> list[tuple[str, list[str]]]:
    """Place one more pod and return what was asked on the way."""
    asked.clear()
    name = f"pod-{len(scheduler.cluster.cache.pods)}"
    pod = make_pod(name, **fields)
    scheduler.cluster.add(pod)
    decision = drive(scheduler.schedule_one(pod))
    assert decision.outcome is Outcome.SCHEDULED, decision.message
    return list(asked)


def test_the_next_identical_pod_is_asked_about_the_changed_row_alone(asked: Any) -> None:
    scheduler = start(asked)
    assert asked == AFRESH
    assert place(scheduler, asked) == [("filter", ["n0"]), ("score", ["n0"])]
    assert place(scheduler, asked) == [("filter", ["n1"]), ("score", ["n1"])]
    assert hits(scheduler) == 2


def test_a_plugin_that_reads_no_pods_is_asked_no_more(asked: Any) -> None:
    scheduler = start(asked, reads_pods=False)
    assert asked == AFRESH
    assert place(scheduler, asked) == []
    assert hits(scheduler) == 1


def test_a_plugin_that_reads_no_pods_scores_a_node_that_comes_into_reach(asked: Any) -> None:
    def is_empty(self: Any, state: Any, pod: Any, node: Any) -> Any:
        return Status.unschedulable("taken") if node.pods else None

    class OnePod(Plugin):
        filter = is_empty

        def sign_pod(self, pod: Any) -> Any:
            return ()

    nodes = [make_node(name) for name in EVERY]
    there = [make_pod("there", node="n3"), make_pod("beside", node="n3")]
    quiet = recording(asked, reads_pods=False, filter_nodes=None, score_nodes=None)
    scheduler = make_scheduler([OnePod, quiet], [*nodes, *there])
    place(scheduler, asked)
    for pod in there:
        scheduler.cluster.delete(pod)
    assert place(scheduler, asked) == [("filter", ["n3"]), ("score", ["n3"])]


def test_a_pod_with_another_signature_is_asked_afresh(asked: Any) -> None:
    scheduler = start(asked)
    assert place(scheduler, asked, labels={"team": "blue"}) == AFRESH
    # Both pods placed since the first of the other kind have touched a row.
    assert place(scheduler, asked) == [
        ("filter", ["n0"]),
        ("filter", ["n1"]),
        ("score", ["n0"]),
        ("score", ["n1"]),
    ]


def test_only_so_many_signatures_are_remembered(asked: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(reuse, "_SIGNATURES", 2)
    scheduler = start(asked)
    place(scheduler, asked, labels={"team": "blue"})
    place(scheduler, asked)
    place(scheduler, asked, labels={"team": "red"})
    assert place(scheduler, asked) != AFRESH
    assert place(scheduler, asked, labels={"team": "blue"}) == AFRESH


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda cluster: cluster.add(make_node("n3", labels={"x": "y"})), id="a node changed"
        ),
        pytest.param(
            lambda cluster: (cluster.add(make_node("m")), cluster.delete(make_node("m"))),
            id="a node came and went",
        ),
    ],
)
def test_all_nodes_are_asked_afresh_when_a_node_object_changed(asked: Any, change: Any) -> None:
    scheduler = start(asked)
    change(scheduler.cluster)
    assert place(scheduler, asked) == AFRESH


def test_all_nodes_are_asked_afresh_when_most_rows_changed(asked: Any) -> None:
    scheduler = start(asked)
    for name in EVERY[:4]:
        scheduler.cluster.add(make_pod(f"on-{name}", node=name))
    assert place(scheduler, asked) == AFRESH


def test_a_pod_that_a_filter_does_not_sign_is_not_reused(asked: Any) -> None:
    scheduler = start(asked, sign_pod=lambda self, pod: None)
    assert place(scheduler, asked) == AFRESH
    assert hits(scheduler) == 0


@pytest.mark.parametrize("point", ["add_pod", "remove_pod"])
def test_a_plugin_that_counts_over_all_nodes_is_not_reused(asked: Any, point: str) -> None:
    methods = {point: lambda *_: None, "pre_filter": lambda *_: None}
    scheduler = start(asked, **methods)
    assert place(scheduler, asked) == AFRESH


def test_a_score_that_is_not_signed_is_asked_of_all_nodes_and_others_are_reused(
    asked: Any,
) -> None:
    class Unsigned(Plugin):
        def score_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
            asked.append(("unsigned", list(nodes.names)))
            return np.zeros(len(nodes), dtype=np.int64)

    scheduler = make_scheduler([recording(asked), Unsigned], [make_node(name) for name in EVERY])
    place(scheduler, asked)
    assert place(scheduler, asked) == [
        ("filter", ["n0"]),
        ("score", ["n0"]),
        ("unsigned", EVERY),
    ]


def test_a_pod_that_steps_aside_needs_no_signature(asked: Any) -> None:
    skip = {"pre_filter": lambda *_: Status.skip(), "pre_score": lambda *_: Status.skip()}
    scheduler = start(asked, sign_pod=lambda self, pod: None, **skip)
    assert asked == []
    place(scheduler, asked)
    assert hits(scheduler) == 1


def test_a_narrowed_search_is_not_reused(asked: Any) -> None:
    scheduler = start(asked, pre_filter=lambda *_: {"n0", "n1"})
    assert place(scheduler, asked) == [
        ("filter_nodes", ["n0", "n1"]),
        ("score_nodes", ["n0", "n1"]),
    ]


def test_nothing_is_reused_while_a_pod_is_nominated(asked: Any) -> None:
    scheduler = start(asked)
    scheduler.cluster.add(make_pod("waiting", nominated_node="n5"))
    assert ("filter_nodes", EVERY) in place(scheduler, asked)


def test_a_nominated_pod_is_asked_about_its_node_first(asked: Any) -> None:
    scheduler = start(asked)
    asked.clear()
    decision = drive(scheduler.decide(make_pod("back", nominated_node="n5"))).decision
    assert decision.node_name == "n5"
    assert asked == [("filter_nodes", ["n5"])]


def test_an_examination_asks_all_nodes(asked: Any) -> None:
    scheduler = start(asked)
    asked.clear()
    drive(scheduler.decide(make_pod("look"), examine=True))
    assert asked == AFRESH


def test_reuse_can_be_switched_off(asked: Any) -> None:
    nodes = [make_node(name) for name in EVERY]
    off = make_scheduler([recording(asked)], nodes)
    off.cycle._reuse.clear()
    place(off, asked)
    assert place(off, asked) == AFRESH
    gate = FeatureGates({"OpportunisticBatching": False})
    assert MemoryScheduler(nodes, features=gate).cycle._reuse == {}
    assert MemoryScheduler(nodes, reuse=False).cycle._reuse == {}
    assert MemoryScheduler(nodes, features=gate, reuse=True).cycle._reuse != {}


def test_an_earlier_decision_keeps_its_scores_and_statuses(asked: Any) -> None:
    scheduler = start(asked)
    first = drive(scheduler.decide(make_pod("a"))).decision
    before = told(first)
    scheduler.cluster.add(make_pod("full", node="n2", cpu="4"))
    second = drive(scheduler.decide(make_pod("b"))).decision
    assert told(second) != before
    assert told(first) == before


def test_what_a_post_filter_writes_is_not_remembered() -> None:
    class Meddling(Plugin):
        def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Iterator[Any]:
            yield Status.unschedulable("no"), np.ones(len(nodes), dtype=np.bool_)

        def score_nodes(self, state: Any, pod: Any, nodes: Any) -> int:
            return 0

        def sign_pod(self, pod: Any) -> tuple[()]:
            return ()

        def post_filter(self, state: Any, pod: Any, statuses: Any) -> Status:
            statuses.accept(slice(None))
            return Status.unschedulable("nor now")

    scheduler = make_scheduler([Meddling], [make_node("a"), make_node("b")])
    told_first, told_second = (
        told(drive(scheduler.decide(make_pod(name))).decision) for name in ("a", "b")
    )
    assert hits(scheduler) == 1
    assert told_first == told_second


@pytest.mark.parametrize("point", ["filter", "score"])
def test_a_fault_is_told_as_without_reuse(asked: Any, point: str) -> None:
    faults = {
        point: lambda *_: Status.error("one node"),
        f"{point}_nodes": lambda self, state, pod, nodes: fails(nodes, point),
    }

    def fails(nodes: Any, point: str) -> Any:
        if nodes.pod_count.any():
            return (
                [(Status.error("all"), nodes.pod_count > 0)]
                if point == "filter"
                else (Status.error("all"))
            )
        return () if point == "filter" else 100 - nodes.pod_count

    scheduler = start(asked, **faults)
    decision = drive(scheduler.decide(make_pod("next"))).decision
    assert decision.outcome is Outcome.ERROR
    assert decision.message.endswith("all")
