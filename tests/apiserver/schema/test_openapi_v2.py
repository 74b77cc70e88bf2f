from __future__ import annotations

from collections.abc import Iterator

from mooring.apiserver.schema.openapi_v2 import document_v2


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the fields of a message, all of which are of the wire type 2 (bytes)."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        assert tag & 7 == 2
        size, at = _varint(data, at)
        yield tag >> 3, data[at : at + size]
        at += size
    assert at == len(data)


def _one(data: bytes, *path: int) -> bytes:
    for number in path:
        data = dict(_fields(data))[number]
    return data


def _schemas() -> dict[str, bytes]:
    document = document_v2()
    named = [value for number, value in _fields(_one(document, 9)) if number == 1]
    return {_one(one, 1).decode(): _one(one, 2) for one in named}


def test_the_head_of_the_document() -> None:
    document = document_v2()
    assert _one(document, 1) == b"2.0"
    assert _one(document, 2, 1) == b"Kubernetes"
    assert _one(document, 2, 2) == b"1.37"


def test_the_one_path_says_that_fields_are_validated() -> None:
    path = _one(document_v2(), 8, 2)
    assert _one(path, 1) == b"/api/v1/namespaces/{name}"
    operation = _one(path, 2, 8)
    parameter = _one(operation, 8, 1, 2, 3)
    assert (_one(parameter, 2), _one(parameter, 4)) == (b"query", b"fieldValidation")
    assert b'"kind": "Namespace"' in _one(operation, 13, 2, 2)


def test_schemas_are_sorted_and_refer_to_each_other() -> None:
    schemas = _schemas()
    assert list(schemas) == sorted(schemas)
    pod = schemas["io.k8s.api.core.v1.Pod"]
    assert _one(pod, 22, 1) == b"object"
    properties = {
        _one(one, 1).decode(): _one(one, 2) for number, one in _fields(_one(pod, 25)) if number == 1
    }
    assert _one(properties["spec"], 1) == b"#/definitions/io.k8s.api.core.v1.PodSpec"
    assert set(properties) == {"apiVersion", "kind", "metadata", "spec", "status"}
    names = [_one(one, 1) for number, one in _fields(pod) if number == 31]
    assert b"x-kubernetes-group-version-kind" in names


def test_lists_maps_and_required_fields() -> None:
    schemas = _schemas()
    spec = schemas["io.k8s.api.core.v1.PodSpec"]
    required = [value for number, value in _fields(spec) if number == 19]
    assert required == [b"containers"]
    properties = {
        _one(one, 1).decode(): _one(one, 2)
        for number, one in _fields(_one(spec, 25))
        if number == 1
    }
    containers = properties["containers"]
    assert _one(containers, 22, 1) == b"array"
    assert _one(containers, 23, 1, 1) == b"#/definitions/io.k8s.api.core.v1.Container"
    selector = properties["nodeSelector"]
    assert _one(selector, 21, 1, 22, 1) == b"string"
    assert _one(properties["activeDeadlineSeconds"], 2) == b"int64"
