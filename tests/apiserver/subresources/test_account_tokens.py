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
        {"kind": "Job", "name": "j"},
        400,
        "cannot bind token for serviceaccount to object of type Job",
    ),
}


@pytest.mark.parametrize(("reference", "code", "message"), BOUND.values(), ids=BOUND)
async def test_tokens_of_objects(reference: dict[str, str], code: int, message: str) -> None:
    server = ApiServer()
    await server.ask("POST", PODS, pod("p"))
    found = await ask(server, boundObjectRef=reference)
    assert found[0] == code
    assert message in found[1].get("message", "")


async def test_accounts_that_do_not_exist() -> None:
    server = ApiServer()
    code, found = await ask(server, TOKEN.replace("/default/token", "/ghost/token"))
    assert (code, found["message"]) == (404, 'serviceaccounts "ghost" not found')
    code, found = await ask(server, TOKEN.replace("namespaces/default", "namespaces/ghost"))
    assert (code, found["message"]) == (404, 'namespaces "ghost" not found')
