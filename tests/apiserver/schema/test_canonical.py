"""The canonical form of objects, as Go decodes and encodes them."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.schema.canonical import DecodeError, canonical, convert, decode
from mooring.apiserver.schema.decoding import parse_json
from mooring.controlplane.type_table import types


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "c"}], **spec}}


def of(kind: str, value: Any) -> dict[str, Any]:
    return canonical(types().get(kind), value)


def test_empty_optional_fields_vanish_and_required_ones_appear() -> None:
    found = of("core.v1.Pod", pod(nodeSelector={}, tolerations=[], hostNetwork=False, priority=0))
    assert found["spec"] == {"containers": [{"name": "c", "resources": {}}], "priority": 0}
    assert found["status"] == {}


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("rbac.v1.ClusterRole", {"rules": []}, {"metadata": {}, "rules": None}),
        ("core.v1.Toleration", {"tolerationSeconds": 0}, {"tolerationSeconds": 0}),
        (
            "core.v1.ResourceRequirements",
            {"limits": {"cpu": "1000m", "memory": "1024Mi", "a": 0.5}},
            {"limits": {"cpu": "1", "memory": "1Gi", "a": "500m"}},
        ),
        ("meta.v1.ObjectMeta", {"creationTimestamp": None}, {}),
        (
            "meta.v1.ObjectMeta",
            {"creationTimestamp": "2024-01-01T02:00:00+02:00"},
            {"creationTimestamp": "2024-01-01T00:00:00Z"},
        ),
        ("core.v1.HTTPGetAction", {"port": "http"}, {"port": "http"}),
        ("core.v1.Secret", {"data": {"a": ""}}, {"metadata": {}, "data": {"a": ""}}),
        ("core.v1.EmptyDirVolumeSource", {"sizeLimit": None}, {}),
    ],
    ids=[
        "a list that is always written is null when it is empty",
        "a zero behind a pointer stays",
        "quantities are printed canonically",
        "a time that was never set is left out",
        "times are in UTC",
        "a port may be a name",
        "empty bytes in a map stay",
        "null is nothing",
    ],
)
def test_values_have_one_form(kind: str, value: Any, expected: Any) -> None:
    assert of(kind, value) == expected


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ('{"spec":{"foo":1,"containers":[{"bar":1}]}}', ["spec.foo", "spec.containers[0].bar"]),
        ('{"metadata":{"labels":{"a":"b"},"nope":{}}}', ["metadata.nope"]),
    ],
    ids=["in structs and lists", "not in maps"],
)
def test_unknown_fields_are_named(body: str, errors: list[str]) -> None:
    found = decode(types().get("core.v1.Pod"), parse_json(body))[1]
    assert found == [f'unknown field "{path}"' for path in errors]


def test_duplicate_fields_are_named_in_order() -> None:
    body = '{"spec":{"containers":[{"name":"c","name":"d"}],"foo":1},"spec":{}}'
    found = decode(types().get("core.v1.Pod"), parse_json(body))[1]
    assert found == [
        'duplicate field "spec.containers[0].name"',
        'unknown field "spec.foo"',
        'duplicate field "spec"',
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            pod(priority="high"),
            "json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type "
            "int32",
        ),
        (
            pod(priority=1.5),
            "json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.priority of type "
            "int32",
        ),
        (
            pod(priority=2**40),
            "json: cannot unmarshal number 1099511627776 into Go struct field "
            "PodSpec.spec.priority of type int32",
        ),
        (
            pod(containers={}),
            "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type "
            "[]v1.Container",
        ),
        (
            pod(containers=[{"name": "c"}, 7]),
            "json: cannot unmarshal number into Go struct field PodSpec.spec.containers of type "
            "v1.Container",
        ),
        (
            pod(containers=[{"livenessProbe": {"httpGet": {"port": True}}}]),
            "json: cannot unmarshal bool into Go struct field HTTPGetAction.spec.containers."
            "livenessProbe.ProbeHandler.httpGet.port of type int32",
        ),
        (
            pod(overhead={"cpu": "1x"}),
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (pod(overhead={"cpu": "1iM"}), "unable to parse quantity's suffix"),
        (
            {"metadata": {"creationTimestamp": "abc"}},
            'parsing time "abc" as "2006-01-02T15:04:05Z07:00": cannot parse "abc" as "2006"',
        ),
    ],
)
def test_wrong_types_are_refused_in_gos_words(value: Any, text: str) -> None:
    with pytest.raises(DecodeError) as raised:
        of("core.v1.Pod", value)
    assert str(raised.value) == text


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"replicas": "many"}, "unrecognized type: int32"),
        ({"replicas": 1.5}, "cannot convert float64 to int32"),
        ({"selector": 1}, "cannot restore struct from: int64"),
        ({"template": {"spec": {"containers": {}}}}, "cannot restore slice from map"),
        ({"template": {"metadata": {"labels": {"a": 1}}}}, "cannot convert int64 to string"),
    ],
)
def test_what_was_a_map_is_refused_in_other_words(spec: Any, text: str) -> None:
    with pytest.raises(DecodeError) as raised:
        convert(types().get("apps.v1.Deployment"), {"spec": spec})
    assert str(raised.value) == text


def test_nesting_without_end_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(5000):
        schema = {"not": schema}
    with pytest.raises(DecodeError, match="depth"):
        decode(types().get("apiextensions.v1.JSONSchemaProps"), schema)
