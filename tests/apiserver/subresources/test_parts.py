"""Binding, eviction, scale, tokens and logs of objects."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.apiserver.api_server import PODS, ApiServer, pod

MERGE = "application/merge-patch+json"
APPS = "/apis/apps/v1/namespaces/default"


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


async def budget(server: ApiServer, allowed: int) -> None:
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    made = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "p"}}},
    }
    await server.ask("POST", path, made)
    counts = {"currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
    status = {"observedGeneration": 1, "disruptionsAllowed": allowed, **counts}
    patch = json.dumps({"status": status}).encode()
    await server.send("PATCH", f"{path}/b/status", patch, content_type=MERGE)


EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}


@pytest.mark.parametrize(("allowed", "code"), [(0, 429), (1, 201)])
async def test_a_budget_decides_about_a_running_pod(allowed: int, code: int) -> None:
    server = ApiServer()
    await server.ask("POST", PODS, pod("p", nodeName="n"))
    running = b'{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'
    await server.send("PATCH", f"{PODS}/p/status", running, content_type=MERGE)
    await budget(server, allowed)
    response = await server.send("POST", f"{PODS}/p/eviction", EVICTION)
    assert response.code == code
    there = await server.ask("GET", f"{PODS}/p")
    assert ("deletionTimestamp" in there["metadata"]) is (code == 201)
    if code == 201:
        assert "DisruptionTarget" in [one["type"] for one in there["status"]["conditions"]]


async def test_a_pending_pod_goes_without_asking() -> None:
    server = ApiServer()
    await server.ask("POST", PODS, pod("p"))
    await budget(server, 0)
    assert (await server.send("POST", f"{PODS}/p/eviction", EVICTION)).code == 201
    assert (await server.send("GET", f"{PODS}/p")).code == 404


async def test_a_scale_is_read_and_written() -> None:
    server = ApiServer()
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    made = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template, "replicas": 2},
    }
    await server.ask("POST", f"{APPS}/deployments", made)
    path = f"{APPS}/deployments/d/scale"
    scale = await server.ask("GET", path)
    assert scale["spec"] == {"replicas": 2}
    assert scale["status"]["selector"] == "a=b"
    scaled = await server.ask("PUT", path, scale | {"spec": {"replicas": 5}})
    assert scaled["spec"] == {"replicas": 5}
    assert (await server.ask("GET", f"{APPS}/deployments/d"))["metadata"]["generation"] == 2
    stale = await server.send("PUT", path, scale)
    assert stale.code == 409
    negative = await server.send("PATCH", path, b'{"spec":{"replicas":-1}}', content_type=MERGE)
    assert negative.code == 422


async def test_a_log_says_that_the_container_is_simulated() -> None:
    server = ApiServer()
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    await server.ask("POST", "/api/v1/nodes", node)
    await server.ask("POST", PODS, pod("p", nodeName="n"))
    assert b"simulated" in (await server.send("GET", f"{PODS}/p/log")).body
    wrong = await server.send("GET", f"{PODS}/p/log?container=x")
    assert json.loads(wrong.body)["message"] == "container x is not valid for pod p"
    before = await server.send("GET", f"{PODS}/p/log?previous=true")
    assert before.code == 400
    text = 'previous terminated container "c" in pod "p" not found'
    assert json.loads(before.body)["message"] == text
    assert (await server.send("GET", f"{PODS}/p/log?sinceTime=now")).code == 400
    assert (await server.send("POST", f"{PODS}/p/exec")).code == 501
