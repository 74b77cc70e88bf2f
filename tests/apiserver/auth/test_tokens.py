from __future__ import annotations

import datetime
from typing import Any

import pytest

from mooring.apiserver.auth.certificate_authority import new_key
from mooring.apiserver.auth.tokens import ISSUER, TokenSigner, account_user
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


def _server() -> tuple[ApiServer, TokenSigner, dict[str, Any]]:
    server = ApiServer()
    account = server.cluster.lookup("/serviceaccounts", "default", "default")
    assert account is not None
    return server, TokenSigner(new_key()), account


def test_a_token_tells_its_account_and_its_claims() -> None:
    server, signer, account = _server()
    token = signer.issue(server.cluster, account, (ISSUER,), 600)
    user = signer.user(server.cluster, token)
    assert user is not None
    assert user.name == "system:serviceaccount:default:default"
    assert user.uid == account["metadata"]["uid"]
    claims = signer.claims(token)
    assert claims is not None
    assert claims["exp"] - claims["iat"] == 600
    assert user.extra["authentication.kubernetes.io/credential-id"] == (f"JTI={claims['jti']}",)


def test_a_token_lives_for_its_time() -> None:
    server, signer, account = _server()
    token = signer.issue(server.cluster, account, (ISSUER,), 600)
    begun = server.now
    server.now = begun + datetime.timedelta(seconds=599)
    assert signer.user(server.cluster, token) is not None
    server.now = begun + datetime.timedelta(seconds=600)
    assert signer.user(server.cluster, token) is None
    server.now = begun - datetime.timedelta(seconds=1)
    assert signer.user(server.cluster, token) is None


def test_a_token_is_for_its_audience() -> None:
    server, signer, account = _server()
    token = signer.issue(server.cluster, account, ("moon",), 600)
    assert signer.user(server.cluster, token) is None
    assert signer.user(server.cluster, token, ("sun", "moon")) is not None


@pytest.mark.parametrize(
    ("kind", "key"), [("pod", "default/o"), ("secret", "default/o"), ("node", "o")]
)
def test_a_token_ends_with_the_object_that_it_is_bound_to(kind: str, key: str) -> None:
    server, signer, account = _server()
    resource = f"/{kind}s"
    server.store.put(resource, key, {"metadata": {"name": "o", "uid": "1"}})
    bound = {kind: {"name": "o", "uid": "1"}}
    token = signer.issue(server.cluster, account, (ISSUER,), 600, bound)
    user = signer.user(server.cluster, token)
    assert user is not None
    named = {key: value for key, value in user.extra.items() if "credential" not in key}
    prefix = f"authentication.kubernetes.io/{kind}"
    shown = {f"{prefix}-name": ("o",), f"{prefix}-uid": ("1",)}
    assert named == ({} if kind == "secret" else shown)
    server.store.put(resource, key, {"metadata": {"name": "o", "uid": "2"}})
    assert signer.user(server.cluster, token) is None


def test_a_token_ends_a_minute_after_its_pod_is_deleted() -> None:
    server, signer, account = _server()
    deleted = {"name": "o", "uid": "1", "deletionTimestamp": "2026-01-01T00:00:00Z"}
    server.store.put("/pods", "default/o", {"metadata": deleted})
    bound = {"pod": {"name": "o", "uid": "1"}}
    token = signer.issue(server.cluster, account, (ISSUER,), 600, bound)
    server.now += datetime.timedelta(seconds=60)
    assert signer.user(server.cluster, token) is not None
    server.now += datetime.timedelta(seconds=1)
    assert signer.user(server.cluster, token) is None


def test_a_token_of_a_pod_outlives_its_node() -> None:
    server, signer, account = _server()
    server.store.put("/pods", "default/o", {"metadata": {"name": "o", "uid": "1"}})
    bound = {"pod": {"name": "o", "uid": "1"}, "node": {"name": "n", "uid": "2"}}
    token = signer.issue(server.cluster, account, (ISSUER,), 600, bound)
    user = signer.user(server.cluster, token)
    assert user is not None
    assert user.extra["authentication.kubernetes.io/node-name"] == ("n",)


def test_a_token_of_another_issuer() -> None:
    server, signer, _ = _server()
    assert signer.user(server.cluster, signer.sign({"iss": "me"})) is None


@pytest.mark.parametrize(
    "token", ["", "a", "a.b.c", "....", "é.é.é"], ids=["empty", "a word", "three", "dots", "é"]
)
def test_texts_that_are_not_tokens(token: str) -> None:
    assert TokenSigner(new_key()).claims(token) is None


def test_a_token_of_another_key() -> None:
    assert TokenSigner(new_key()).claims(TokenSigner(new_key()).sign({"a": 1})) is None


def test_claims_are_an_object() -> None:
    signer = TokenSigner(new_key())
    listed: Any = [1]
    assert signer.claims(signer.sign(listed)) is None


def test_the_user_of_an_account() -> None:
    user = account_user("n", "a", "u", {"k": ["v"]})
    assert user.name == "system:serviceaccount:n:a"
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:n")
    assert user.extra == {"k": ("v",)}
