"""Which answers identical pods reuse, and which they do not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.cycle import reuse
from mooring.framework.decision import Outcome
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.framework.status import Status
from mooring.plugins.node_resources.fit import Fit
from mooring.testing import make_node, make_pod
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.cycle.decisions import told
from tests.cycle.reuse_scenes import AFRESH, EVERY, hits, place, recording, start
from tests.cycle.scheduling import make_scheduler


@pytest.fixture
def asked() -> list[tuple[str, list[str]]]:
    """Collect the calls of the recording plugin, with their nodes."""
    return []


def test_the_next_identical_pod_is_asked_about_the_changed_row_alone(asked: Any) -> None:
    scheduler = start(asked)
    assert asked == AFRESH
    assert place(scheduler, asked) == [("filter", ["n0"]), ("score", ["n0"])]
    assert place(scheduler, asked) == [("filter", ["n1"]), ("score", ["n1"])]
    assert hits(scheduler) == 2


def test_a_plugin_that_normalises_in_place_is_asked_about_the_changed_row_alone(
    asked: Any,
) -> None:
    def normalize(self: Any, state: Any, pod: Any, scores: Any) -> Any:
        scores -= scores.min()
        return scores

    scheduler = start(asked, normalize_score=normalize)
    assert place(scheduler, asked) == [("filter", ["n0"]), ("score", ["n0"])]


@pytest.mark.parametrize("score", [0, 100], ids=["the lowest score", "the highest score"])
def test_scores_at_the_ends_of_the_range_are_taken_over(asked: Any, score: int) -> None:
    def one(self: Any, state: Any, pod: Any, node: Any) -> int:
        asked.append(("score", [node.name]))
        return score if node.pods else 50

    def every(self: Any, state: Any, pod: Any, nodes: Any) -> Any:
        asked.append(("score_nodes", list(nodes.names)))
        return np.where(nodes.pod_count > 0, score, 50)

    scheduler = start(asked, score=one, score_nodes=every)
    assert place(scheduler, asked) == [("filter", ["n0"]), ("score", ["n0"])]


@pytest.mark.parametrize("score", [-1, 101])
def test_a_score_out_of_range_is_told_as_without_reuse(asked: Any, score: int) -> None:
    def one(self: Any, state: Any, pod: Any, node: Any) -> int:
        return score if node.pods else 50

    def every(self: Any, state: Any, pod: Any, nodes: Any) -> Any:
        return np.where(nodes.pod_count > 0, score, 50)

    scheduler = start(asked, score=one, score_nodes=every)
    decision = drive(scheduler.decide(make_pod("next"))).decision
    assert decision.outcome is Outcome.ERROR
    assert f"returns an invalid score {score}," in decision.message
    assert decision.message.endswith("node n0")


def test_what_decisions_share_is_read_only(asked: Any) -> None:
    scheduler = start(asked)
    for _ in range(2):
        decision = drive(scheduler.decide(make_pod("a"))).decision
        assert decision.totals is not None
        scores = decision.scores["Recording"]
        for array in (decision.totals, scores.raw, scores.normalized):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
        scheduler.cluster.add(make_pod("there", node="n2"))


def test_many_changed_rows_are_asked_at_once(asked: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(reuse, "FEW", 1)
    monkeypatch.setattr(reuse, "MOST", 1)
    scheduler = start(asked)
    for name in ("n4", "n6"):
        scheduler.cluster.add(make_pod(f"on-{name}", node=name))
    changed = ["n0", "n4", "n6"]
    assert place(scheduler, asked) == [("filter_nodes", changed), ("score_nodes", changed)]
    assert hits(scheduler) == 1


def test_after_an_error_scores_are_those_without_reuse(asked: Any) -> None:
    """One pod's scores fail; the next pod reuses the answers from before."""
    fail: list[bool] = []

    def score(self: Any, state: Any, pod: Any, node: Any) -> Any:
        return Status.error("lost") if fail else 100 - len(node.pods)

    def score_nodes(self: Any, state: Any, pod: Any, nodes: Any) -> Any:
        return Status.error("lost") if fail else 100 - nodes.pod_count

    scheduler = start(asked, score=score, score_nodes=score_nodes)
    fail.append(True)
    decision = drive(scheduler.decide(make_pod("fails"))).decision
    assert decision.outcome is Outcome.ERROR
    fail.clear()
    scheduler.cluster.add(make_pod("there", node="n1"))
    decision = drive(scheduler.decide(make_pod("next"))).decision
    assert decision.totals is not None
    assert decision.totals.tolist() == [99, 99, *[100] * 6]


