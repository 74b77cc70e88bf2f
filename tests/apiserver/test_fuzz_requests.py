"""Fuzzed requests: the API executes or refuses each one, never fails, and stays up."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.http import ApiResponse
from mooring.apiserver.schema.protobuf_decoding import MAGIC
from mooring.controlplane.type_table import types
from tests.apiserver.api_server import ApiServer, pod
from tests.apiserver.test_fuzz import JUNK, OBJECTS, spoilt
from tests.apiserver.validation.test_rules import DEFINITION

#: Expected codes: 501 for simulated containers, 504 for a resource version in the future.
FAILURES = frozenset({501, 504})

NAMESPACED = "/api/v1/namespaces/default"
PATHS = (
    f"{NAMESPACED}/pods",
    f"{NAMESPACED}/pods/p",
    f"{NAMESPACED}/pods/p/status",
    f"{NAMESPACED}/pods/p/binding",
    f"{NAMESPACED}/pods/p/eviction",
    f"{NAMESPACED}/pods/p/resize",
    f"{NAMESPACED}/pods/p/ephemeralcontainers",
    f"{NAMESPACED}/pods/p/log",
    f"{NAMESPACED}/configmaps/none",
    f"{NAMESPACED}/services",
    f"{NAMESPACED}/resourcequotas",
    f"{NAMESPACED}/limitranges",
    f"{NAMESPACED}/bindings",
    f"{NAMESPACED}/serviceaccounts/default/token",
    "/api/v1/nodes",
    "/api/v1/namespaces/default",
    "/api/v1/namespaces/default/finalize",
    "/apis/apps/v1/namespaces/default/deployments",
    "/apis/apps/v1/namespaces/default/deployments/d/scale",
    "/apis/batch/v1/namespaces/default/cronjobs",
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
    "/apis/events.k8s.io/v1/namespaces/default/events",
    "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    "/apis/authentication.k8s.io/v1/tokenreviews",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/rules.example.com/v1/namespaces/default/gangs",
    "/apis/rules.example.com/v1/namespaces/default/gangs/g",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis",
    "/api/v1",
    "/openapi/v2",
    "/openapi/v3/api/v1",
    "/metrics",
    "/",
)
MEDIA = (
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/cbor",
    "text/plain; charset=x",
    "",
    "/",
)
PARAMETERS = (
    "labelSelector",
    "fieldSelector",
    "limit",
    "continue",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "allowWatchBookmarks",
    "timeoutSeconds",
    "watch",
    "dryRun",
    "fieldValidation",
    "fieldManager",
    "force",
    "pretty",
    "gracePeriodSeconds",
    "propagationPolicy",
    "orphanDependents",
    "container",
    "tailLines",
    "sinceTime",
    "includeObject",
)
VALUES = st.sampled_from(
    [
        *("", "x", "0", "-1", "1", "true", "maybe", "All", "Strict", "Exact", "NotOlderThan"),
        *("a=b", "a in (b", "!a", "metadata.name=p", "spec.x!=1", "a>1", ",", "9" * 30, "é\0"),
        *("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0", "Foreground", "None", "%"),
    ]
)
ACCEPTS = (
    "application/json",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=Nonsense;v=v9",
    "application/vnd.kubernetes.protobuf",
    "application/cbor-seq, ;;q=x",
    "*/*",
    "",
)


def operation() -> st.SearchStrategy[dict[str, Any]]:
    pointer = st.sampled_from(
        ["", "/", "/spec", "/metadata/labels/a~1b", "/spec/containers/-", "/spec/containers/9", "x"]
    )
    return st.fixed_dictionaries(
        {},
        optional={
            "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x", 5]),
            "path": pointer,
            "from": pointer,
            "value": JUNK,
        },
    )


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    kind = draw(st.integers(0, 6))
    if kind == 0:
        return draw(st.binary(max_size=60))
    if kind == 1:
        return MAGIC + draw(st.binary(max_size=60))
    if kind == 2:
        return json.dumps(draw(JUNK)).encode()
    if kind == 3:
        return json.dumps(draw(st.lists(operation(), max_size=3))).encode()
    if kind == 4:
        text = json.dumps(draw(spoilt())).encode()
        return text[: draw(st.integers(0, len(text)))]
    if kind == 5:
        one = copy.deepcopy(draw(st.sampled_from(OBJECTS)))
        one["metadata"] = draw(JUNK)
        return json.dumps(one).encode()
    return json.dumps(draw(spoilt())).encode()


@st.composite
def paths(draw: st.DrawFn) -> str:
    path = draw(st.sampled_from(PATHS))
    if draw(st.integers(0, 4)) == 0:
        parts = path.split("/")
        at = draw(st.integers(0, len(parts) - 1))
        parts[at] = draw(st.sampled_from(["", "..", "%2F", "%00", "x" * 300, "é", "*", "watch"]))
        path = "/".join(parts)
    names = draw(st.lists(st.sampled_from(PARAMETERS), max_size=3))
    query = "&".join(f"{name}={quote(draw(VALUES))}" for name in names)
    return f"{path}?{query}" if query else path


async def fill(server: ApiServer) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    made = [
        (f"{NAMESPACED}/pods", pod("p")),
        (definitions, DEFINITION),
        (
            "/apis/rules.example.com/v1/namespaces/default/gangs",
            {
                "apiVersion": "rules.example.com/v1",
                "kind": "Gang",
                "metadata": {"name": "g"},
                "spec": {"min": 1, "max": 2},
            },
        ),
    ]
    for path, obj in made:
        response = await server.send("POST", path, obj)
        assert response.code == 201, response.body


async def one(
    server: ApiServer, method: str, path: str, body: bytes, media: str, accept: str
) -> ApiResponse:
    response = await server.send(method, path, body, content_type=media, accept=accept)
    if response.stream is not None:
        await response.stream.aclose()  # type: ignore[attr-defined]
    return response


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "X"]),
            paths(),
            bodies(),
            st.sampled_from(MEDIA),
            st.sampled_from(ACCEPTS),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_request_is_answered(requests: list[tuple[str, str, bytes, str, str]]) -> None:
    async def run() -> None:
        server = ApiServer()
        await fill(server)
        for method, path, body, media, accept in requests:
            response = await one(server, method, path, body, media, accept)
            assert response.code < 500 or response.code in FAILURES, (response.code, response.body)
        assert (await server.send("GET", "/readyz")).body == b"ok"

    asyncio.run(run())


def place(obj: dict[str, Any]) -> str:
    """Return the path of the resource that an object belongs to."""
    version = obj["apiVersion"]
    resource = next(
        one for one in types().resources(version) if one.kind == obj["kind"] and "/" not in one.name
    )
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return (
        f"{root}/namespaces/default/{resource.name}"
        if resource.namespaced
        else (f"{root}/{resource.name}")
    )


@given(
    st.lists(spoilt(), min_size=1, max_size=3),
    st.sampled_from(MEDIA[3:7]),
    st.sampled_from(["", "?dryRun=All", "?fieldValidation=Strict", "?fieldValidation=Ignore"]),
)
def test_spoilt_objects_are_refused_or_taken(
    objects: list[dict[str, Any]], media: str, query: str
) -> None:
    async def run() -> None:
        server = ApiServer()
        for obj in objects:
            path = place(obj)
            whole = next(one for one in OBJECTS if one["kind"] == obj["kind"])
            made = [await server.send("POST", path + query, one) for one in (whole, obj)]
            name = (whole.get("metadata") or {}).get("name") or "x"
            at = f"{path}/{quote(name)}"
            made.append(await server.send("PUT", at + query, obj))
            change = [{"op": "add", "path": "/spec", "value": obj.get("spec")}]
            patch = change if media == MEDIA[3] else obj
            more = "&" if query else "?"
            target = f"{at}{query}{more}fieldManager=m"
            made.append(await server.send("PATCH", target, patch, content_type=media))
            status = {key: obj[key] for key in ("apiVersion", "kind", "status") if key in obj}
            target = f"{at}/status{query}"
            made.append(await server.send("PATCH", target, status, content_type=MEDIA[4]))
            made += [await server.send("GET", path, accept=view) for view in ACCEPTS[:3]]
            made.append(await server.send("DELETE", at))
            codes = [response.code for response in made]
            assert all(code < 500 for code in codes), (codes, [one.body for one in made])

    asyncio.run(run())
