from __future__ import annotations

import pytest

from mooring.apiserver.validation.variables import VOLUME_FIELDS, field_selector, resource_selector
from tests.apiserver.validation.objects import Object, container, pod, refusals, texts

VALUES: dict[str, tuple[Object, list[str]]] = {
    "a value": ({"name": "A", "value": "v"}, []),
    "no name": ({"name": ""}, ["spec.containers[0].env[0].name: Required value"]),
    "a bad name": (
        {"name": "A=B"},
        [
            'spec.containers[0].env[0].name: Invalid value: "A=B": a valid environment '
            "variable name must consist only of printable ASCII characters other than '='"
        ],
    ),
    "no source": (
        {"name": "A", "valueFrom": {}},
        [
            'spec.containers[0].env[0].valueFrom: Invalid value: "": must specify one '
            "of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or "
            "`fileKeyRef`"
        ],
    ),
    "a value and a source": (
        {"name": "A", "value": "v", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        [
            'spec.containers[0].env[0].valueFrom: Invalid value: "": may not be '
            "specified when `value` is not empty"
        ],
    ),
    "two sources": (
        {
            "name": "A",
            "valueFrom": {
                "fieldRef": {"fieldPath": "metadata.name"},
                "resourceFieldRef": {"resource": "limits.cpu"},
            },
        },
        [
            'spec.containers[0].env[0].valueFrom: Invalid value: "": may not have more '
            "than one field specified at a time"
        ],
    ),
    "keys of a config map and a secret": (
        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}},
        [],
    ),
    "a bad key of a config map without a name": (
        {"name": "A", "valueFrom": {"configMapKeyRef": {"key": "a b"}}},
        [
            "spec.containers[0].env[0].valueFrom.configMapKeyRef.name: Invalid value: "
            '"": <subdomain>',
            'spec.containers[0].env[0].valueFrom.configMapKeyRef.key: Invalid value: "a '
            'b": <config key>',
        ],
    ),
    "no key of a secret": (
        {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": ""}}},
        ["spec.containers[0].env[0].valueFrom.secretKeyRef.key: Required value"],
    ),
    "an empty reference to a file": (
        {"name": "A", "valueFrom": {"fileKeyRef": {"key": "", "volumeName": "", "path": ""}}},
        [
            "spec.containers[0].env[0].valueFrom.fileKeyRef.key: Required value",
            "spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Required value",
            "spec.containers[0].env[0].valueFrom.fileKeyRef.path: Required value",
            'spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: ""',
        ],
    ),
    "a bad reference to a file": (
        {
            "name": "A",
            "valueFrom": {"fileKeyRef": {"key": "a=", "volumeName": "V", "path": "../a"}},
        },
        [
            'spec.containers[0].env[0].valueFrom.fileKeyRef.key: Invalid value: "a=": a '
            "valid environment variable name must consist only of printable ASCII "
            "characters other than '='",
            "spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Invalid value: "
            '"V": <label>',
            'spec.containers[0].env[0].valueFrom.fileKeyRef.path: Invalid value: "../a": '
            "must not contain '..'",
            'spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: "V"',
        ],
    ),
    "a file of a volume of another kind": (
        {"name": "A", "valueFrom": {"fileKeyRef": {"key": "a", "volumeName": "h", "path": "a"}}},
        [
            "spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Invalid value: "
            '"h": referenced volume must be of type emptyDir'
        ],
    ),
    "a file of an empty volume": (
        {"name": "A", "valueFrom": {"fileKeyRef": {"key": "a", "volumeName": "e", "path": "a"}}},
        [],
    ),
}


@pytest.mark.parametrize(("variable", "expected"), VALUES.values(), ids=VALUES)
def test_variables(variable: Object, expected: list[str]) -> None:
    volumes = [{"name": "e", "emptyDir": {}}, {"name": "h", "hostPath": {"path": "/"}}]
    assert refusals(pod(containers=[container(env=[variable])], volumes=volumes)) == expected