def test_the_traceback_of_an_error_shows_the_plugin_alone(asked: Any) -> None:
    fail: list[bool] = []

    def score(self: Any, state: Any, pod: Any, node: Any) -> int:
        if fail:
            raise ValueError("lost")
        return 1

    def score_nodes(self: Any, state: Any, pod: Any, nodes: Any) -> Any:
        return score(self, state, pod, nodes)

    scheduler = start(asked, score=score, score_nodes=score_nodes)
    fail.append(True)
    decision = drive(scheduler.decide(make_pod("fails"))).decision
    text = decision.errors[0].traceback
    assert text.count("ValueError: lost") == 1
    assert "ScoreError" not in text


def test_a_plugin_that_reads_no_pods_is_asked_no_more(asked: Any) -> None:
    scheduler = start(asked, reads_pods=False)
    assert asked == AFRESH
    assert place(scheduler, asked) == []
    assert hits(scheduler) == 1


class Signs(Plugin):
    """A plugin of another package, which may read the labels of pods."""

    def sign_pod(self, pod: Any) -> Any:
        return ()

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return 0


@pytest.mark.parametrize(
    ("plugins", "rows"),
    [
        pytest.param((), 0, id="built-in plugins do not read labels of pods"),
        pytest.param((Signs,), 1, id="another plugin may read them"),
    ],
)
def test_which_rows_are_asked_about_when_a_pod_gets_a_label(plugins: Any, rows: int) -> None:
    scheduler = make_scheduler([Fit, *plugins], [make_node(f"n{i}") for i in range(8)])
    (profile,) = scheduler.profiles.values()
    step = next(step for step in profile.score if step.name == "NodeResourcesFit")
    attempt = drive(scheduler.decide(make_pod("first")))
    drive(scheduler.reserve(attempt))
    drive(scheduler.decide(make_pod("second")))
    assert attempt.assumed is not None
    bound = attempt.assumed.pod
    labels = {**bound.metadata.labels, "zone": "a"}
    cache, before = scheduler.cache, step.evaluations.value
    cache.add_pod(replace(bound, metadata=replace(bound.metadata, labels=labels)))
    drive(scheduler.decide(make_pod("third")))
    assert step.evaluations.value - before == rows


@pytest.mark.parametrize("plugin", ["VolumeBinding", "DynamicResources"])
def test_pods_without_claims_are_scored_once_by_the_plugins_of_claims(plugin: str) -> None:
    scheduler = MemoryScheduler([make_node(f"n{i}") for i in range(8)])
    profile = scheduler.profiles["default-scheduler"]
    step = next(step for step in profile.score if step.name == plugin)
    drive(scheduler.reserve(drive(scheduler.decide(make_pod("first")))))
    before = step.evaluations.value
    drive(scheduler.reserve(drive(scheduler.decide(make_pod("second")))))
    assert (before, step.evaluations.value) == (8, 8)


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
    # Both pods placed since the last one of this kind have changed a row.
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
    off = make_scheduler([recording(asked)], nodes, reuse=False)
    place(off, asked)
    assert place(off, asked) == AFRESH
    gate = FeatureGates({"OpportunisticBatching": False})

    def reuses(**options: Any) -> bool:
        scheduler = MemoryScheduler(nodes, **options)
        for name in ("first", "second"):
            drive(scheduler.decide(make_pod(name)))
        return hits(scheduler) > 0

    assert reuses()
    assert not reuses(features=gate)
    assert not reuses(reuse=False)
    assert reuses(features=gate, reuse=True)


