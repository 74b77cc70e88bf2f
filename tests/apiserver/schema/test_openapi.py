"""OpenAPI documents."""

from __future__ import annotations

import json

from mooring.apiserver.schema.openapi import document, index
from mooring.apiserver.schema.openapi_v2 import document_v2
from mooring.controlplane.type_table import types
from tests.apiserver.schema.test_custom_schema import KIND

REF = "#/components/schemas/"


def references(value: object) -> set[str]:
    text = json.dumps(value)
    return {part.split('"')[0] for part in text.split(f'"$ref": "{REF}')[1:]}


def test_every_reference_leads_somewhere() -> None:
    for version in types().group_versions:
        found = document(version)
        assert references(found) <= found["components"]["schemas"].keys(), version


def test_patch_says_what_kubectl_looks_for() -> None:
    paths = document("apps/v1")["paths"]
    patch = paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {
        "group": "apps",
        "version": "v1",
        "kind": "Deployment",
    }
    assert "fieldValidation" in {one["name"] for one in patch["parameters"]}
    assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]


def test_merge_keys_are_there() -> None:
    schemas = document("v1")["components"]["schemas"]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-patch-strategy"] == "merge"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]


def test_custom_kinds_have_documents_without_strategic_patches() -> None:
    found = document("example.com/v1", [KIND])
    assert references(found) <= found["components"]["schemas"].keys()
    path = found["paths"]["/apis/example.com/v1/namespaces/{namespace}/things/{name}"]
    assert "application/strategic-merge-patch+json" not in path["patch"]["requestBody"]["content"]
    schema = found["components"]["schemas"]["com.example.v1.Thing"]
    assert schema["properties"]["spec"]["properties"]["size"]["type"] == "integer"


def test_the_index_changes_with_the_definitions() -> None:
    before = index(["v1"])["paths"]["api/v1"]["serverRelativeURL"]
    assert before.startswith("/openapi/v3/api/v1?hash=")
    after = index(["v1"], {"example.com/v1": [KIND]})["paths"]
    assert after["api/v1"]["serverRelativeURL"] == before
    assert "apis/example.com/v1" in after


def test_version_2_is_small_and_knows_what_validates() -> None:
    found = document_v2()
    assert b"io.k8s.api.authentication.v1.TokenReview" in found
    assert b"fieldValidation" in found
    assert len(found) < 400_000
