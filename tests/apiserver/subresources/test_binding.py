from __future__ import annotations

import json
from typing import Any

import pytest

from tests.apiserver.api_server import PODS, ApiServer, pod

MERGE = "application/merge-patch+json"


def binding(name: str, node: str, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, **metadata},
        "target": {"kind": "Node", "name": node},
    }


async def test_a_binding_places_a_pod_and_tells_so() -> None:
    server = ApiServer()
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "labels": {"topology.kubernetes.io/zone": "z"}},
    }
    await server.ask("POST", "/api/v1/nodes", node)
    await server.ask("POST", PODS, pod("p"))
    nominated = b'{"status":{"nominatedNodeName":"m"}}'
    await server.send("PATCH", f"{PODS}/p/status", nominated, content_type=MERGE)
    response = await server.send(
        "POST", f"{PODS}/p/binding", binding("p", "n", annotations={"a": "b"})
    )
    assert response.code == 201
    bound = await server.ask("GET", f"{PODS}/p")
    assert bound["spec"]["nodeName"] == "n"
    assert "nominatedNodeName" not in bound["status"]
    assert bound["metadata"]["annotations"] == {"a": "b"}
    assert bound["metadata"]["labels"]["topology.kubernetes.io/zone"] == "z"
    assert bound["metadata"]["generation"] == 1
    assert [(c["type"], c["status"]) for c in bound["status"]["conditions"]] == [
        ("PodScheduled", "True")
    ]


@pytest.mark.parametrize(
    ("spec", "body", "code", "text"),
    [
        pytest.param({"nodeName": "m"}, binding("p", "n"), 409, "already assigned", id="bound"),
        pytest.param(
            {"schedulingGates": [{"name": "example.com/g"}]},
            binding("p", "n"),
            409,
            "non-empty .spec.schedulingGates",
            id="gated",
        ),
        pytest.param({}, binding("q", "n"), 400, "name in URL does not match", id="another name"),
        pytest.param({}, binding("p", ""), 400, "target.name: Required value", id="no node"),
        pytest.param(
            {}, binding("p", "N_1"), 400, 'target.name: Invalid value: "N_1"', id="no node's name"
        ),
        pytest.param({}, binding("p", "n", uid="x"), 409, "UID in precondition", id="another pod"),
    ],
)
async def test_a_binding_that_cannot_be_is_refused(
    spec: dict[str, Any], body: dict[str, Any], code: int, text: str
) -> None:
    server = ApiServer()
    await server.ask("POST", PODS, pod("p", **spec))
    response = await server.send("POST", f"{PODS}/p/binding", body)
    assert response.code == code
    assert text in json.loads(response.body)["message"]
