from __future__ import annotations

import pytest

from mooring.apiserver.http import ApiRequest
from mooring.apiserver.request_paths import RequestInfo, read

PATHS: dict[str, tuple[str, str, dict[str, str]]] = {
    "a list": (
        "GET",
        "/api/v1/pods",
        {
            "verb": "list",
            "version": "v1",
            "resource": "pods",
        },
    ),
    "a list of a namespace": (
        "GET",
        "/api/v1/namespaces/n/pods",
        {
            "verb": "list",
            "version": "v1",
            "resource": "pods",
            "namespace": "n",
        },
    ),
    "an object": (
        "GET",
        "/api/v1/namespaces/n/pods/p",
        {
            "verb": "get",
            "version": "v1",
            "resource": "pods",
            "namespace": "n",
            "name": "p",
        },
    ),
    "an object of a group": (
        "PATCH",
        "/apis/apps/v1/namespaces/n/deployments/d",
        {
            "verb": "patch",
            "group": "apps",
            "version": "v1",
            "resource": "deployments",
            "namespace": "n",
            "name": "d",
        },
    ),
    "a subresource": (
        "PUT",
        "/api/v1/namespaces/n/pods/p/status",
        {
            "verb": "update",
            "version": "v1",
            "resource": "pods",
            "subresource": "status",
            "namespace": "n",
            "name": "p",
        },
    ),
    "a path after a subresource": (
        "GET",
        "/api/v1/namespaces/n/pods/p/proxy/a/b",
        {
            "verb": "get",
            "version": "v1",
            "resource": "pods",
            "subresource": "proxy",
            "namespace": "n",
            "name": "p",
            "rest": "a/b",
        },
    ),
    "a new object": (
        "POST",
        "/api/v1/namespaces/n/pods",
        {
            "verb": "create",
            "version": "v1",
            "resource": "pods",
            "namespace": "n",
        },
    ),
    "a deletion": (
        "DELETE",
        "/api/v1/nodes/n",
        {
            "verb": "delete",
            "version": "v1",
            "resource": "nodes",
            "name": "n",
        },
    ),
    "a deletion of many": (
        "DELETE",
        "/api/v1/nodes",
        {
            "verb": "deletecollection",
            "version": "v1",
            "resource": "nodes",
        },
    ),
    "a namespace": (
        "GET",
        "/api/v1/namespaces/n",
        {
            "verb": "get",
            "version": "v1",
            "resource": "namespaces",
            "scope": "n",
            "name": "n",
        },
    ),
    "all namespaces": (
        "GET",
        "/api/v1/namespaces",
        {
            "verb": "list",
            "version": "v1",
            "resource": "namespaces",
        },
    ),
    "a subresource of a namespace": (
        "PUT",
        "/api/v1/namespaces/n/finalize",
        {
            "verb": "update",
            "version": "v1",
            "resource": "namespaces",
            "subresource": "finalize",
            "scope": "n",
            "name": "n",
        },
    ),
    "an older watch": (
        "GET",
        "/api/v1/watch/pods",
        {
            "verb": "watch",
            "version": "v1",
            "resource": "pods",
        },
    ),
    "an older watch of an object": (
        "GET",
        "/api/v1/watch/namespaces/n/pods/p",
        {
            "verb": "watch",
            "version": "v1",
            "resource": "pods",
            "namespace": "n",
            "name": "p",
        },
    ),
    "a name with escapes": (
        "GET",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Aa",
        {
            "verb": "get",
            "group": "rbac.authorization.k8s.io",
            "version": "v1",
            "resource": "clusterroles",
            "name": "system:a",
        },
    ),
    "a namespace inside a namespace": (
        "DELETE",
        "/api/v1/namespaces/n/namespaces/m",
        {
            "verb": "delete",
            "version": "v1",
            "resource": "namespaces",
            "namespace": "n",
            "name": "m",
        },
    ),
    "an encoded slash": (
        "GET",
        "/api/v1/namespaces/n%2Fsecrets%2Fs",
        {
            "verb": "get",
            "version": "v1",
            "resource": "secrets",
            "namespace": "n",
            "name": "s",
        },
    ),
    "a resource without a name": (
        "GET",
        "/api/v1//pods",
        {
            "verb": "get",
            "version": "v1",
            "name": "pods",
        },
    ),
    "a watch path counts as a watch for every method": (
        "DELETE",
        "/api/v1/watch/namespaces/n/pods/p",
        {
            "verb": "watch",
            "version": "v1",
            "resource": "pods",
            "namespace": "n",
            "name": "p",
        },
    ),
    "a proxy path": (
        "GET",
        "/api/v1/proxy/nodes/n",
        {
            "verb": "proxy",
            "version": "v1",
            "resource": "nodes",
            "name": "n",
        },
    ),
    "an unknown method": (
        "LIST",
        "/api/v1/pods",
        {
            "version": "v1",
            "resource": "pods",
        },
    ),
    "a path of no resource": (
        "GET",
        "/healthz/ping",
        {
            "verb": "get",
        },
    ),
    "a group's version alone": (
        "GET",
        "/apis/apps/v1",
        {
            "verb": "get",
        },
    ),
    "the root": (
        "GET",
        "/",
        {
            "verb": "get",
        },
    ),
}


