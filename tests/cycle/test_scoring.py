"""Score: weights, normalisation, range, ties; a fault ends the cycle with kube-scheduler's text."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from mooring.cycle.scheduling_cycle import by_seed
from mooring.framework.decision import Outcome
from mooring.framework.plugin import Plugin
from mooring.framework.status import Status
from tests.cycle.scheduling import decide, make_nodes, make_pod, make_scheduler, plugin, refuse

NODES = make_nodes("n1", "n2", "n3")


def scores(called: str, values: Any, **more: Any) -> type[Plugin]:
    return plugin(called, score_nodes=lambda state, pod, nodes: np.array(values), **more)


def scores_each(called: str, values: dict[str, Any], **more: Any) -> type[Plugin]:
    return plugin(called, score=lambda state, pod, node: values[node.name], **more)


def doubled(state: Any, pod: Any, raw: Any) -> Any:
    return raw * 2


@pytest.mark.parametrize(
    "second",
    [
        scores("B", [30, 0, 10], normalize_score=doubled),
        scores_each("B", {"n1": 30, "n2": 0, "n3": 10}, normalize_score=doubled),
    ],
    ids=["vector form", "node form"],
)
def test_totals_are_weighted_sums_of_normalised_scores(second: Any) -> None:
    decision = decide([scores("A", [1, 50, 2]), second], NODES, weights={"A": 3, "B": 2})
    assert decision.totals is not None
    assert decision.totals.tolist() == [3 + 120, 150, 6 + 40]
    assert decision.scores["B"].raw.tolist() == [30, 0, 10]
    assert decision.scores["B"].normalized.tolist() == [60, 0, 20]
    assert decision.scores["B"].weight == 2
    assert decision.node_name == "n2"


@pytest.mark.parametrize("raw", [[30, 0], 30], ids=["a score per node", "one score for all"])
def test_normalize_score_sees_the_nodes_that_the_scores_belong_to(raw: Any) -> None:
    def by_name(state: Any, pod: Any, scores: Any, nodes: Any) -> Any:
        assert len(scores) == len(nodes)
        return scores + np.array([{"n1": 1, "n3": 3}[name] for name in nodes.names])

    named = plugin(
        "B",
        score_nodes=lambda state, pod, nodes: raw if isinstance(raw, int) else np.array(raw),
        normalize_score=by_name,
    )
    decision = decide([refuse("n2"), named], NODES)
    first, second = (raw, raw) if isinstance(raw, int) else raw
    assert decision.scores["B"].normalized.tolist() == [first + 1, second + 3]


def test_a_plugin_that_steps_aside_in_pre_score_is_not_asked() -> None:
    aside = scores("A", [9, 9, 9], pre_score=lambda state, pod, nodes: Status.skip())
    decision = decide([aside, scores("B", [1, 2, 3])], NODES)
    assert decision.skipped_score == {"A"}
    assert list(decision.scores) == ["B"]


def test_pre_score_gets_the_feasible_nodes() -> None:
    seen = []

    def note(state: Any, pod: Any, nodes: Any) -> None:
        seen.append(list(nodes.names))

    decide([refuse("n2"), plugin("A", pre_score=note), scores("B", [1, 2])], NODES)
    assert seen == [["n1", "n3"]]


def test_one_feasible_node_is_not_scored_unless_examined() -> None:
    plugins = [refuse("n1", "n3"), scores("A", [7])]
    assert decide(plugins, NODES).totals is None
    examined = decide(plugins, NODES, examine=True)
    assert examined.node_name == "n2"
    assert examined.scores["A"].raw.tolist() == [7]


def test_raw_scores_survive_a_plugin_that_normalises_in_place() -> None:
    def in_place(state: Any, pod: Any, raw: Any) -> Any:
        raw[:] = 5
        return raw

    decision = decide([scores("A", [1, 2, 3], normalize_score=in_place)], NODES, examine=True)
    assert decision.scores["A"].raw.tolist() == [1, 2, 3]
    assert decision.scores["A"].normalized.tolist() == [5, 5, 5]


@pytest.mark.parametrize("score", [0, 100])
def test_scores_at_the_ends_of_the_range_are_in_it(score: int) -> None:
    for one in (scores("A", [score] * 3), plugin("A", score_nodes=lambda *_: score)):
        decision = decide([one], NODES)
        assert decision.outcome is Outcome.SCHEDULED
        assert decision.totals is not None
        assert decision.totals.tolist() == [score] * 3


def test_one_score_for_all_counts_like_an_array() -> None:
    alike = plugin("B", score_nodes=lambda *_: 7, normalize_score=doubled)
    decision = decide(
        [scores("A", [1, 2, 3]), alike, plugin("C", score_nodes=lambda *_: 1)],
        NODES,
        weights={"A": 1, "B": 3, "C": 5},
    )
    assert decision.totals is not None
    assert decision.totals.tolist() == [48, 49, 50]
    assert decision.scores["B"].raw.tolist() == [7, 7, 7]
    assert decision.scores["B"].normalized.tolist() == [14, 14, 14]
    # Decisions share such arrays, so they are read-only.
    with pytest.raises(ValueError, match="read-only"):
        decision.scores["B"].raw[0] = 1


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32])
def test_scores_may_be_smaller_integers(dtype: Any) -> None:
    small = plugin("A", score_nodes=lambda *_: np.array([1, 2, 3], dtype=dtype))
    decision = decide([small, scores("B", [100, 100, 100])], NODES)
    assert decision.totals is not None
    assert decision.totals.tolist() == [101, 102, 103]


def test_every_one_of_the_best_nodes_is_chosen_about_as_often() -> None:
    scheduler = make_scheduler([scores("A", [5, 1, 5])], NODES, choose=by_seed)
    chosen = Counter(scheduler.cycle.run_sync(make_pod()).node_name for _ in range(400))
    assert chosen.keys() == {"n1", "n3"}
    assert min(chosen.values()) > 150


def test_the_seed_of_a_choice_is_recorded() -> None:
    scheduler = make_scheduler([scores("A", [5, 5, 5])], NODES, choose=by_seed)
    decision = scheduler.cycle.run_sync(make_pod())
    assert decision.node_name == ["n1", "n2", "n3"][decision.seed % 3]


def _raise(*_: Any) -> None:
    raise ValueError("boom")


RANGE = (
    'applying score defaultWeights on Score plugins: plugin "A" returns an invalid score {}, '
    "it should in the range of [0, 100] after normalizing, node n2"
)
SCORE = 'running Score plugins: plugin "A" failed with: '
NORMALIZE = 'running Normalize on Score plugins: plugin "A" failed with: '


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        pytest.param(scores("A", [100, 101, 0]), RANGE.format(101), id="a score above the range"),
        pytest.param(scores("A", [0, -1, 0]), RANGE.format(-1), id="a score below the range"),
        pytest.param(
            scores_each("A", {"n1": 0, "n2": 2**70, "n3": 0}),
            RANGE.format(2**70),
            id="a score beyond 64 bits",
        ),
        pytest.param(
            scores_each("A", {"n1": 0, "n2": 2**63, "n3": 0}),
            RANGE.format(2**63),
            id="a score just beyond 64 bits",
        ),
        pytest.param(
            scores_each("A", {"n1": 0, "n2": -(2**63) - 1, "n3": 0}),
            RANGE.format(-(2**63) - 1),
            id="a score just below 64 bits",
        ),
        pytest.param(
            scores_each("A", {"n1": 0, "n2": -(2**63), "n3": 0}),
            RANGE.format(-(2**63)),
            id="the lowest score of 64 bits",
        ),
        pytest.param(
            plugin("A", score_nodes=lambda *_: 101),
            RANGE.format(101).replace("n2", "n1"),
            id="one score for all above the range",
        ),
        pytest.param(
            plugin("A", score_nodes=lambda *_: -1),
            RANGE.format(-1).replace("n2", "n1"),
            id="one score for all below the range",
        ),
        pytest.param(
            plugin("A", score_nodes=lambda *_: 51, normalize_score=doubled),
            RANGE.format(102).replace("n2", "n1"),
            id="one score for all out of range after normalising",
        ),
        pytest.param(
            scores("A", [0, 51, 0], normalize_score=doubled),
            RANGE.format(102),
            id="out of range after normalising",
        ),
        pytest.param(
            plugin("A", score=_raise),
            SCORE + "plugin A, point Score, node n1: ValueError: boom",
            id="the node form raises",
        ),
        pytest.param(
            plugin("A", score_nodes=_raise),
            SCORE + "plugin A, point Score: ValueError: boom",
            id="the vector form raises",
        ),
        pytest.param(
            scores_each("A", {"n1": 1.5, "n2": 0, "n3": 0}),
            SCORE + "plugin A, point Score, node n1: score must return an int or a Status, "
            "got float 1.5",
            id="the node form answers with a float",
        ),
        pytest.param(
            scores("A", [0.5, 1.0, 2.0]),
            SCORE + "plugin A, point Score: score_nodes must return an int64 array",
            id="the vector form answers with floats",
        ),
        pytest.param(
            scores("A", [1, 2]),
            SCORE + "plugin A, point Score: score_nodes must return an int64 array",
            id="a score too few",
        ),
        pytest.param(
            scores_each("A", dict.fromkeys(("n1", "n2", "n3"), Status.error("lost"))),
            SCORE + "lost",
            id="an error status",
        ),
        pytest.param(
            scores("A", [1, 2, 3], normalize_score=_raise),
            NORMALIZE + "plugin A, point Score: ValueError: boom",
            id="normalising raises",
        ),
        pytest.param(
            scores("A", [1, 2, 3], normalize_score=lambda state, pod, raw: None),
            NORMALIZE + "plugin A, point Score: normalize_score must return an int64 array",
            id="normalising returns nothing",
        ),
        pytest.param(
            scores("A", [1, 2, 3], pre_score=_raise),
            'running PreScore plugin "A": plugin A, point PreScore: ValueError: boom',
            id="PreScore raises",
        ),
        pytest.param(
            scores("A", [1, 2, 3], pre_score=lambda *_: Status.unschedulable("no")),
            'running PreScore plugin "A": no',
            id="PreScore refuses",
        ),
    ],
)
def test_a_fault_ends_the_cycle(broken: Any, message: str) -> None:
    decision = decide([broken], NODES)
    assert decision.outcome is Outcome.ERROR
    assert decision.message.startswith(message)
    assert decision.errors[0].plugin == "A"
    assert decision.node_name == ""


@pytest.mark.parametrize(
    ("broken", "raw", "normalized", "is_normalized"),
    [
        pytest.param(scores("B", [1, 101, 2]), [1, 101, 2], [1, 101, 2], True, id="out of range"),
        pytest.param(
            scores("B", [0, 51, 1], normalize_score=doubled),
            [0, 51, 1],
            [0, 102, 2],
            True,
            id="out of range after normalising",
        ),
        pytest.param(
            plugin("B", score_nodes=lambda *_: 101),
            [101] * 3,
            [101] * 3,
            True,
            id="one score for all out of range",
        ),
        pytest.param(
            scores("B", [1, 2, 3], normalize_score=_raise),
            [1, 2, 3],
            [1, 2, 3],
            False,
            id="normalising raises",
        ),
        pytest.param(scores_each("B", {"n1": 1.5}), None, None, None, id="scoring fails"),
    ],
)
def test_a_fault_keeps_the_feasible_nodes_and_the_scores_until_then(
    broken: Any, raw: Any, normalized: Any, is_normalized: Any
) -> None:
    decision = decide([scores("A", [7, 8, 9]), broken, scores("C", [1, 1, 1])], NODES)
    assert decision.outcome is Outcome.ERROR
    assert decision.feasible is not None and list(decision.feasible.names) == ["n1", "n2", "n3"]
    assert decision.totals is None
    assert decision.scores["A"].normalized.tolist() == [7, 8, 9]
    assert list(decision.scores) == (["A"] if raw is None else ["A", "B"])
    if raw is not None:
        found = decision.scores["B"]
        assert (found.raw.tolist(), found.normalized.tolist()) == (raw, normalized)
        assert found.is_normalized is is_normalized


def test_a_node_form_may_score_beyond_the_range_before_it_is_normalised() -> None:
    highest, lowest = 2**63 - 1, -(2**63)
    wide = scores_each(
        "A",
        {"n1": lowest, "n2": highest, "n3": 0},
        normalize_score=lambda state, pod, raw: (raw > 0) * np.int64(100),
    )
    decision = decide([wide], NODES)
    assert decision.scores["A"].raw.tolist() == [lowest, highest, 0]
    assert (decision.outcome, decision.node_name) == (Outcome.SCHEDULED, "n2")


def test_the_only_node_that_passes_is_not_scored() -> None:
    asked: list[int] = []

    def score_nodes(state: Any, pod: Any, nodes: Any) -> Any:
        asked.append(len(nodes))
        return nodes.pod_count

    scheduler = make_scheduler([refuse("n1", "n3"), plugin("A", score_nodes=score_nodes)], NODES)
    decision = scheduler.cycle.run_sync(make_pod())
    assert (decision.node_name, decision.scores, asked) == ("n2", {}, [])
