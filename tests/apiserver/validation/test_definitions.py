"""Definitions of custom resources."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api.field_errors import FieldError
from mooring.apiserver.validation.definitions import check_definition, check_definition_update
from tests.apiserver.validation.objects import texts


def _definition(spec: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    return {
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": names,
            "versions": [version],
        },
        "status": {"storedVersions": ["v1"]},
    }


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("^(a+)+$", ""),
        ("(", "missing closing ): `(`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
    ],
)
def test_a_pattern_is_checked_when_it_is_defined(pattern: str, why: str) -> None:
    found = check_definition(_definition({"type": "string", "pattern": pattern}))
    text = (
        f'Invalid value: "{pattern}": must be a valid regular expression, but isn\'t: '
        f"error parsing regexp: {why}"
    )
    path = "spec.validation.openAPIV3Schema.properties[spec].pattern"
    assert found == ([FieldError(path, text, "FieldValueInvalid")] if why else [])


def _changed(**spec: Any) -> dict[str, Any]:
    made = _definition({"type": "object"})
    made["spec"] |= spec
    return made


def _version(name: str = "v1", **more: Any) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object"}}
    return {"name": name, "served": True, "storage": True, "schema": schema, **more}


def _rooted(**schema: Any) -> dict[str, Any]:
    return _changed(versions=[_version(schema={"openAPIV3Schema": {"type": "object", **schema}})])


def _field(**schema: Any) -> dict[str, Any]:
    return _rooted(properties={"a": schema})


NAMES = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
RULE = {"rule": "true"}

DEFINITIONS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a definition": (_changed(), []),
    "no group and no scope": (
        _changed(group="", scope=""),
        [
            'metadata.name: Invalid value: "things.example.com": must be '
            'spec.names.plural+"."+spec.group',
            "spec.group: Required value",
            "spec.scope: Required value",
        ],
    ),
    "a bad group and an unknown scope": (
        _changed(group="A", scope="Galaxy"),
        [
            'metadata.name: Invalid value: "things.example.com": must be '
            'spec.names.plural+"."+spec.group',
            'spec.group: Invalid value: "A": <subdomain>',
            'spec.scope: Unsupported value: "Galaxy": supported values: "Cluster", "Namespaced"',
        ],
    ),
    "a group without a dot": (
        _changed(group="a"),
        [
            'metadata.name: Invalid value: "things.example.com": must be '
            'spec.names.plural+"."+spec.group',
            'spec.group: Invalid value: "a": should be a domain with at least one dot',
        ],
    ),
    "two versions that are stored, of one name": (
        _changed(versions=[_version(), _version()]),
        [
            "spec.versions: Invalid value: "
            '[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"obje'
            'ct"}}},{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type"'
            ':"object"}}}]: '
            "must contain unique version names",
            "spec.versions: Invalid value: "
            '[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"obje'
            'ct"}}},{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type"'
            ':"object"}}}]: '
            "must have exactly one version marked as storage version",
        ],
    ),
    "no version that is stored": (
        _changed(versions=[_version(storage=False)]),
        [
            "spec.versions: Invalid value: "
            '[{"name":"v1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"obj'
            'ect"}}}]: '
            "must have exactly one version marked as storage version"
        ],
    ),
    "a bad name of a version": (
        _changed(versions=[_version("1")]),
        [
            'spec.versions[0].name: Invalid value: "1": <DNS-1035 label>',
            'spec.version: Invalid value: "1": <DNS-1035 label>',
            'status.storedVersions: Invalid value: ["v1"]: must have the storage version 1',
            'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; '
            "v1 was previously a storage version, and must remain in spec.versions until "
            "a storage migration ensures no data remains persisted in v1 and removes v1 "
            "from status.storedVersions",
        ],
    ),
    "unknown fields of old": (
        _changed(preserveUnknownFields=True),
        [
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
            "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema "
            "instead"
        ],
    ),
    "no schema": (
        _changed(versions=[_version(schema=None)]),
        ["spec.versions[0].schema.openAPIV3Schema: Required value"],
    ),
    "a schema that is no object": (
        _rooted(type="string"),
        [
            'spec.validation.openAPIV3Schema.type: Invalid value: "string": must be '
            "object at the root"
        ],
    ),
    "a schema without a type": (
        _rooted(type=""),
        ["spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root"],
    ),
    "a status of what is no object": (
        _changed(
            versions=[
                _version(
                    schema={"openAPIV3Schema": {"type": "string"}}, subresources={"status": {}}
                )
            ]
        ),
        [
            'spec.validation.openAPIV3Schema.type: Invalid value: "string": must be '
            "object at the root",
            'spec.validation.openAPIV3Schema.type: Invalid value: "string": only '
            '"object" is allowed as the type at the root of the schema if the status '
            "subresource is enabled",
        ],
    ),
    "an unknown type": (
        _field(type="thing"),
        [
            "spec.validation.openAPIV3Schema.properties[a].type: Unsupported value: "
            '"thing": supported values: "array", "boolean", "integer", "number", '
            '"object", "string"'
        ],
    ),
    "no type": (
        _field(),
        [
            "spec.validation.openAPIV3Schema.properties[a].type: Required value: must "
            "not be empty for specified object fields"
        ],
    ),
    "a list of no type": (
        _field(type="array", items={}),
        [
            "spec.validation.openAPIV3Schema.properties[a].items.type: Required value: "
            "must not be empty for specified array items"
        ],
    ),
    "a list of nothing": (
        _field(type="array"),
        ["spec.validation.openAPIV3Schema.properties[a].items: Required value: must be specified"],
    ),
    "a map of no type": (
        _field(type="object", additionalProperties={}),
        [
            "spec.validation.openAPIV3Schema.properties[a].additionalProperties.type: "
            "Required value: must not be empty for specified object fields"
        ],
    ),
    "a list by no keys": (
        _field(type="array", items={"type": "object"}, **{"x-kubernetes-list-type": "map"}),
        [
            "spec.validation.openAPIV3Schema.properties[a].x-kubernetes-list-map-keys: "
            "Required value: must not be empty if x-kubernetes-list-type is map"
        ],
    ),
    "a default of another type": (
        _field(type="integer", default="x"),
        [
            "spec.validation.openAPIV3Schema.properties[a].default: Invalid value: "
            '"string":  in body must be of type integer: "string"'
        ],
    ),
    "a default inside of a list": (
        _field(type="array", items={"type": "integer", "default": "x"}),
        [
            "spec.validation.openAPIV3Schema.properties[a].items.default: Invalid value: "
            '"string":  in body must be of type integer: "string"'
        ],
    ),
    "an empty rule": (
        _field(type="string", **{"x-kubernetes-validations": [{"rule": " "}]}),
        [
            "spec.validation.openAPIV3Schema.properties[a].x-kubernetes-validations[0].rule: "
            "Required value: rule is not specified"
        ],
    ),
    "an empty message": (
        _field(type="string", **{"x-kubernetes-validations": [RULE | {"message": " "}]}),
        [
            "spec.validation.openAPIV3Schema.properties[a].x-kubernetes-validations[0].message: "
            'Invalid value: " ": must be non-empty if specified'
        ],
    ),
    "a message of two lines": (
        _field(type="string", **{"x-kubernetes-validations": [RULE | {"message": "a\nb"}]}),
        [
            "spec.validation.openAPIV3Schema.properties[a].x-kubernetes-validations[0].message: "
            'Invalid value: "a\\nb": must not contain line breaks'
        ],
    ),
    "a rule of two lines without a message": (
        _field(type="string", **{"x-kubernetes-validations": [{"rule": "true\n|| true"}]}),
        [
            "spec.validation.openAPIV3Schema.properties[a].x-kubernetes-validations[0].message: "
            "Required value: message must be specified if rule contains line breaks"
        ],
    ),
    "an unknown reason": (
        _field(type="string", **{"x-kubernetes-validations": [RULE | {"reason": "Why"}]}),
        [
            "spec.validation.openAPIV3Schema.properties[a].x-kubernetes-validations[0].reason: "
            'Unsupported value: "Why": supported values: "FieldValueDuplicate", '
            '"FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"'
        ],
    ),
    "no names": (
        _changed(names=dict.fromkeys(NAMES, "") | {"plural": "things"}),
        [
            "spec.names.singular: Required value",
            "spec.names.kind: Required value",
            "spec.names.listKind: Required value",
        ],
    ),
    "bad names": (
        _changed(names=NAMES | {"kind": "A_b", "shortNames": ["S"], "categories": ["C"]}),
        [
            'spec.names.kind: Invalid value: "A_b": may have mixed case, but should '
            "otherwise match: <DNS-1035 label>",
            'spec.names.shortNames[0]: Invalid value: "S": <DNS-1035 label>',
            'spec.names.categories[0]: Invalid value: "C": <DNS-1035 label>',
        ],
    ),
    "a list of the name of its items": (
        _changed(names=NAMES | {"listKind": "Thing"}),
        ['spec.names.listKind: Invalid value: "Thing": kind and listKind may not be the same'],
    ),
    "another name": (
        _changed(names=NAMES | {"plural": "others"}),
        [
            'metadata.name: Invalid value: "things.example.com": must be '
            'spec.names.plural+"."+spec.group'
        ],
    ),
    "a conversion without a strategy": (
        _changed(conversion={"strategy": ""}),
        ["spec.conversion.strategy: Required value"],
    ),
    "an unknown conversion": (
        _changed(conversion={"strategy": "Magic"}),
        [
            'spec.conversion.strategy: Unsupported value: "Magic": supported values: '
            '"None", "Webhook"'
        ],
    ),
    "a conversion by nothing": (
        _changed(conversion={"strategy": "Webhook"}),
        [
            "spec.conversion.webhookClientConfig: Required value: required when strategy "
            "is set to Webhook",
            "spec.conversion.conversionReviewVersions: Required value",
        ],
    ),
    "a webhook of no conversion": (
        _changed(
            conversion={
                "strategy": "None",
                "webhook": {"clientConfig": {}, "conversionReviewVersions": ["v1"]},
            }
        ),
        [
            "spec.conversion.webhookClientConfig: Forbidden: should not be set when "
            "strategy is not set to Webhook",
            "spec.conversion.conversionReviewVersions: Forbidden: should not be set when "
            "strategy is not set to Webhook",
        ],
    ),
    "no stored versions": (
        _changed() | {"status": {}},
        ["status.storedVersions: Invalid value: null: must have at least one stored version"],
    ),
    "other stored versions": (
        _changed() | {"status": {"storedVersions": ["v0"]}},
        [
            'status.storedVersions: Invalid value: ["v0"]: must have the storage version v1',
            'status.storedVersions[0]: Invalid value: "v0": missing from spec.versions; '
            "v0 was previously a storage version, and must remain in spec.versions until "
            "a storage migration ensures no data remains persisted in v0 and removes v0 "
            "from status.storedVersions",
        ],
    ),
}


@pytest.mark.parametrize(("definition", "expected"), DEFINITIONS.values(), ids=DEFINITIONS)
def test_definitions(definition: dict[str, Any], expected: list[str]) -> None:
    assert texts(check_definition(definition)) == expected


ESTABLISHED = {
    "storedVersions": ["v1"],
    "conditions": [{"type": "Established", "status": "True"}],
}
CHANGES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing": ({}, []),
    "the scope": (
        {"scope": "Namespaced"},
        ['spec.scope: Invalid value: "Namespaced": field is immutable'],
    ),
    "the kind": (
        {"names": NAMES | {"kind": "Other"}},
        ['spec.names.kind: Invalid value: "Other": field is immutable'],
    ),
    "the group and the plural": (
        {"group": "b.io", "names": NAMES | {"plural": "others"}},
        [
            'spec.group: Invalid value: "b.io": field is immutable',
            'spec.names.plural: Invalid value: "others": field is immutable',
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), CHANGES.values(), ids=CHANGES)
def test_changes_of_definitions(spec: dict[str, Any], expected: list[str]) -> None:
    old = _changed() | {"status": ESTABLISHED}
    new = _changed(**spec) | {"status": ESTABLISHED}
    assert texts(check_definition_update(new, old)) == expected


def test_a_definition_that_is_not_established_may_change_its_kind() -> None:
    new = _changed(names=NAMES | {"kind": "Other"}, scope="Namespaced")
    assert check_definition_update(new, _changed()) == []
