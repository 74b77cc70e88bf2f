from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from mooring.apiserver.http import ApiRequest
from mooring.apiserver.printing.rendering import ObjectForm, form, respond
from mooring.apiserver.refusals import Refusal
from mooring.apiserver.resource_store import Stored
from tests.apiserver.api_server import ApiServer

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
LABELS = {"kind": "ConfigMap", "apiVersion": "v1"}


def _form(server: ApiServer, accept: str = "", **query: str) -> ObjectForm:
    headers = {"accept": accept} if accept else {}
    request = ApiRequest("GET", "", {name: [value] for name, value in query.items()}, headers)
    return form(server.cluster, request, server.served("/v1/configmaps"))


def _stored(name: str = "m", **more: Any) -> Stored:
    metadata = {"name": name, "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return Stored(name, {**LABELS, "metadata": metadata, "data": {"a": "b"}, **more}, 7)


FORMS = {
    "no wish": ("", "application/json"),
    "anything": ("*/*", "application/json"),
    "JSON": ("application/json", "application/json"),
    "YAML": ("application/yaml", "application/yaml"),
    "a table": (TABLE, TABLE),
    "metadata": (PARTIAL, PARTIAL),
    "what comes first": (f"text/html, {TABLE}, application/json", TABLE),
    "a table of an unknown version, or JSON": (
        "application/json;as=Table;v=v9;g=meta.k8s.io,application/json",
        "application/json",
    ),
    "an unknown form, or YAML": (
        "application/json;as=Picture;v=v1;g=meta.k8s.io,application/yaml",
        "application/yaml",
    ),
}


@pytest.mark.parametrize(("accept", "content_type"), FORMS.values(), ids=FORMS)
def test_the_form_is_the_first_that_the_client_takes(accept: str, content_type: str) -> None:
    assert _form(ApiServer(), accept).content_type == content_type


def test_no_form_that_the_client_takes() -> None:
    with pytest.raises(Refusal) as refused:
        _form(ApiServer(), "text/html")
    assert refused.value.code == 406
    assert "application/json, application/yaml" in str(refused.value)


def test_items_of_a_typed_list_have_no_kind() -> None:
    found = json.loads(_form(ApiServer()).many([_stored("a"), _stored("b")], {"x": "y"}))
    assert (found["kind"], found["apiVersion"]) == ("ConfigMapList", "v1")
    assert found["metadata"] == {"x": "y"}
    assert [one["metadata"]["name"] for one in found["items"]] == ["a", "b"]
    assert not any("kind" in one or "apiVersion" in one for one in found["items"])


def test_bookmarks() -> None:
    plain = json.loads(_form(ApiServer()).bookmark(9, None))
    assert plain == {**LABELS, "metadata": {"resourceVersion": "9"}}
    noted = json.loads(_form(ApiServer()).bookmark(9, {"a": "b"}))
    assert noted["metadata"] == {"resourceVersion": "9", "annotations": {"a": "b"}}
    table = json.loads(_form(ApiServer(), TABLE).bookmark(9, {"a": "b"}))
    assert table["metadata"] == {"resourceVersion": "9"}
    (row,) = table["rows"]
    assert row["object"]["metadata"]["annotations"] == {"a": "b"}
    assert json.loads(_form(ApiServer(), TABLE).bookmark(9, None))["rows"] == []


def test_metadata_alone() -> None:
    chosen = _form(ApiServer(), PARTIAL)
    one = json.loads(chosen.one(_stored()))
    assert (one["kind"], one["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
    assert "data" not in one
    many = json.loads(chosen.many([_stored()], {}))
    assert (many["kind"], many["items"]) == ("PartialObjectMetadataList", [one])


@pytest.mark.parametrize(
    ("include", "shown"),
    [
        ("", "PartialObjectMetadata"),
        ("Metadata", "PartialObjectMetadata"),
        ("Object", "ConfigMap"),
        ("None", None),
    ],
)
def test_objects_in_rows(include: str, shown: str | None) -> None:
    chosen = _form(ApiServer(), TABLE, includeObject=include)
    (row,) = json.loads(chosen.many([_stored()], {}))["rows"]
    assert row["cells"] == ["m", 1, "0s"]
    assert row.get("object", {}).get("kind") == shown


def test_an_unknown_part_of_rows() -> None:
    with pytest.raises(Refusal, match='unrecognized includeObject value: "All"') as refused:
        _form(ApiServer(), TABLE, includeObject="All")
    assert refused.value.code == 400


def test_a_watch_defines_columns_once() -> None:
    chosen = _form(ApiServer(), TABLE)
    first, second = (json.loads(chosen.one(_stored())) for _ in range(2))
    assert [one["name"] for one in first["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert first["metadata"] == {"resourceVersion": "7"}
    assert second["columnDefinitions"] is None
    assert second["rows"] == first["rows"]


def test_yaml() -> None:
    chosen = _form(ApiServer(), "application/yaml")
    assert yaml.safe_load(chosen.one(_stored()))["data"] == {"a": "b"}
    assert yaml.safe_load(chosen.many([_stored()], {}))["kind"] == "ConfigMapList"


def test_a_response() -> None:
    server = ApiServer()
    request = ApiRequest("GET", "", {}, {"accept": "application/yaml"})
    response = respond(
        server.cluster, request, server.served("/v1/configmaps"), _stored().object, 201
    )
    assert (response.code, response.content_type) == (201, "application/yaml")
    assert yaml.safe_load(response.body)["metadata"]["name"] == "m"


def test_a_pod_s_row_has_conditions() -> None:
    server = ApiServer()
    request = ApiRequest("GET", "", {}, {"accept": TABLE})
    chosen = form(server.cluster, request, server.served("/v1/pods"))
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}}
    pod |= {"spec": {}, "status": {"phase": "Failed"}}
    (row,) = json.loads(chosen.one(Stored("p", pod, 1)))["rows"]
    assert row["conditions"][0]["reason"] == "Failed"
