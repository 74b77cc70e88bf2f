from __future__ import annotations

import json

import pytest

from tests.apiserver.api_server import PODS, ApiServer, pod

MERGE = "application/merge-patch+json"


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
