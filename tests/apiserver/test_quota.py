from __future__ import annotations

from typing import Any

from tests.apiserver.api_server import PODS, ApiServer, make, pod, refusal

QUOTAS = "/api/v1/namespaces/default/resourcequotas"


async def quota(server: ApiServer, name: str, spec: dict[str, Any], used: dict[str, str]) -> None:
    """Create a quota with the status that a controller would give it."""
    await make(server, QUOTAS, "ResourceQuota", "v1", metadata={"name": name}, spec=spec)
    status = {"status": {"hard": spec["hard"], "used": used}}
    path, media = f"{QUOTAS}/{name}/status", "application/merge-patch+json"
    response = await server.send("PATCH", path, status, content_type=media)
    assert response.code == 200, response.body


async def test_a_quota_ends() -> None:
    server = ApiServer()
    await quota(server, "q", {"hard": {"pods": "1"}}, {"pods": "0"})
    await server.ask("POST", PODS, pod("a"))
    assert (await server.ask("GET", f"{QUOTAS}/q"))["status"]["used"] == {"pods": "1"}
    assert "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1" in await refusal(
        server, pod("b")
    )


async def test_a_dry_run_costs_nothing() -> None:
    server = ApiServer()
    await quota(server, "q", {"hard": {"pods": "1"}}, {"pods": "0"})
    await server.ask("POST", f"{PODS}?dryRun=All", pod("a"))
    assert (await server.ask("GET", f"{QUOTAS}/q"))["status"]["used"] == {"pods": "0"}


async def test_a_quota_without_a_status_does_not_bind() -> None:
    server = ApiServer()
    spec = {"hard": {"pods": "0"}}
    await make(server, QUOTAS, "ResourceQuota", "v1", metadata={"name": "q"}, spec=spec)
    assert (await server.send("POST", PODS, pod("a"))).code == 201


async def test_a_quota_of_cpu_wants_to_know_it() -> None:
    server = ApiServer()
    await quota(server, "q", {"hard": {"limits.cpu": "1"}}, {"limits.cpu": "0"})
    assert "failed quota: q: must specify limits.cpu for: c" in await refusal(server, pod("a"))


async def test_a_quota_of_the_modest_counts_them_alone() -> None:
    server = ApiServer()
    await quota(server, "q", {"hard": {"pods": "0"}, "scopes": ["BestEffort"]}, {"pods": "0"})
    resources = {"requests": {"cpu": "1"}}
    container = {"name": "c", "image": "i", "resources": resources}
    assert (await server.send("POST", PODS, pod("a", containers=[container]))).code == 201
    assert "exceeded quota: q" in await refusal(server, pod("b"))