class Crowd(Plugin):
    """A plugin that allows two pods per node, so that the feasible nodes change."""

    def filter(self, state: Any, pod: Any, node: Any) -> Any:
        return Status.unschedulable("crowded") if len(node.pods) >= 2 else None

    def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        yield Status.unschedulable("crowded"), nodes.pod_count >= 2


class Named(Plugin):
    """A plugin that scores only by the name of a node."""

    reads_pods = False

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return int(node.name[1:]) * 3

    def score_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        return np.array([int(name[1:]) * 3 for name in nodes.names], dtype=np.int64)


class Least(Plugin):
    """A plugin that scores by the number of pods; if all are equal, with one score for all."""

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return 50 - 10 * len(node.pods)

    def score_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        counts = nodes.pod_count
        if (counts == counts[0]).all():
            return 50 - 10 * int(counts[0])
        return 50 - 10 * counts


class Relative(Least):
    """A plugin that normalises in place."""

    def normalize_score(self, state: Any, pod: Any, scores: Any) -> Any:
        scores -= scores.min()
        return scores


class Flat(Plugin):
    """A plugin that gives all nodes the same score, by a label of the pod."""

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return len(pod.metadata.labels.get("team", ""))

    def score_nodes(self, state: Any, pod: Any, nodes: Any) -> int:
        return len(pod.metadata.labels.get("team", ""))


def by_team(self: Any, pod: Any) -> Any:
    return pod.metadata.labels.get("team", "")


def formed(made: type[Plugin], form: str, signs: bool) -> type[Plugin]:
    """Return a plugin in the node form, the vector form or both."""
    point = "filter" if hasattr(made, "filter") else "score"
    gone = {"node": {f"{point}_nodes": None}, "vector": {point: None}, "both": {}}[form]
    sign = {"sign_pod": by_team} if signs else {}
    return type(made.__name__, (made,), {"name": made.__name__, **gone, **sign})


FORMS = st.sampled_from(["node", "vector", "both"])


@given(
    forms=st.lists(FORMS, min_size=5, max_size=5),
    unsigned=st.sets(st.sampled_from([Named, Least, Relative, Flat])),
    limits=st.tuples(st.sampled_from([0, 1, 6]), st.sampled_from([1, 4])),
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("place"), st.sampled_from(["", "", "", "blue"])),
            st.tuples(st.sampled_from(["add", "remove"]), st.integers(0, 9)),
        ),
        min_size=2,
        max_size=14,
    ),
)
def test_decisions_are_those_without_reuse_whatever_the_form_of_plugins(
    forms: list[str], unsigned: set[Any], limits: tuple[int, int], steps: list[Any]
) -> None:
    plugins = [Crowd, Named, Least, Relative, Flat]
    made = [
        formed(each, form, each not in unsigned) for each, form in zip(plugins, forms, strict=True)
    ]
    weights = {each.name: number for number, each in enumerate(made, start=1)}
    nodes = [make_node(f"n{i}") for i in range(10)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reuse, "FEW", limits[0])
        patch.setattr(reuse, "MOST", limits[1])
        with_reuse, without = (
            make_scheduler(made, nodes, weights=weights, reuse=reused) for reused in (None, False)
        )
        there: dict[int, Any] = {}
        for number, (what, value) in enumerate(steps):
            if what == "place":
                labels = {"team": value} if value else {}
                pod = make_pod(f"p{number}", labels=labels)
                found = []
                for scheduler in (with_reuse, without):
                    scheduler.cluster.add(pod)
                    found.append(told(drive(scheduler.schedule_one(pod))))
                    # Without reuse, raw scores that a plugin overwrites are not kept.
                    _, *rest = found[-1]["scores"].pop("Relative", (None,))
                    found[-1]["relative"] = rest
                assert found[0] == found[1]
                continue
            pod = there.setdefault(value, make_pod(f"there-{value}", node=f"n{value}"))
            for scheduler in (with_reuse, without):
                (scheduler.cluster.add if what == "add" else scheduler.cluster.delete)(pod)


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


