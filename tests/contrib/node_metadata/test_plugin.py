"""NodeMetadata scores nodes by a number or a time in a label or annotation."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.contrib.node_metadata import NodeMetadata
from mooring.testing import check_plugin, make_node, make_pod, run_score

NUMBER = {
    "metadataKey": "price",
    "metadataSource": "Label",
    "metadataType": "Number",
    "scoringStrategy": "Lowest",
}
TIME = {
    "metadataKey": "built",
    "metadataSource": "Annotation",
    "metadataType": "Timestamp",
    "scoringStrategy": "Newest",
}
NODES = [
    make_node("cheap", labels={"price": "2.9"}, annotations={"built": "2026-01-03T00:00:00Z"}),
    make_node("middle", labels={"price": "4"}, annotations={"built": "2026-01-02T00:00:00Z"}),
    make_node("dear", labels={"price": "6"}, annotations={"built": "2026-01-01T00:00:00Z"}),
    make_node("odd", labels={"price": "much"}, annotations={"built": "yesterday"}),
    make_node("none"),
]


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        pytest.param(NUMBER, [100, 50, 1, 0, 0], id="the lowest number is best"),
        pytest.param(
            NUMBER | {"scoringStrategy": "Highest"}, [1, 50, 100, 0, 0], id="the highest is best"
        ),
        pytest.param(TIME, [100, 50, 1, 0, 0], id="the newest time is best"),
        pytest.param(TIME | {"scoringStrategy": "Oldest"}, [1, 50, 100, 0, 0], id="the oldest"),
        pytest.param(NUMBER | {"metadataKey": "other"}, [0] * 5, id="no node has a value"),
    ],
)
def test_scores(args: dict[str, Any], wanted: list[int]) -> None:
    result = run_score(NodeMetadata, pod=make_pod("p"), nodes=NODES, args=args)
    assert list(result.normalized.values()) == wanted


def test_equal_values_score_above_nodes_without_one() -> None:
    nodes = [NODES[0], make_node("same", labels={"price": "2"}), NODES[4]]
    result = run_score(NodeMetadata, pod=make_pod("p"), nodes=nodes, args=NUMBER)
    assert list(result.normalized.values()) == [1, 1, 0]


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({}, "metadataKey must be given"),
        (NUMBER | {"scoringStrategy": "Newest"}, 'must be "Highest" or "Lowest"'),
        (NUMBER | {"metadataSource": "Spec"}, "must be one of"),
        (TIME | {"timestampFormat": "2006 2006"}, "is no layout"),
        (NUMBER | {"key": "x"}, 'unknown field "key"'),
    ],
    ids=["missing", "strategy", "source", "format", "unknown"],
)
def test_bad_arguments(args: dict[str, Any], problem: str) -> None:
    with pytest.raises(Exception, match=problem):
        run_score(NodeMetadata, pod=make_pod("p"), nodes=NODES, args=args)


@pytest.mark.parametrize("args", [NUMBER, TIME], ids=["numbers", "times"])
def test_it_keeps_the_contract(args: dict[str, Any]) -> None:
    assert check_plugin(NodeMetadata, args=args, nodes=NODES, rounds=5).scored
