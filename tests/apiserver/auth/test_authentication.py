from __future__ import annotations

import json

import pytest

from mooring.apiserver.auth.impersonation import with_group
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
    # The first mode that is tried reports, as with kube-apiserver.
    assert message.startswith(
        'pods is forbidden: User "jane" cannot impersonate-on:user-info:list resource "pods"'
    )


async def who(server: ApiServer, **headers: str) -> dict[str, object]:
    """Return the user that the server takes the administrator's request for."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    found = await server.ask("POST", path, body, **headers)
    if "status" not in found or found["kind"] == "Status":
        return {"message": found["message"]}
    return dict(found["status"]["userInfo"])


async def test_an_account_that_is_acted_for_is_in_its_groups() -> None:
    found = await who(ApiServer(), impersonate_user="system:serviceaccount:n:a")
    assert found["groups"] == [
        "system:serviceaccounts",
        "system:serviceaccounts:n",
        "system:authenticated",
    ]


async def test_groups_identity_and_more_are_acted_for() -> None:
    found = await who(
        ApiServer(),
        impersonate_user="jane",
        impersonate_group="dev\nops",
        impersonate_uid="u",
        **{"impersonate-extra-team%2fa": "x"},
    )
    assert found == {
        "username": "jane",
        "uid": "u",
        "groups": ["dev", "ops", "system:authenticated"],
        "extra": {"team/a": ["x"]},
    }


async def test_acting_for_nobody_gives_no_rights() -> None:
    found = await who(ApiServer(), impersonate_user="system:anonymous")
    assert 'User "system:anonymous" cannot create' in str(found["message"])


async def test_a_group_without_a_user() -> None:
    found = await who(ApiServer(), impersonate_group="dev")
    assert "without impersonating a user" in str(found["message"])


async def test_a_token_that_lasts_as_long_as_the_process() -> None:
    server = ApiServer()
    server.api.authenticator.static["secret"] = RequestUser("robot", ("system:masters",))
    bearer = "Bearer secret"
    assert (await server.send("GET", PODS, user=None, authorization=bearer)).code == 200
    assert (await server.send("GET", PODS, user=None, authorization="Basic secret")).code == 403


@pytest.mark.parametrize(
    ("groups", "expected"), [((), ("g",)), (("a",), ("a", "g")), (("g", "a"), ("g", "a"))]
)
def test_a_group_is_added_once(groups: tuple[str, ...], expected: tuple[str, ...]) -> None:
    user = RequestUser("u", groups, "id", {"k": ("v",)})
    found = with_group(user, "g")
    assert found == RequestUser("u", expected, "id", {"k": ("v",)})
