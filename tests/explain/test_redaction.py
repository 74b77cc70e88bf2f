"""Explanations without names that a reader may not see."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mooring.explain.redaction import hide_nodes, hide_pods, mentioned_pods

DATA: dict[str, Any] = {
    "namespace": "shop",
    "name": "web",
    "profile": "default-scheduler",
    "outcome": "unschedulable",
    "message": "0/2 nodes are available: 1 Node: node-1, 1 Node: node-1.example.com.",
    "nodes": ["node-1", "node-1.example.com"],
    "chosenNode": "",
    "bestNodes": ["node-1"],
    "statuses": [{"plugin": "NodePorts", "code": "Unschedulable", "reasons": ["on node-1 alone"]}],
    "whyNot": [
        {
            "nodes": 1,
            "example": {
                "node": "node-1",
                "text": "host port 80/TCP is taken by other/db-0, shop/cart-1; "
                "kubernetes.io/hostname is node-1",
            },
        }
    ],
    "nearest": [{"nodes": 1, "example": "node-1.example.com", "missing": {"memory": 1}}],
    "postFilter": {"nominatedNode": "gone-node", "victims": ["other/db-0", "shop/cart-1"]},
    "errors": [{"plugin": "Mine", "message": "failed on node-1", "traceback": "in other/db-0"}],
}


def flat(data: Any) -> str:
    if isinstance(data, dict):
        return " ".join(map(flat, data.values()))
    return " ".join(map(flat, data)) if isinstance(data, list) else str(data)


def test_nodes_are_numbered_wherever_they_are_named() -> None:
    shown = hide_nodes(DATA)
    assert shown["nodes"] == ["node 1", "node 2"]
    assert shown["message"] == "0/2 nodes are available: 1 Node: node 1, 1 Node: node 2."
    assert shown["statuses"][0]["reasons"] == ["on node 1 alone"]
    assert shown["whyNot"][0]["example"]["node"] == "node 1"
    assert shown["nearest"][0]["example"] == "node 2"
    assert shown["postFilter"]["nominatedNode"] == "node 3"
    assert shown["profile"] == "default-scheduler"
    assert "node-1" not in flat(shown) and "gone" not in flat(shown)
    assert DATA["nodes"][0] == "node-1", "the data itself is left as it is"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("on old-1, ok", "on node 3, ok"),
        ("old-1.", "node 3."),
        ("x-old-1", "x-node 3"),
        ("old-12", "old-12"),
        ("old-1.example", "node 3.example"),
        ("host=old-1;", "host=node 3;"),
        ("a--b old-1-", "a--b node 3-"),
    ],
)
def test_names_are_found_within_words(text: str, shown: str) -> None:
    data = {"nodes": ["a", "b"], "message": text.replace("a--b", "c--d")}
    assert hide_nodes(data, ["old-1"])["message"] == shown.replace("a--b", "c--d")


@given(
    st.lists(st.from_regex(r"[a-z0-9]([-.a-z0-9]{0,8}[a-z0-9])?", fullmatch=True), min_size=1),
    st.text(alphabet=" ,;:=()'\"/", min_size=1),
    st.data(),
)
def test_no_name_of_a_node_is_left(names: list[str], between: str, draw: st.DataObject) -> None:
    # Names that are words of the text as well.
    assume(not {"node", "s", "cpu"} & set(names))
    words = draw.draw(st.lists(st.sampled_from([*names, "node(s)", "Insufficient", "cpu"])))
    shown = hide_nodes({"nodes": names, "message": between.join(words)})["message"]
    expected = {name: f"node {i}" for i, name in enumerate(dict.fromkeys(names), 1)}
    assert shown == between.join(expected.get(word, word) for word in words)


def test_every_pod_is_found_that_is_mentioned() -> None:
    assert mentioned_pods(DATA) == {"other/db-0", "shop/cart-1"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0/5000 nodes are available", set()),
        ("topology.kubernetes.io/zone is a", set()),
        ("used by shop/db-0.", {"shop/db-0"}),
        ("pod/shop/db-0", {"pod/shop", "shop/db-0"}),
        ("80/TCP", set()),
        ("(shop/db.0)", {"shop/db.0"}),
    ],
)
def test_what_looks_like_a_pod(text: str, found: set[str]) -> None:
    assert mentioned_pods({"message": text}) == found


def test_pods_are_hidden_wherever_they_are_named() -> None:
    shown = hide_pods(DATA, {"other/db-0"})
    assert shown["postFilter"]["victims"] == ["another pod", "shop/cart-1"]
    assert shown["whyNot"][0]["example"]["text"].startswith(
        "host port 80/TCP is taken by another pod, shop/cart-1;"
    )
    assert shown["errors"][0]["traceback"] == ""
    assert "db-0" not in flat(shown)
    assert hide_pods({"message": "pod/other/db-0: busy"}, {"other/db-0"}) == {
        "message": "pod/another pod: busy"
    }


def test_a_traceback_is_left_out_whoever_may_be_named() -> None:
    assert hide_pods(DATA, ())["errors"][0]["traceback"] == ""
    assert hide_nodes(DATA)["errors"][0]["traceback"] == ""


def test_names_of_nodes_that_the_reader_wrote_stay() -> None:
    data = {"message": 'claim "old-1" not found, old-2 full', "node": "old-3", "keys": ["old-1"]}
    shown = hide_nodes(data, ["old-1", "old-2", "old-3"], 'claimName: "old-1"')
    assert shown["message"] == 'claim "old-1" not found, node 2 full'
    assert (shown["node"], shown["keys"]) == ("node 1", ["old-1"])
