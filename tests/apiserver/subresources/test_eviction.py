from __future__ import annotations

import json
from typing import Any

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


BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


async def _running(server: ApiServer, *conditions: dict[str, Any]) -> None:
    await server.ask("POST", PODS, pod("p", nodeName="n"))
    status = {"status": {"phase": "Running", "conditions": list(conditions)}}
    await server.send("PATCH", f"{PODS}/p/status", status, content_type=MERGE)


async def _status(server: ApiServer, **status: Any) -> None:
    await server.send("PATCH", f"{BUDGETS}/b/status", {"status": status}, content_type=MERGE)


async def _evict(server: ApiServer, **more: Any) -> tuple[int, dict[str, Any]]:
    response = await server.send("POST", f"{PODS}/p/eviction", EVICTION | more)
    return response.code, json.loads(response.body)


READY = {"type": "Ready", "status": "True"}


async def test_a_disruption_is_written_down() -> None:
    server = ApiServer()
    await _running(server, READY)
    await budget(server, 2)
    assert (await _evict(server))[0] == 201
    status = (await server.ask("GET", f"{BUDGETS}/b"))["status"]
    assert status["disruptionsAllowed"] == 1
    assert status["disruptedPods"] == {"p": "2026-01-01T00:00:00Z"}


async def test_a_dry_run_uses_no_disruption() -> None:
    server = ApiServer()
    await _running(server, READY)
    await budget(server, 1)
    assert (await _evict(server, deleteOptions={"dryRun": ["All"]}))[0] == 201
    assert (await server.ask("GET", f"{BUDGETS}/b"))["status"]["disruptionsAllowed"] == 1
    assert "deletionTimestamp" not in (await server.ask("GET", f"{PODS}/p"))["metadata"]


async def test_pods_that_are_not_ready() -> None:
    for policy, healthy, code in (
        ("AlwaysAllow", 0, 201),
        ("IfHealthyBudget", 1, 201),
        ("", 0, 429),
    ):
        server = ApiServer()
        await _running(server)
        await budget(server, 0)
        await _status(server, currentHealthy=healthy, desiredHealthy=1)
        if policy:
            spec = {"spec": {"unhealthyPodEvictionPolicy": policy}}
            await server.send("PATCH", f"{BUDGETS}/b", spec, content_type=MERGE)
            await _status(server, observedGeneration=2)
        assert (await _evict(server))[0] == code, policy


async def test_two_budgets_of_a_pod() -> None:
    server = ApiServer()
    await _running(server, READY)
    await budget(server, 1)
    other = await server.ask("GET", f"{BUDGETS}/b")
    other["metadata"] = {"name": "c"}
    await server.ask("POST", BUDGETS, other)
    code, found = await _evict(server)
    assert (code, "more than one PodDisruptionBudget" in found["message"]) == (500, True)


async def test_a_budget_that_is_not_counted_yet() -> None:
    server = ApiServer()
    await _running(server, READY)
    await budget(server, 1)
    await _status(server, observedGeneration=0)
    response = await server.send("POST", f"{PODS}/p/eviction", EVICTION)
    assert (response.code, response.headers["Retry-After"]) == (429, "10")


async def test_why_a_budget_refuses() -> None:
    async def why(**status: Any) -> str:
        server = ApiServer()
        await _running(server, READY)
        await budget(server, 0)
        await _status(server, **status)
        _, found = await _evict(server)
        return str(found["details"]["causes"][0]["message"])

    failed = {"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed"}
    failed |= {"message": "no scale", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    assert await why() == "The disruption budget b needs 1 healthy pods and has 1 currently"
    assert (await why(conditions=[failed])).endswith("because it failed sync: no scale")
    many = {"currentHealthy": 5}
    other = failed | {"reason": "InsufficientPods", "message": "few"}
    assert (await why(conditions=[other], **many)).endswith("currently (InsufficientPods): few")
    assert (await why(**many)).endswith("does not allow evicting pods currently")


async def test_another_name_in_the_body() -> None:
    server = ApiServer()
    await _running(server)
    code, found = await _evict(server, metadata={"name": "q"})
    assert (code, found["message"]) == (400, "name in URL does not match name in Eviction object")