@pytest.mark.parametrize("few", [0, 6], ids=["rows at once", "row by row"])
@pytest.mark.parametrize("point", ["filter", "score"])
def test_a_fault_is_told_as_without_reuse(
    asked: Any, point: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reuse, "FEW", few)
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


@pytest.mark.parametrize(
    ("changed", "form"),
    [
        pytest.param(6, "one by one", id="six rows are asked one by one"),
        pytest.param(7, "at once", id="seven are asked at once"),
        pytest.param(8, "afresh", id="more than a quarter of all: all are asked"),
    ],
)
def test_how_changed_rows_are_asked(asked: Any, changed: int, form: str) -> None:
    names = [f"n{i:02}" for i in range(28)]
    scheduler = make_scheduler([recording(asked)], [make_node(name) for name in names])
    # The first pod goes to the first node, which is one of the changed.
    place(scheduler, asked)
    rows = names[:changed]
    for name in rows[1:]:
        scheduler.cluster.add(make_pod(f"on-{name}", node=name))
    expected = {
        "one by one": [(point, [name]) for point in ("filter", "score") for name in rows],
        "at once": [("filter_nodes", rows), ("score_nodes", rows)],
        "afresh": [("filter_nodes", names), ("score_nodes", names)],
    }
    assert place(scheduler, asked) == expected[form]


def test_sixteen_signatures_are_remembered(asked: Any) -> None:
    names = [f"n{i:03}" for i in range(200)]
    scheduler = make_scheduler([recording(asked)], [make_node(name) for name in names])
    afresh = [("filter_nodes", names), ("score_nodes", names)]
    for team in range(16):
        assert place(scheduler, asked, labels={"team": str(team)}) == afresh
    assert place(scheduler, asked, labels={"team": "0"}) != afresh
    assert place(scheduler, asked, labels={"team": "16"}) == afresh
    assert place(scheduler, asked, labels={"team": "2"}) != afresh
    assert place(scheduler, asked, labels={"team": "1"}) == afresh


@pytest.mark.parametrize(
    ("passing", "again"),
    [
        pytest.param(8, False, id="all"),
        pytest.param(7, False, id="all but one"),
        pytest.param(7, True, id="all but one, for another reason"),
    ],
)
def test_scores_are_normalised_once_while_the_same_nodes_pass(
    asked: Any, passing: int, again: bool
) -> None:
    normalised: list[int] = []

    class Full(Plugin):
        def filter(self, state: Any, pod: Any, node: Any) -> Any:
            count = len(node.pods)
            return None if node.name in EVERY[:passing] else Status.unschedulable(f"{count} pods")

        def sign_pod(self, pod: Any) -> Any:
            return ()

    def normalize_score(self: Any, state: Any, pod: Any, scores: Any) -> Any:
        normalised.append(len(scores))
        return scores

    scores = recording(asked, reads_pods=False, normalize_score=normalize_score)
    scheduler = make_scheduler([Full, scores], [make_node(name) for name in EVERY])
    place(scheduler, asked)
    if again:
        scheduler.cluster.add(make_pod("there", node="n7"))
    place(scheduler, asked)
    assert normalised == [passing]


@pytest.mark.parametrize(
    ("more", "afresh"),
    [
        pytest.param([], False, id="one row of three: it alone is asked"),
        pytest.param(["n1"], True, id="two rows of three: all are asked"),
    ],
)
def test_a_small_cluster_is_asked_about_one_changed_row(
    asked: Any, more: list[str], afresh: bool
) -> None:
    names = EVERY[:3]
    scheduler = make_scheduler([recording(asked)], [make_node(name) for name in names])
    place(scheduler, asked)
    for name in more:
        scheduler.cluster.add(make_pod(f"on-{name}", node=name))
    row = [("filter", ["n0"]), ("score", ["n0"])]
    every = [("filter_nodes", names), ("score_nodes", names)]
    assert place(scheduler, asked) == (every if afresh else row)
