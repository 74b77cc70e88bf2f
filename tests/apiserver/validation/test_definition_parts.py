from __future__ import annotations

import pytest

from mooring.apiserver.validation.definition_parts import check_extensions, check_parts
from tests.apiserver.validation.objects import Object, texts

_SCHEMA = {
    "openAPIV3Schema": {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"size": {"type": "integer"}, "list": {"type": "array"}},
            }
        },
    }
}


def _column(**more: str) -> Object:
    given = {"name": "n", "type": "string", "jsonPath": ".spec.a"} | more
    return {"additionalPrinterColumns": [given]}


def _scale(**paths: str) -> Object:
    given = {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a"} | paths
    return {"subresources": {"scale": given}}


def _selectable(*paths: str) -> Object:
    return {"schema": _SCHEMA, "selectableFields": [{"jsonPath": path} for path in paths]}


PARTS: dict[str, tuple[Object, list[str]]] = {
    "nothing": ({}, []),
    "a warning of a version that stays": (
        {"deprecationWarning": "soon"},
        [
            'spec.versions[0].deprecationWarning: Invalid value: "soon": can only be set '
            "for deprecated versions"
        ],
    ),
    "an empty warning": (
        {"deprecated": True, "deprecationWarning": ""},
        ['spec.versions[0].deprecationWarning: Invalid value: "": must not be an empty string'],
    ),
    "a long warning": (
        {"deprecated": True, "deprecationWarning": "w" * 257},
        [
            (
                'spec.versions[0].deprecationWarning: Invalid value: "w…": must be <= 256 '
                "characters long"
            )
        ],
    ),
    "a column": (_column(format="int32"), []),
    "an empty column": (
        _column(name="", type="", jsonPath=""),
        [
            "spec.additionalPrinterColumns[0].name: Required value",
            "spec.additionalPrinterColumns[0].type: Required value: must be one of "
            "boolean,date,integer,number,string",
            "spec.additionalPrinterColumns[0].JSONPath: Required value",
        ],
    ),
    "a bad column": (
        _column(type="text", format="roman", jsonPath="spec"),
        [
            'spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one '
            "of boolean,date,integer,number,string",
            'spec.additionalPrinterColumns[0].format: Invalid value: "roman": must be '
            "one of byte,date,date-time,double,float,int32,int64,password",
            'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "spec": must be a '
            "simple json path starting with .",
        ],
    ),
    "a scale": (_scale(labelSelectorPath=".status.selector"), []),
    "an empty scale": (
        _scale(specReplicasPath="", statusReplicasPath=""),
        [
            "spec.subresources.scale.specReplicasPath: Required value",
            "spec.subresources.scale.statusReplicasPath: Required value",
        ],
    ),
    "a scale elsewhere": (
        _scale(specReplicasPath=".status.a", statusReplicasPath="a", labelSelectorPath=".meta"),
        [
            'spec.subresources.scale.specReplicasPath: Invalid value: ".status.a": '
            "should be a json path under .spec",
            'spec.subresources.scale.statusReplicasPath: Invalid value: "a": must be a '
            "simple json path starting with .",
            'spec.subresources.scale.labelSelectorPath: Invalid value: ".meta": should '
            "be a json path under either .spec or .status",
        ],
    ),
    "a field to select by": (_selectable(".spec.size"), []),
    "fields that do not select": (
        _selectable("", "spec.size", ".spec.none", ".spec.list", ".spec.list[0]"),
        [
            "spec.selectableFields[0].jsonPath: Required value",
            'spec.selectableFields[1].jsonPath: Invalid value: "spec.size": is an '
            "invalid path: expected [ or . but got: spec",
            'spec.selectableFields[2].jsonPath: Invalid value: ".spec.none": is an '
            "invalid path: does not refer to a valid field",
            'spec.selectableFields[3].jsonPath: Invalid value: ".spec.list": must point '
            "to a field of type string, boolean or integer. Enum string fields and "
            "strings with formats are allowed.",
            'spec.selectableFields[4].jsonPath: Invalid value: ".spec.list[0]": is an '
            "invalid path: does not refer to a valid field",
        ],
    ),
    "a field twice": (
        _selectable(".spec.size", ".spec.size"),
        ['spec.selectableFields[1].jsonPath: Duplicate value: ".spec.size"'],
    ),
    "a field without a schema": (
        {"selectableFields": [{"jsonPath": ".spec.size"}]},
        [
            'spec.selectableFields: Invalid value: "": may only be set when '
            "validations.schema is included"
        ],
    ),
}


@pytest.mark.parametrize(("version", "expected"), PARTS.values(), ids=PARTS)
def test_parts_of_versions(version: Object, expected: list[str]) -> None:
    assert texts(check_parts(version, "spec.versions[0]", "spec")) == expected


EXTENSIONS: dict[str, tuple[Object, list[str]]] = {
    "none": ({"type": "object"}, []),
    "unique items": (
        {"type": "array", "uniqueItems": True},
        [
            "f.uniqueItems: Forbidden: uniqueItems cannot be set to true since the "
            "runtime complexity becomes quadratic"
        ],
    ),
    "a map": ({"type": "object", "x-kubernetes-map-type": "atomic"}, []),
    "a map of another type": (
        {"type": "array", "x-kubernetes-map-type": "loose"},
        [
            'f.type: Invalid value: "array": must be object if x-kubernetes-map-type is specified',
            'f.x-kubernetes-map-type: Unsupported value: "loose": supported values: '
            '"atomic", "granular"',
        ],
    ),
    "a list of no type": (
        {"x-kubernetes-list-type": "set"},
        ["f.type: Required value: must be array if x-kubernetes-list-type is specified"],
    ),
    "keys of a list that is no map": (
        {"type": "array", "x-kubernetes-list-type": "set", "x-kubernetes-list-map-keys": ["a"]},
        [
            'f.x-kubernetes-list-type: Invalid value: "set": must be map if '
            "x-kubernetes-list-map-keys is non-empty"
        ],
    ),
    "keys of a list of no kind": (
        {"type": "array", "x-kubernetes-list-map-keys": ["a"]},
        [
            "f.x-kubernetes-list-type: Required value: must be map if "
            "x-kubernetes-list-map-keys is non-empty"
        ],
    ),
    "an embedded object without fields": (
        {"type": "object", "x-kubernetes-embedded-resource": True},
        [
            "f.properties: Required value: must not be empty if "
            "x-kubernetes-embedded-resource is true without "
            "x-kubernetes-preserve-unknown-fields"
        ],
    ),
    "an embedded object of unknown fields": (
        {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
        [],
    ),
    "an embedded list": (
        {"type": "array", "x-kubernetes-embedded-resource": True, "properties": {"a": {}}},
        [
            'f.type: Invalid value: "array": must be object if '
            "x-kubernetes-embedded-resource is true"
        ],
    ),
}


@pytest.mark.parametrize(("schema", "expected"), EXTENSIONS.values(), ids=EXTENSIONS)
def test_extensions_of_schemas(schema: Object, expected: list[str]) -> None:
    assert texts(check_extensions(schema, "f")) == expected