def _short(info: RequestInfo) -> dict[str, str]:
    names = ("verb", "group", "version", "resource", "subresource", "namespace", "name", "rest")
    found = {name: value for name in names if (value := getattr(info, name))}
    # The roles of a namespace apply to requests in it and for it.
    return found | ({"scope": info.scope} if info.scope != info.namespace else {})


@pytest.mark.parametrize(("method", "path", "expected"), PATHS.values(), ids=PATHS)
def test_paths(method: str, path: str, expected: dict[str, str]) -> None:
    info = read(ApiRequest(method, path, {}, {}))
    assert _short(info) == expected
    assert info.is_resource is ("version" in expected)


@pytest.mark.parametrize(
    ("flag", "verb"), [("true", "watch"), ("1", "watch"), ("false", "list"), ("0", "list")]
)
def test_a_list_that_is_a_watch(flag: str, verb: str) -> None:
    assert read(ApiRequest("GET", "/api/v1/pods", {"watch": [flag]}, {})).verb == verb


def test_an_object_is_not_watched_by_its_path() -> None:
    info = read(ApiRequest("GET", "/api/v1/nodes/n", {"watch": ["true"]}, {}))
    assert info.verb == "get"


SELECTORS: dict[str, tuple[dict[str, str], str]] = {
    "a name": ({"fieldSelector": "metadata.name=a"}, "a"),
    "a name with two equal signs": ({"fieldSelector": "metadata.name==a"}, "a"),
    "the first of two names": ({"fieldSelector": "metadata.name=a,metadata.name=b"}, "a"),
    "a name and another field": ({"fieldSelector": "spec.nodeName=n,metadata.name=a"}, "a"),
    "all names but one": ({"fieldSelector": "metadata.name!=a"}, ""),
    "another field": ({"fieldSelector": "metadata.namespace=a"}, ""),
    "a name that cannot be in a path": ({"fieldSelector": "metadata.name=a/b"}, ""),
    "dots": ({"fieldSelector": "metadata.name=.."}, ""),
    "a malformed field selector": ({"fieldSelector": "metadata.name"}, ""),
    "a malformed label selector": (
        {"fieldSelector": "metadata.name=a", "labelSelector": "a=(("},
        "",
    ),
}


@pytest.mark.parametrize(("parameters", "name"), SELECTORS.values(), ids=SELECTORS)
def test_the_name_that_a_list_selects(parameters: dict[str, str], name: str) -> None:
    query = {key: [value] for key, value in parameters.items()}
    assert read(ApiRequest("GET", "/api/v1/pods", query, {})).selected == name
    assert read(ApiRequest("DELETE", "/api/v1/pods", query, {})).selected == ""
    assert read(ApiRequest("GET", "/api/v1/watch/pods", query, {})).selected == ""
