from __future__ import annotations

import pytest

from mooring.contrib.samples import BlinkingLightScorer
from mooring.contrib.samples.blinking_light_scorer import ANNOTATION, count_lights
from mooring.testing import make_node, make_pod, run_cycle, run_score
from tests.contrib.samples.example import Example


def test_the_brightest_node_wins() -> None:
    example = Example("blinking-lights")
    decision = run_cycle(
        pod=example.pod, nodes=example.nodes, plugins=[BlinkingLightScorer], config=example.config
    )
    assert decision.node_name == "bright"
    scores = decision.scores["BlinkingLightScorer"]
    assert (scores.normalized.tolist(), scores.weight) == ([0, 40, 100], 5)


def test_where_no_light_blinks_all_score_nothing() -> None:
    nodes = [make_node("a"), make_node("b", annotations={ANNOTATION: "0"})]
    result = run_score(BlinkingLightScorer, pod=make_pod(), nodes=nodes)
    assert result.normalized == {"a": 0, "b": 0}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("3", 3),
        ("", 0),
        ("many", 0),
        ("-3", 0),
        ("1.5", 0),
        ("²", 0),
        ("9" * 9, 999_999_999),
        ("9" * 5000, 10**9),
    ],
)
def test_counts(text: str, count: int) -> None:
    assert count_lights({ANNOTATION: text}) == count
