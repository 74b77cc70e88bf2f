from __future__ import annotations

import json
from typing import Any

import pytest

from mooring.apiserver.bodies import (
    WriteOptions,
    media_type,
    options,
    read_object,
    read_typed,
    take_errors,
)
from mooring.apiserver.http import ApiRequest
from mooring.apiserver.patch.patching import IGNORE, STRICT, WARN
from mooring.apiserver.refusals import Refusal
from mooring.apiserver.resource_table import custom_resource
from mooring.apiserver.schema.custom_schema import custom_kinds
from mooring.controlplane.type_table import types
from tests.apiserver.api_server import ApiServer, config_map


def _request(
    body: Any = None,
    content_type: str = "application/json",
    method: str = "POST",
    **query: list[str],
) -> ApiRequest:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return ApiRequest(method, "/", query, {"content-type": content_type}, data)


def test_options() -> None:
    assert options(_request()) == WriteOptions()
    found = options(_request(dryRun=["All"], fieldManager=["me"], fieldValidation=["Strict"]))
    assert found == WriteOptions(dry_run=True, manager="me", validation=STRICT)
    applied = _request(
        content_type="application/apply-patch+yaml",
        method="PATCH",
        fieldManager=["me"],
        force=["1"],
    )
    assert options(applied).force


BAD: dict[str, dict[str, list[str]]] = {
    "an unknown dry run": {"dryRun": ["Some"]},
    "an unknown validation": {"fieldValidation": ["Maybe"]},
    "force without applying": {"force": ["true"]},
    "a long manager": {"fieldManager": ["m" * 129]},
}


@pytest.mark.parametrize("query", BAD.values(), ids=BAD)
def test_options_that_are_refused(query: dict[str, list[str]]) -> None:
    with pytest.raises(Refusal) as refused:
        options(_request(method="PATCH", **query))
    assert refused.value.code == 422


@pytest.mark.parametrize(
    ("header", "media"),
    [
        ("", "application/json"),
        ("Application/YAML; charset=utf-8", "application/yaml"),
        (" application/json ", "application/json"),
    ],
)
def test_media_types(header: str, media: str) -> None:
    assert media_type(_request(content_type=header)) == media


def _read(request: ApiRequest, validation: str = WARN) -> tuple[dict[str, Any], list[str]]:
    found = types().find("v1", "ConfigMap")
    assert found is not None
    how = WriteOptions(validation=validation)
    return read_typed(request, found, "ConfigMap", "v1", how), how.warnings


def test_a_body_in_json_and_yaml() -> None:
    obj, _ = _read(_request(config_map("m", a="b")))
    assert obj["data"] == {"a": "b"}
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: b}\n"
    assert _read(_request(text, "application/yaml"))[0]["data"] == {"a": "b"}


def test_an_unknown_field_is_warned_about_refused_or_ignored() -> None:
    body = config_map("m") | {"odd": 1}
    assert _read(_request(body))[1] == ['unknown field "odd"']
    assert _read(_request(body), IGNORE)[1] == []
    with pytest.raises(Refusal, match='strict decoding error: unknown field "odd"') as refused:
        _read(_request(body), STRICT)
    assert refused.value.code == 400


WRONG: dict[str, tuple[Any, str, int]] = {
    "text": (b"hello", "text/plain", 415),
    "no JSON": (b"{", "application/json", 400),
    "another kind": (config_map("m") | {"kind": "Secret"}, "application/json", 400),
    "a list": ([], "application/json", 400),
    "no protobuf": (b"k8s\0\xff", "application/vnd.kubernetes.protobuf", 400),
}


@pytest.mark.parametrize(("body", "media", "code"), WRONG.values(), ids=WRONG)
def test_bodies_that_are_refused(body: Any, media: str, code: int) -> None:
    with pytest.raises(Refusal) as refused:
        _read(_request(body, media))
    assert refused.value.code == code


def test_errors_of_a_body_that_has_none() -> None:
    how = WriteOptions(validation=STRICT)
    take_errors([], "Pod", "v1", how)
    assert how.warnings == []


def test_a_body_in_another_version_than_the_stored_one() -> None:
    served = ApiServer().cluster.catalogue.get("autoscaling", "v1", "horizontalpodautoscalers")
    assert served is not None
    spec = {"maxReplicas": 3, "scaleTargetRef": {"kind": "D", "name": "d"}}
    body = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "spec": spec}
    found = read_object(_request(body | {"metadata": {"name": "h"}}), served, WriteOptions())
    assert found["apiVersion"] == "autoscaling/v2"


def _custom() -> Any:
    schema = {"type": "object", "properties": {"size": {"type": "integer"}}}
    version = {"name": "v1", "served": True, "storage": True}
    version |= {"schema": {"openAPIV3Schema": schema}}
    names = {"plural": "things", "kind": "Thing", "listKind": "ThingList", "singular": "thing"}
    spec = {"group": "a.io", "scope": "Cluster", "names": names, "versions": [version]}
    (custom,) = custom_kinds({"spec": spec})
    return custom_resource(custom)


def test_a_custom_object() -> None:
    body = {"apiVersion": "a.io/v1", "kind": "Thing", "metadata": {"name": "t"}, "size": 1}
    how = WriteOptions()
    found = read_object(_request(body | {"odd": 2}), _custom(), how)
    assert (found["size"], "odd" in found) == (1, False)
    assert how.warnings == ['unknown field "odd"']


@pytest.mark.parametrize(
    ("body", "media", "code"),
    [
        (b"k8s\0", "application/vnd.kubernetes.protobuf", 415),
        (b"{", "application/json", 400),
        ([], "application/json", 400),
    ],
    ids=["protobuf", "no JSON", "a list"],
)
def test_custom_bodies_that_are_refused(body: Any, media: str, code: int) -> None:
    with pytest.raises(Refusal) as refused:
        read_object(_request(body, media), _custom(), WriteOptions())
    assert refused.value.code == code
