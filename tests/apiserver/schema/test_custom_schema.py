"""Kinds of custom resource definitions."""

from __future__ import annotations

from mooring.apiserver.schema.custom_schema import custom_kinds
from mooring.controlplane.type_table import ANY, LIST, MAP

DEFINITION = {
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing", "shortNames": ["th"]},
        "versions": [
            {"name": "v0", "served": False, "storage": False},
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}, "scale": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["size"],
                                "properties": {
                                    "size": {"type": "integer", "minimum": 1},
                                    "queue": {"type": "string", "default": "normal"},
                                    "free": {
                                        "type": "object",
                                        "x-kubernetes-preserve-unknown-fields": True,
                                    },
                                    "limits": {
                                        "type": "object",
                                        "additionalProperties": {
                                            "x-kubernetes-int-or-string": True
                                        },
                                    },
                                    "tasks": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "map",
                                        "x-kubernetes-list-map-keys": ["name"],
                                        "items": {
                                            "type": "object",
                                            "required": ["name"],
                                            "properties": {"name": {"type": "string"}},
                                        },
                                    },
                                },
                            }
                        },
                    }
                },
            },
        ],
    }
}
KIND = custom_kinds(DEFINITION)[0]


def test_only_served_versions_count() -> None:
    assert [kind.version for kind in custom_kinds(DEFINITION)] == ["v1"]


def test_names_are_completed() -> None:
    assert (KIND.singular, KIND.list_kind) == ("thing", "ThingList")
    assert KIND.openapi_name == "com.example.v1.Thing"


def test_resources_include_the_subresources() -> None:
    assert [one.name for one in KIND.resources] == ["things", "things/status", "things/scale"]
    assert KIND.resources[2].kind_group_version == "autoscaling/v1"


def test_the_schema_becomes_a_field_tree() -> None:
    spec = KIND.type.fields["spec"].kind.type
    assert spec is not None
    assert spec.fields["tasks"].kind.form == LIST
    assert spec.fields["tasks"].kind.keys == ("name",)
    assert spec.fields["free"].kind.form == ANY
    assert spec.fields["limits"].kind.form == MAP
    assert "labels" in KIND.type.fields["metadata"].kind.type.fields
