from __future__ import annotations

from tests.apiserver.api_server import PODS, ApiServer, grant


async def test_a_token_stands_for_its_account_while_that_is_there() -> None:
    server = ApiServer()
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
    await server.ask("POST", accounts, account)
    await grant(server, "robot", ["list"], ["pods"])
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = (await server.ask("POST", f"{accounts}/robot/token", asked))["status"]["token"]
    bearer = f"Bearer {token}"
    assert (await server.send("GET", PODS, user=None, authorization=bearer)).code == 200
    changed = f"Bearer {token[:-2]}AA"
    assert (await server.send("GET", PODS, user=None, authorization=changed)).code == 401
    await server.send("DELETE", f"{accounts}/robot")
    assert (await server.send("GET", PODS, user=None, authorization=bearer)).code == 401
