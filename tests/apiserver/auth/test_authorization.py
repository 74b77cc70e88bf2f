from __future__ import annotations

from mooring.apiserver.http import RequestUser
from tests.apiserver.api_server import MAPS, PODS, ApiServer, grant

JANE = RequestUser("jane")


async def test_a_role_gives_what_it_says_where_it_says() -> None:
    server = ApiServer()
    assert (await server.send("GET", PODS, user=JANE)).code == 403
    await grant(server, "jane", ["list"], ["pods"])
    assert (await server.send("GET", PODS, user=JANE)).code == 200
    assert (await server.send("GET", "/api/v1/pods", user=JANE)).code == 403
    assert (await server.send("GET", MAPS, user=JANE)).code == 403
