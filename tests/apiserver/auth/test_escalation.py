from __future__ import annotations

from mooring.apiserver.http import RequestUser
from tests.apiserver.api_server import (
    RBAC,
    ApiServer,
    grant,
)

JANE = RequestUser("jane")


async def test_nobody_grants_what_they_do_not_hold() -> None:
    server = ApiServer()
    await grant(server, "jane", ["create"], ["pods"])
    rules = [
        {
            "apiGroups": ["rbac.authorization.k8s.io"],
            "resources": ["roles"],
            "verbs": ["create"],
        }
    ]
    version = "rbac.authorization.k8s.io/v1"
    role = {"apiVersion": version, "kind": "Role", "metadata": {"name": "jane"}, "rules": rules}
    await server.send("PUT", f"{RBAC}/namespaces/default/roles/jane", role)
    more = {
        "apiVersion": version,
        "kind": "Role",
        "metadata": {"name": "more"},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}],
    }
    response = await server.send("POST", f"{RBAC}/namespaces/default/roles", more, user=JANE)
    assert response.code == 403
    assert (
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}'
        in response.body.decode().replace('\\"', '"')
    )
