from __future__ import annotations

import json
from typing import Any

import pytest

from mooring.apiserver.http import RequestUser
from tests.apiserver.api_server import ApiServer, grant

AUTHORIZATION = "/apis/authorization.k8s.io/v1"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"
JANE = RequestUser("jane", ("dev",), "u-1", {"team": ("a", "b")})


async def review(
    server: ApiServer, kind: str, spec: dict[str, Any], where: str = AUTHORIZATION, **more: Any
) -> dict[str, Any]:
    """Return the response to a review."""
    version = where.removeprefix("/apis/")
    if "/namespaces/" in version:
        version = version.partition("/namespaces/")[0]
    body = {"apiVersion": version, "kind": kind, "spec": spec}
    response = await server.send("POST", f"{where}/{kind.lower()}s", body, **more)
    return {"code": response.code, **json.loads(response.body)}


ASKED = {"verb": "list", "resource": "pods", "namespace": "default"}
ACCESS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a user who may": ({"user": "jane", "resourceAttributes": ASKED}, {"allowed": True}),
    "a user who may not": ({"user": "joe", "resourceAttributes": ASKED}, {"allowed": False}),
    "another namespace": (
        {"user": "jane", "resourceAttributes": ASKED | {"namespace": "kube-system"}},
        {"allowed": False},
    ),
    "an administrator": (
        {"groups": ["system:masters"], "resourceAttributes": ASKED},
        {"allowed": True},
    ),
    "a path that all may read": (
        {
            "groups": ["system:authenticated"],
            "nonResourceAttributes": {"verb": "get", "path": "/version"},
        },
        {"allowed": True},
    ),
    "a path that few may read": (
        {"user": "jane", "nonResourceAttributes": {"verb": "get", "path": "/logs"}},
        {"allowed": False},
    ),
}


@pytest.mark.parametrize(("spec", "expected"), ACCESS.values(), ids=ACCESS)
async def test_whether_another_may(spec: dict[str, Any], expected: dict[str, Any]) -> None:
    server = ApiServer()
    await grant(server, "jane", ["list"], ["pods"])
    found = await review(server, "SubjectAccessReview", spec)
    assert found["code"] == 201
    status = found["status"]
    assert {"allowed": status["allowed"]} == expected


async def test_the_reason_of_access_is_its_binding() -> None:
    server = ApiServer()
    await grant(server, "jane", ["list"], ["pods"])
    found = await review(
        server, "SubjectAccessReview", {"user": "jane", "resourceAttributes": ASKED}
    )
    assert found["status"]["reason"] == (
        'RBAC: allowed by RoleBinding "jane/default" of Role "jane" to User "jane"'
    )


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "nobody": ({"resourceAttributes": ASKED}, "at least one of user or group must be specified"),
    "nothing": ({"user": "a"}, "exactly one of nonResourceAttributes or resourceAttributes"),
    "both": (
        {"user": "a", "resourceAttributes": ASKED, "nonResourceAttributes": {}},
        "exactly one of nonResourceAttributes or resourceAttributes must be specified",
    ),
}


@pytest.mark.parametrize(("spec", "message"), REFUSED.values(), ids=REFUSED)
async def test_reviews_that_ask_nothing(spec: dict[str, Any], message: str) -> None:
    found = await review(ApiServer(), "SubjectAccessReview", spec)
    assert found["code"] == 422
    assert message in found["message"]


async def test_a_local_review_is_about_its_namespace() -> None:
    server = ApiServer()
    await grant(server, "jane", ["list"], ["pods"])
    where = f"{AUTHORIZATION}/namespaces/default"
    spec = {"user": "jane", "resourceAttributes": ASKED}
    found = await review(server, "LocalSubjectAccessReview", spec, where)
    assert found["status"]["allowed"]
    assert found["metadata"]["namespace"] == "default"
    spec["resourceAttributes"] = ASKED | {"namespace": "other"}
    found = await review(server, "LocalSubjectAccessReview", spec, where)
    assert (found["code"], "must match metadata.namespace" in found["message"]) == (422, True)


async def test_what_one_may_do_oneself() -> None:
    server = ApiServer()
    found = await review(
        server, "SelfSubjectAccessReview", {"resourceAttributes": ASKED}, user=JANE
    )
    assert found["status"] == {"allowed": False}
    await grant(server, "jane", ["list"], ["pods"])
    found = await review(
        server, "SelfSubjectAccessReview", {"resourceAttributes": ASKED}, user=JANE
    )
    assert found["status"]["allowed"]


async def test_all_that_one_may_do() -> None:
    server = ApiServer()
    await grant(server, "jane", ["list"], ["pods"])
    found = await review(server, "SelfSubjectRulesReview", {"namespace": "default"}, user=JANE)
    status = found["status"]
    assert {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]} in status["resourceRules"]
    assert any("/healthz" in one["nonResourceURLs"] for one in status["nonResourceRules"])
    refused = await review(server, "SelfSubjectRulesReview", {}, user=JANE)
    assert (refused["code"], refused["message"]) == (400, "no namespace on request")


async def test_who_one_is() -> None:
    found = await review(ApiServer(), "SelfSubjectReview", {}, AUTHENTICATION, user=JANE)
    assert found["status"]["userInfo"] == {
        "username": "jane",
        "uid": "u-1",
        "groups": ["dev", "system:authenticated"],
        "extra": {"team": ["a", "b"]},
    }
    assert found["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"


async def test_whose_a_token_is() -> None:
    server = ApiServer()
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = (await server.ask("POST", f"{accounts}/default/token", asked))["status"]["token"]
    found = await review(server, "TokenReview", {"token": token}, AUTHENTICATION)
    status = found["status"]
    assert status["authenticated"]
    assert status["user"]["username"] == "system:serviceaccount:default:default"
    assert status["audiences"] == ["https://kubernetes.default.svc"]
    other = await review(
        server, "TokenReview", {"token": token, "audiences": ["moon"]}, AUTHENTICATION
    )
    assert other["status"] == {"user": {}, "error": "invalid bearer token"}
    none = await review(server, "TokenReview", {}, AUTHENTICATION)
    assert none["code"] == 400
