from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.auth.escalation import AGGREGATION
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


HELD = {"apiGroups": ["", "rbac.authorization.k8s.io"], "resources": ["*"], "verbs": ["create"]}
LOGS = {"apiGroups": [""], "resources": ["*/log"], "verbs": ["get", "list"]}
ONE = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["s"]}
PATHS = {"nonResourceURLs": ["/metrics/*"], "verbs": ["get"]}


async def _jane(server: ApiServer) -> None:
    version = "rbac.authorization.k8s.io/v1"
    role = {"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": "held"}}
    role |= {"rules": [HELD, LOGS, ONE, PATHS]}
    assert (await server.send("POST", f"{RBAC}/clusterroles", role)).code == 201
    binding = {
        "apiVersion": version,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "jane"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "held"},
        "subjects": [
            {"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"},
        ],
    }
    assert (await server.send("POST", f"{RBAC}/clusterrolebindings", binding)).code == 201


GRANTS: dict[str, tuple[dict[str, Any], str]] = {
    "what is held": ({"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}, ""),
    "a verb that is not held": (
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "get", "list"]},
        '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
    ),
    "a group that is not held": (
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["create"]},
        '{APIGroups:["apps"], Resources:["deployments"], Verbs:["create"]}',
    ),
    "a subresource of any resource": (
        {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
        "",
    ),
    "one object that is held": (ONE, ""),
    "all objects instead of one": (
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]},
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
    ),
    "another object": (
        ONE | {"resourceNames": ["s", "t"]},
        '{APIGroups:[""], Resources:["secrets"], ResourceNames:["t"], Verbs:["get"]}',
    ),
    "a path that is held": ({"nonResourceURLs": ["/metrics/a"], "verbs": ["get"]}, ""),
    "a path that is not held": (
        {"nonResourceURLs": ["/logs"], "verbs": ["get"]},
        '{NonResourceURLs:["/logs"], Verbs:["get"]}',
    ),
}


@pytest.mark.parametrize(("rule", "missing"), GRANTS.values(), ids=GRANTS)
async def test_roles_grant_what_their_writer_holds(rule: dict[str, Any], missing: str) -> None:
    server = ApiServer()
    await _jane(server)
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "new"},
        "rules": [rule],
    }
    response = await server.send("POST", f"{RBAC}/clusterroles", role, user=JANE)
    assert response.code == (403 if missing else 201)
    if missing:
        message = response.body.decode().replace('\\"', '"')
        assert f"not currently held:\\n{missing}" in message


def _binding(role: str) -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "new"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "User", "name": "joe", "apiGroup": "rbac.authorization.k8s.io"}],
    }


@pytest.mark.parametrize(
    ("role", "code"),
    [("held", 201), ("cluster-admin", 403), ("none", 404)],
    ids=["a role that is held", "a role of more rights", "a role that does not exist"],
)
async def test_bindings_grant_what_their_writer_holds(role: str, code: int) -> None:
    server = ApiServer()
    await _jane(server)
    path = f"{RBAC}/clusterrolebindings"
    assert (await server.send("POST", path, _binding(role), user=JANE)).code == code


@pytest.mark.parametrize("verb", ["bind", "escalate"])
async def test_those_who_may_grant_anything(verb: str) -> None:
    server = ApiServer()
    await _jane(server)
    role = await server.ask("GET", f"{RBAC}/clusterroles/held")
    role["rules"].append(
        {
            "apiGroups": ["rbac.authorization.k8s.io"],
            "resources": ["clusterroles"],
            "verbs": [verb],
        }
    )
    assert (await server.send("PUT", f"{RBAC}/clusterroles/held", role)).code == 200
    path = f"{RBAC}/clusterrolebindings"
    bound = await server.send("POST", path, _binding("cluster-admin"), user=JANE)
    assert bound.code == (201 if verb == "bind" else 403)
    more = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "more"},
        "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
    }
    made = await server.send("POST", f"{RBAC}/clusterroles", more, user=JANE)
    assert made.code == (201 if verb == "escalate" else 403)


async def test_a_binding_is_checked_unless_only_collection_fields_change() -> None:
    server = ApiServer()
    await _jane(server)
    path = f"{RBAC}/clusterrolebindings"
    made = await server.ask("POST", path, _binding("cluster-admin"))
    made["metadata"]["finalizers"] = ["example.com/f"]
    update = {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["*"], "verbs": ["update"]}
    role = await server.ask("GET", f"{RBAC}/clusterroles/held")
    role["rules"].append(update)
    await server.send("PUT", f"{RBAC}/clusterroles/held", role)
    response = await server.send("PUT", f"{path}/new", made, user=JANE)
    assert response.code == 200
    made["metadata"].pop("resourceVersion")
    labelled = {**made, "metadata": {**made["metadata"], "labels": {"a": "b"}}}
    assert (await server.send("PUT", f"{path}/new", labelled, user=JANE)).code == 403
    made["subjects"][0]["name"] = "jane"
    assert (await server.send("PUT", f"{path}/new", made, user=JANE)).code == 403


async def test_an_aggregation_rule_needs_all_rights() -> None:
    server = ApiServer()
    await _jane(server)
    gathers = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "new"},
        "aggregationRule": gathers,
    }
    refused = await server.ask("POST", f"{RBAC}/clusterroles", role, user=JANE)
    assert refused["message"].endswith(AGGREGATION)
