"""No request causes a 500."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mooring.cel.environment import Expression
from mooring.plugins.dynamic_resources.selectors import DeviceEnvironment
from tests.apiserver.api_server import MAPS, PODS, ApiServer, config_map, pod

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


async def test_an_unknown_resource_of_a_known_group() -> None:
    server = ApiServer()
    answer = await server.ask("GET", "/apis/apps/v1/namespaces/default/nothings")
    assert (answer["kind"], answer["message"]) == (
        "Status",
        "the server could not find the requested resource",
    )
    response = await server.send("GET", "/apis/nowhere/v1/things")
    assert (response.code, response.body) == (404, b"404 page not found\n")
