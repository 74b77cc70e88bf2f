from __future__ import annotations

import json
from typing import Any

import pytest

from tests.apiserver.api_server import PODS, ApiServer, pod

TOKEN = "/api/v1/namespaces/default/serviceaccounts/default/token"


async def ask(server: ApiServer, path: str = TOKEN, **spec: Any) -> tuple[int, dict[str, Any]]:
    """Return the code of the response and its object."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    response = await server.send("POST", path, body)
    return response.code, json.loads(response.body)


async def test_a_token_lasts_an_hour_unless_another_time_is_asked_for() -> None:
    server = ApiServer()
    code, found = await ask(server)
    assert code == 201
    assert found["spec"]["expirationSeconds"] == 3600
    assert found["spec"]["audiences"] == ["https://kubernetes.default.svc"]
    assert found["status"]["expirationTimestamp"] == "2026-01-01T01:00:00Z"
    assert found["metadata"]["name"] == "default"
    _, found = await ask(server, expirationSeconds=600, audiences=["moon"])
    assert found["status"]["expirationTimestamp"] == "2026-01-01T00:10:00Z"
    assert found["spec"]["audiences"] == ["moon"]


@pytest.mark.parametrize(
    ("seconds", "message"),
    [
        (599, "may not specify a duration less than 10 minutes"),
        (2**32 + 1, "may not specify a duration larger than 2^32 seconds"),
    ],
)
async def test_times_that_are_refused(seconds: int, message: str) -> None:
    code, found = await ask(ApiServer(), expirationSeconds=seconds)
    assert (code, message in found["message"]) == (422, True)


BOUND: dict[str, tuple[dict[str, str], int, str]] = {
    "a pod": ({"kind": "Pod", "name": "p"}, 201, ""),
    "a node": ({"kind": "Node", "name": "n"}, 404, 'nodes "n" not found'),
    "another pod of that name": ({"kind": "Pod", "name": "p", "uid": "x"}, 409, "does not match"),
    "a pod that does not exist": ({"kind": "Pod", "name": "q"}, 404, 'pods "q" not found'),
    "another kind": (
        {"apiVersion": "batch/v1", "kind": "Job", "name": "j"},
        400,
        "cannot bind token to object of type batch/v1, Kind=Job",
    ),
    "a pod of another account": (
        {"kind": "Pod", "name": "other"},
        400,
        'cannot bind token for serviceaccount "default" to pod running with different '
        "serviceaccount name.",
    ),
}


@pytest.mark.parametrize(("reference", "code", "message"), BOUND.values(), ids=BOUND)
async def test_tokens_of_objects(reference: dict[str, str], code: int, message: str) -> None:
    server = ApiServer()
    await server.ask("POST", PODS, pod("p"))
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
    await server.ask("POST", "/api/v1/namespaces/default/serviceaccounts", account)
    await server.ask("POST", PODS, pod("other", serviceAccountName="robot"))
    found = await ask(server, boundObjectRef=reference)
    assert found[0] == code
    assert message in found[1].get("message", "")


METADATA: dict[str, tuple[dict[str, str], int, str]] = {
    "the account's": ({"name": "default", "namespace": "default"}, 201, ""),
    "another name": (
        {"name": "other"},
        422,
        'metadata.name: Invalid value: "other": must match the service account name if specified',
    ),
    "another namespace": (
        {"namespace": "other"},
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
    ),
    "another account of that name": ({"uid": "x"}, 409, "the UID in the token request (x) does"),
}


@pytest.mark.parametrize(("metadata", "code", "message"), METADATA.values(), ids=METADATA)
async def test_the_metadata_of_a_request(metadata: dict[str, str], code: int, message: str) -> None:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    response = await ApiServer().send("POST", TOKEN, body | {"metadata": metadata})
    assert (response.code, message in response.body.decode().replace('\\"', '"')) == (code, True)


async def test_accounts_that_do_not_exist() -> None:
    server = ApiServer()
    code, found = await ask(server, TOKEN.replace("/default/token", "/ghost/token"))
    assert (code, found["message"]) == (404, 'serviceaccounts "ghost" not found')
    code, found = await ask(server, TOKEN.replace("namespaces/default", "namespaces/ghost"))
    assert (code, found["message"]) == (404, 'namespaces "ghost" not found')
