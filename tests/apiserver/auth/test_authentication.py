from __future__ import annotations

import json

from mooring.apiserver.http import RequestUser
from tests.apiserver.api_server import PODS, ApiServer

JANE = RequestUser("jane")


async def test_nobody_gets_more_than_health_without_credentials() -> None:
    server = ApiServer()
    assert (await server.send("GET", "/readyz", user=None)).code == 200
    refused = await server.send("GET", PODS, user=None)
    assert refused.code == 403
    assert 'User "system:anonymous" cannot list' in json.loads(refused.body)["message"]
    wrong = await server.send("GET", PODS, user=None, authorization="Bearer nonsense")
    assert wrong.code == 401


async def test_only_those_who_may_act_for_others() -> None:
    server = ApiServer()
    acting = await server.send("GET", PODS, impersonate_user="jane")
    assert 'User "jane" cannot list' in json.loads(acting.body)["message"]
    refused = await server.send("GET", PODS, user=JANE, impersonate_user="admin")
    message = json.loads(refused.body)["message"]
    assert message.startswith('users "admin" is forbidden: User "jane" cannot impersonate')
