"""The lifecycle of namespaces."""

from __future__ import annotations

import asyncio

from mooring.apiserver.namespaces import NamespaceLifecycle
from tests.apiserver.api_server import ApiServer, config_map
from tests.support.waiting import PATIENCE

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}


async def test_a_namespace_has_an_account_and_ends_with_all_it_holds() -> None:
    server = ApiServer()
    lifecycle = NamespaceLifecycle(server.cluster)
    lifecycle.start()
    lifecycle.publish(b"certificate")
    await server.ask("POST", "/api/v1/namespaces", NAMESPACE)
    maps = "/api/v1/namespaces/n/configmaps"
    assert (await server.send("GET", "/api/v1/namespaces/n/serviceaccounts/default")).code == 200
    trust = await server.ask("GET", f"{maps}/kube-root-ca.crt")
    assert trust["data"] == {"ca.crt": "certificate"}
    await server.ask("POST", maps, config_map("a"))
    ended = await server.ask("DELETE", "/api/v1/namespaces/n")
    assert ended["status"]["phase"] == "Terminating"
    refused = await server.send("POST", maps, config_map("late"))
    assert refused.code == 403
    async with asyncio.timeout(PATIENCE):
        while (await server.send("GET", "/api/v1/namespaces/n")).code != 404:
            await asyncio.sleep(0)
    assert server.store.get("/configmaps", "n/a") is None
    await lifecycle.stop()