SOURCES: dict[str, tuple[Object, list[str]]] = {
    "a config map with a prefix": ({"prefix": "A_", "configMapRef": {"name": "m"}}, []),
    "a bad prefix": (
        {"prefix": "=", "secretRef": {"name": "s"}},
        [
            'spec.containers[0].envFrom[0].prefix: Invalid value: "=": a valid '
            "environment variable name must consist only of printable ASCII characters "
            "other than '='"
        ],
    ),
    "no source": (
        {},
        [
            'spec.containers[0].envFrom: Invalid value: "": must specify one of: '
            "`configMapRef` or `secretRef`"
        ],
    ),
    "two sources": (
        {"configMapRef": {"name": "m"}, "secretRef": {"name": "s"}},
        [
            'spec.containers[0].envFrom: Invalid value: "": may not have more than one '
            "field specified at a time"
        ],
    ),
    "no name": (
        {"configMapRef": {}},
        ["spec.containers[0].envFrom[0].configMapRef.name: Required value"],
    ),
    "a bad name": (
        {"secretRef": {"name": "A"}},
        ['spec.containers[0].envFrom[0].secretRef.name: Invalid value: "A": <subdomain>'],
    ),
}


@pytest.mark.parametrize(("source", "expected"), SOURCES.values(), ids=SOURCES)
def test_sources_of_all_variables(source: Object, expected: list[str]) -> None:
    assert refusals(pod(containers=[container(envFrom=[source])])) == expected


FIELDS: dict[str, tuple[Object, list[str]]] = {
    "the labels": ({"apiVersion": "v1", "fieldPath": "metadata.labels"}, []),
    "one label": ({"apiVersion": "v1", "fieldPath": "metadata.labels['a/b']"}, []),
    "a bad label": (
        {"apiVersion": "v1", "fieldPath": "metadata.labels['a b']"},
        ['f: Invalid value: "a b": <qualified name>'],
    ),
    "an annotation in upper case": (
        {"apiVersion": "v1", "fieldPath": "metadata.annotations['A.io/b']"},
        [],
    ),
    "part of a field that has none": (
        {"apiVersion": "v1", "fieldPath": "metadata.name['a']"},
        ['f: Invalid value: "metadata.name": does not support subscript'],
    ),
    "a field that volumes do not show": (
        {"apiVersion": "v1", "fieldPath": "spec.nodeName"},
        [
            'f.fieldPath: Unsupported value: "spec.nodeName": supported values: '
            '"metadata.annotations", "metadata.labels", "metadata.name", '
            '"metadata.namespace", "metadata.uid"'
        ],
    ),
    "a field that nothing shows": (
        {"apiVersion": "v1", "fieldPath": "spec.containers"},
        [
            'f.fieldPath: Invalid value: "spec.containers": error converting fieldPath: '
            "field label not supported: spec.containers"
        ],
    ),
    "no field": ({"apiVersion": "v1", "fieldPath": ""}, ["f.fieldPath: Required value"]),
    "another version": (
        {"apiVersion": "v2", "fieldPath": "metadata.name"},
        [
            'f.fieldPath: Invalid value: "metadata.name": error converting fieldPath: '
            "unsupported pod version: v2"
        ],
    ),
}


@pytest.mark.parametrize(("selector", "expected"), FIELDS.values(), ids=FIELDS)
def test_fields_that_volumes_show(selector: Object, expected: list[str]) -> None:
    assert texts(field_selector(selector, VOLUME_FIELDS, "f")) == expected


RESOURCES: dict[str, tuple[Object, bool, list[str]]] = {
    "a resource": ({"resource": "limits.cpu", "divisor": "1m"}, False, []),
    "huge pages": ({"resource": "requests.hugepages-2Mi"}, False, []),
    "no resource": ({"resource": ""}, False, ["f.resource: Required value"]),
    "an unknown resource": (
        {"resource": "cpu"},
        False,
        [
            'f.resource: Unsupported value: "cpu": supported values: "limits.cpu", '
            '"limits.ephemeral-storage", "limits.memory", "requests.cpu", '
            '"requests.ephemeral-storage", "requests.memory"'
        ],
    ),
    "a divisor that processors do not have": (
        {"resource": "requests.cpu", "divisor": "2"},
        False,
        [
            'f.divisor: Invalid value: "requests.cpu": only divisor\'s values 1m and 1 '
            "are supported with the cpu resource"
        ],
    ),
    "a volume without the container": (
        {"resource": "limits.cpu"},
        True,
        ["f.containerName: Required value"],
    ),
    "a volume with the container": ({"resource": "limits.cpu", "containerName": "c"}, True, []),
}


@pytest.mark.parametrize(("selector", "volume", "expected"), RESOURCES.values(), ids=RESOURCES)
def test_resources_of_containers(selector: Object, volume: bool, expected: list[str]) -> None:
    assert texts(resource_selector(selector, "f", volume=volume)) == expected
