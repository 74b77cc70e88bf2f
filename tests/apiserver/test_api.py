"""Authentication and authorization of requests; and no request causes a 500."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mooring.apiserver.http import RequestUser
from mooring.cel.environment import Expression
from mooring.plugins.dynamic_resources.selectors import DeviceEnvironment
from tests.apiserver.api_server import MAPS, PODS, ApiServer, config_map, pod

JANE = RequestUser("jane")
RBAC = "/apis/rbac.authorization.k8s.io/v1"


async def grant(server: ApiServer, user: str, verbs: list[str], resources: list[str]) -> None:
    where = f"{RBAC}/namespaces/default"
    rules = [{"apiGroups": [""], "resources": resources, "verbs": verbs}]
    version = "rbac.authorization.k8s.io/v1"
    role = {"apiVersion": version, "kind": "Role", "metadata": {"name": user}, "rules": rules}
    assert (await server.send("POST", f"{where}/roles", role)).code == 201
    binding = {
        "apiVersion": version,
        "kind": "RoleBinding",
        "metadata": {"name": user},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": user},
        "subjects": [
            {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"},
            {"kind": "ServiceAccount", "name": user, "namespace": "default"},
        ],
    }
    assert (await server.send("POST", f"{where}/rolebindings", binding)).code == 201


async def test_nobody_gets_more_than_health_without_credentials() -> None:
    server = ApiServer()
    assert (await server.send("GET", "/readyz", user=None)).code == 200
    refused = await server.send("GET", PODS, user=None)
    assert refused.code == 403
    assert 'User "system:anonymous" cannot list' in json.loads(refused.body)["message"]
    wrong = await server.send("GET", PODS, user=None, authorization="Bearer nonsense")
    assert wrong.code == 401


async def test_a_role_gives_what_it_says_where_it_says() -> None:
    server = ApiServer()
    assert (await server.send("GET", PODS, user=JANE)).code == 403
    await grant(server, "jane", ["list"], ["pods"])
    assert (await server.send("GET", PODS, user=JANE)).code == 200
    assert (await server.send("GET", "/api/v1/pods", user=JANE)).code == 403
    assert (await server.send("GET", MAPS, user=JANE)).code == 403


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


async def test_only_those_who_may_act_for_others() -> None:
    server = ApiServer()
    acting = await server.send("GET", PODS, impersonate_user="jane")
    assert 'User "jane" cannot list' in json.loads(acting.body)["message"]
    refused = await server.send("GET", PODS, user=JANE, impersonate_user="admin")
    message = json.loads(refused.body)["message"]
    assert message.startswith('users "admin" is forbidden: User "jane" cannot impersonate')


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


async def test_a_custom_resource_is_served_as_soon_as_it_is_defined() -> None:
    server = ApiServer()
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }
    things = "/apis/example.com/v1/namespaces/default/things"
    assert (await server.send("GET", things)).code == 404
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert (await server.send("POST", path, definition)).code == 201
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}
    made = await server.ask("POST", things, thing | {"spec": {"size": 1, "odd": 2}})
    assert made["spec"] == {"size": 1}
    assert (await server.send("POST", things, thing | {"spec": {"size": "x"}})).code == 422
    await server.send("DELETE", f"{path}/things.example.com")
    assert (await server.send("GET", things)).code == 404
    assert server.store.count("example.com/things") == 0


_BYTES = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=80).map(str.encode),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(
                    ["metadata", "spec", "status", "name", "containers", "kind", "labels"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ).map(lambda value: json.dumps(value).encode()),
    st.binary(max_size=60).map(lambda tail: b"k8s\0" + tail),
)
_TYPES = st.sampled_from(
    [
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
        "",
    ]
)
_PATHS = st.sampled_from(
    [
        PODS,
        f"{PODS}/p",
        f"{PODS}/p/status",
        f"{PODS}/p/binding",
        f"{PODS}/p/eviction",
        f"{MAPS}/a",
        "/apis/apps/v1/namespaces/default/deployments",
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        "/api/v1/namespaces/default/serviceaccounts/default/token",
    ]
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(
    method=st.sampled_from(["POST", "PUT", "PATCH", "DELETE"]),
    path=_PATHS,
    body=_BYTES,
    kind=_TYPES,
)
async def test_nonsense_is_refused_and_never_breaks_the_server(
    method: str, path: str, body: bytes, kind: str
) -> None:
    server = _shared()
    for made in (pod("p"), config_map("a")):
        await server.send("POST", PODS if made["kind"] == "Pod" else MAPS, made)
    query = "?fieldManager=x" if kind == "application/apply-patch+yaml" else ""
    response = await server.send(method, path + query, body, content_type=kind)
    status = json.loads(response.body)
    # Only a bug in the server gives InternalError; a plain Go error has no reason.
    assert status.get("reason") != "InternalError", status


_SERVERS: list[ApiServer] = []


def _shared() -> ApiServer:
    if not _SERVERS:
        _SERVERS.append(ApiServer())
    return _SERVERS[0]


async def test_other_requests_are_answered_while_long_selectors_are_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At most one selector is compiled between two requests, even if several claims have many."""
    happened: list[str] = []
    real = DeviceEnvironment.compile

    def compile_noted(environment: DeviceEnvironment, source: str) -> Expression:
        happened.append("compiled")
        return real(environment, source)

    monkeypatch.setattr(DeviceEnvironment, "compile", compile_noted)
    server = ApiServer()

    def create(name: str) -> Coroutine[Any, Any, Any]:
        selectors = [
            {"cel": {"expression": f'device.driver != "{name}-{i}"' + " " * 9_000}}
            for i in range(32)
        ]
        exactly = {"deviceClassName": "c", "allocationMode": "All", "selectors": selectors}
        claim = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
        }
        path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
        return server.ask("POST", path, claim)

    claims = [asyncio.ensure_future(create(name)) for name in ("one", "two")]
    while not all(claim.done() for claim in claims):
        await server.send("GET", "/livez")
        happened.append("answered")
        await asyncio.sleep(0)
    assert [claim.result()["metadata"]["name"] for claim in claims] == ["one", "two"]
    assert happened.count("compiled") == 64
    assert ("compiled", "compiled") not in itertools.pairwise(happened)
