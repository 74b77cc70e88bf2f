"""Pods and nodes as Go writes them; the files in data/ were made with Go's encoding/json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mooring.api import Node, Pod, decode_as
from mooring.extenders.extender_documents import node_json, node_list_json, pod_json
from mooring.framework.node_info import NodeInfo

DATA = Path(__file__).parent / "data"


@pytest.mark.parametrize(
    ("name", "kind", "write"),
    [
        pytest.param("pod", Pod, pod_json, id="a pod"),
        pytest.param("node", Node, node_json, id="a node"),
        pytest.param("empty_pod", Pod, pod_json, id="an empty pod"),
        pytest.param("empty_node", Node, node_json, id="an empty node"),
    ],
)
def test_objects_come_out_as_go_writes_them(name: str, kind: Any, write: Any) -> None:
    made_by_go = json.loads((DATA / f"{name}.json").read_text())
    assert json.loads(write(decode_as(made_by_go, kind))) == made_by_go


def test_writing_leaves_the_object_as_it_is() -> None:
    node = decode_as('{"status": {"daemonEndpoints": {"other": 1}}}', Node)
    node_json(node)
    assert node.status.daemon_endpoints == {"other": 1}


def test_a_list_holds_the_nodes_in_order() -> None:
    nodes = [decode_as({"metadata": {"name": name}}, Node) for name in ("b", "a")]
    listed = json.loads(node_list_json([NodeInfo(node) for node in nodes]))
    assert [item["metadata"]["name"] for item in listed["items"]] == ["b", "a"]
    assert listed["metadata"] == {}
