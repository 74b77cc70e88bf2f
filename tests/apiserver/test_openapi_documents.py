from __future__ import annotations

import json
from typing import Any

import pytest

from mooring.apiserver.http import ApiRequest, ApiResponse
from mooring.apiserver.openapi_documents import Documents
from mooring.apiserver.resource_table import Catalogue, custom_resource
from mooring.apiserver.schema.custom_schema import custom_kinds
from mooring.controlplane.type_table import types

PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


def _ask(documents: Documents, path: str, accept: str = "") -> ApiResponse | None:
    headers = {"accept": accept} if accept else {}
    return documents.serve(ApiRequest("GET", path, {}, headers), path.strip("/").split("/"))


def _add(catalogue: Catalogue, *fields: str) -> None:
    properties = {name: {"type": "string"} for name in fields}
    schema = {"type": "object", "properties": properties}
    version: dict[str, Any] = {"name": "v1", "served": True, "storage": True}
    version["schema"] = {"openAPIV3Schema": schema}
    names = {"plural": "things", "kind": "Thing", "listKind": "ThingList", "singular": "thing"}
    spec = {"group": "a.io", "scope": "Cluster", "names": names, "versions": [version]}
    (custom,) = custom_kinds({"spec": spec})
    catalogue.add(custom_resource(custom))


def test_the_index_names_every_group_version() -> None:
    catalogue = Catalogue(types())
    _add(catalogue, "a")
    response = _ask(Documents(catalogue), "/openapi/v3")
    assert response is not None
    paths = json.loads(response.body)["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/a.io/v1"} <= set(paths)


@pytest.mark.parametrize(
    "path",
    [
        "/openapi/v3/apis/none/v1",
        "/openapi/v3/apis/v1",
        "/openapi/v3/api/apps/v1",
        "/openapi/v4",
        "/openapi",
    ],
)
def test_documents_that_do_not_exist(path: str) -> None:
    assert _ask(Documents(Catalogue(types())), path) is None


def test_a_document_is_made_once_until_its_resources_change() -> None:
    catalogue = Catalogue(types())
    _add(catalogue, "a")
    documents = Documents(catalogue)
    first, second = (_ask(documents, "/openapi/v3/apis/a.io/v1") for _ in range(2))
    assert first is not None and second is not None
    assert first.body is second.body
    assert first.headers["ETag"] == second.headers["ETag"]
    _add(catalogue, "a", "b")
    changed = _ask(documents, "/openapi/v3/apis/a.io/v1")
    assert changed is not None
    assert changed.headers["ETag"] != first.headers["ETag"]
    assert b'"b"' in changed.body


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("", PROTOBUF),
        ("*/*", PROTOBUF),
        ("application/com.github.proto-openapi.spec.v2@v1.0+protobuf", PROTOBUF),
        ("application/json", "application/json"),
    ],
)
def test_the_older_document(accept: str, content_type: str) -> None:
    response = _ask(Documents(Catalogue(types())), "/openapi/v2", accept)
    assert response is not None
    assert response.content_type == content_type
