"""Explanations of the local cluster's scheduler, and who may read them."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from mooring.apiserver.http import RequestUser
from mooring.errors import ApiError
from mooring.explain import questions
from mooring.serve.explain_paths import NO_SCHEDULER, OFF
from tests.apiserver.api_server import ApiServer
from tests.local.clusters import Reader, plan, running
from tests.serve.explaining import QUEUE as QUEUE_PATH
from tests.support import explain_rights as table
from tests.support.explain_rights import DECISIONS, HOLDER, POD, QUEUE, check_sight, pod_path

_PLACES = {
    "Node": "/api/v1/nodes",
    "Pod": "/api/v1/namespaces/{}/pods",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
}


class Site:
    """A local cluster with the scene and the users of the table."""

    def __init__(self, cluster: Reader) -> None:
        self.cluster = cluster
        self.session = aiohttp.ClientSession()
        self.tokens: dict[str, str] = {}

    async def make(self) -> None:
        await self.cluster.post("/api/v1/namespaces", {"metadata": {"name": "other"}})
        for manifest in (*table.rights("default"), *table.scene("other")):
            namespace = manifest["metadata"].get("namespace", "default")
            await self.cluster.post(_PLACES[manifest["kind"]].format(namespace), manifest)
        for user in (*table.USERS, *table.NAMESPACED):
            path = f"/api/v1/namespaces/default/serviceaccounts/{user}/token"
            answer = await self.cluster.post(path, {"spec": {}})
            self.tokens[user] = answer["status"]["token"]
        await self.cluster.until(
            f"/api/v1/namespaces/default/pods/{POD}",
            lambda found: found.get("status", {}).get("conditions"),
        )

    async def ask(self, path: str, user: str = "", method: str = "GET") -> tuple[int, str]:
        token = self.tokens.get(user)
        async with self.session.request(
            method,
            self.cluster.cluster.server.url + path,
            headers={"Authorization": f"Bearer {token}"} if token else {},
            ssl=_trusting(),
        ) as response:
            if response.content_type == "text/event-stream":
                return response.status, (await response.content.readuntil(b"\n\n")).decode()
            return response.status, await response.text()


def _trusting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@pytest.fixture
async def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    monkeypatch.setattr(questions, "QUESTIONS", 1000)
    namespace: dict[str, Any] = {}
    exec(table.PLUGIN, namespace)
    async with running(tmp_path, plan=plan(plugins=[namespace["NamesNodes"]])) as cluster:
        made = Site(cluster)
        try:
            await made.make()
            yield made
        finally:
            await made.session.close()


async def test_users_and_paths(site: Site) -> None:
    web, holder = pod_path("default", POD), pod_path("other", HOLDER)
    for user, (_, sight) in {**table.USERS, **table.NAMESPACED}.items():
        status, text = await site.ask(web, user)
        check_sight(sight, status, text, f"other/{HOLDER}")
        assert (user, (await site.ask(holder, user))[0]) == (user, sight.other)
        assert (user, (await site.ask(QUEUE, user))[0]) == (user, sight.everything)
        streamed = 403 if user == "queue-only" else sight.everything
        assert (user, (await site.ask(DECISIONS, user))[0]) == (user, streamed)
        assert (await site.ask(web, user, "POST"))[0] == 405
    status, text = await site.ask(web)
    assert (status, json.loads(text)["reason"]) == (403, "Forbidden")


async def test_places_in_the_queue_and_the_decisions(site: Site) -> None:
    found = json.loads((await site.ask(QUEUE, "auditor"))[1])
    assert [(item["name"], item["place"]) for item in found["items"]] == [(POD, "unschedulable")]
    assert (await site.ask("/explain/v1/nothing", "auditor"))[0] == 404
    status, text = await site.ask(DECISIONS, "auditor")
    assert (status, text) == (200, ":\n\n")


async def test_records_outlive_the_scheduler_that_made_them(site: Site) -> None:
    web = pod_path("default", POD)
    before = json.loads((await site.ask(web, "auditor"))[1])["record"]
    await site.cluster.cluster.replace_scheduler(plan())
    # The next scheduler has a smaller set of plugins, and places the pod.
    found = await site.cluster.until(web, lambda found: found["currentNode"])
    assert found["earlierAttempts"][0]["uid"] == before["uid"] == found["record"]["uid"]
    assert found["record"]["sequence"] > before["sequence"]


async def test_more_questions_than_are_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "QUESTIONS", 1)
    monkeypatch.setattr(questions, "SECONDS", 1e9)
    async with running(tmp_path) as cluster:
        assert (await cluster.get(QUEUE_PATH))["items"] == []
        with pytest.raises(ApiError) as refused:
            await cluster.client.request("GET", QUEUE_PATH, retries=0)
        assert (refused.value.status, refused.value.reason) == (429, "TooManyRequests")
        assert refused.value.retry_after is not None


async def test_without_a_scheduler_or_without_memory_there_is_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, explain_memory=0) as cluster:
        with pytest.raises(ApiError) as refused:
            await cluster.get(QUEUE_PATH)
        assert (refused.value.status, refused.value.message) == (404, OFF)
    server = ApiServer()
    found = await server.ask("GET", QUEUE_PATH)
    assert (found["code"], found["message"]) == (404, NO_SCHEDULER)
    found = await server.ask("GET", QUEUE_PATH, user=RequestUser("jane"))
    assert (found["code"], found["reason"]) == (403, "Forbidden")
