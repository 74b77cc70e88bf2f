from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.validation.formats import label_problems, path_segment_problems
from mooring.apiserver.validation.metadata import (
    check_kube_finalizers,
    check_labels,
    check_metadata,
    check_metadata_update,
    check_selector,
    is_empty_selector,
    name_check,
)
from tests.apiserver.validation.objects import texts

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u"}

NEW: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a valid object": ({"name": "a", "namespace": "n"}, []),
    "no name": (
        {"namespace": "n"},
        ["metadata.name: Required value: name or generateName is required"],
    ),
    "a bad name": (
        {"name": "A", "namespace": "n"},
        ['metadata.name: Invalid value: "A": <subdomain>'],
    ),
    "a prefix may end in a hyphen": ({"name": "a-1", "generateName": "a-", "namespace": "n"}, []),
    "a bad prefix": (
        {"name": "a", "generateName": "A-", "namespace": "n"},
        ['metadata.generateName: Invalid value: "A-": <subdomain>'],
    ),
    "a hyphen alone is no prefix": (
        {"name": "a", "generateName": "-", "namespace": "n"},
        ['metadata.generateName: Invalid value: "-": <subdomain>'],
    ),
    "no namespace": ({"name": "a"}, ["metadata.namespace: Required value"]),
    "a bad namespace": (
        {"name": "a", "namespace": "a.b"},
        ['metadata.namespace: Invalid value: "a.b": must not contain dots'],
    ),
    "a bad key and a bad value of a label": (
        {"name": "a", "namespace": "n", "labels": {"a b": "c d"}},
        [
            ('metadata.labels: Invalid value: "a b": <qualified name>'),
            'metadata.labels: Invalid value: "c d": <label value>',
        ],
    ),
    "a bad key of an annotation": (
        {"name": "a", "namespace": "n", "annotations": {"a b": "any text"}},
        ['metadata.annotations: Invalid value: "a b": <qualified name>'],
    ),
    "an annotation's key may have upper case in its domain": (
        {"name": "a", "namespace": "n", "annotations": {"Acme.io/x": ""}},
        [],
    ),
    "annotations of more than 256 KiB": (
        {"name": "a", "namespace": "n", "annotations": {"a": "x" * 262_144}},
        ["metadata.annotations: Too long: may not be more than 262144 bytes"],
    ),
    "an empty owner": (
        {
            "name": "a",
            "namespace": "n",
            "ownerReferences": [{"apiVersion": "", "kind": "", "name": "", "uid": ""}],
        },
        [
            "metadata.ownerReferences[0].apiVersion: Required value: must not be empty",
            "metadata.ownerReferences[0].kind: Required value: must not be empty",
            "metadata.ownerReferences[0].name: Required value: must not be empty",
            "metadata.ownerReferences[0].uid: Required value: must not be empty",
        ],
    ),
    "an owner's version with two slashes": (
        {"name": "a", "namespace": "n", "ownerReferences": [OWNER | {"apiVersion": "a/b/c"}]},
        [
            'metadata.ownerReferences[0].apiVersion: Invalid value: "a/b/c": must be '
            "<group>/<version> or <version>"
        ],
    ),
    "an owner's group without a version": (
        {
            "name": "a",
            "namespace": "n",
            "ownerReferences": [OWNER, OWNER | {"apiVersion": "apps/"}],
        },
        [
            'metadata.ownerReferences[1].apiVersion: Invalid value: "apps/": must be '
            "<group>/<version> or <version>"
        ],
    ),
    "an Event as owner": (
        {
            "name": "a",
            "namespace": "n",
            "ownerReferences": [OWNER | {"apiVersion": "v1", "kind": "Event"}],
        },
        [
            "metadata.ownerReferences[0]: Invalid value: "
            '{"apiVersion":"v1","kind":"Event","name":"r","uid":"u"}: /v1, Kind=Event is '
            "disallowed from being an owner"
        ],
    ),
    "one controller among owners": (
        {"name": "a", "namespace": "n", "ownerReferences": [OWNER | {"controller": True}, OWNER]},
        [],
    ),
    "a bad finalizer": (
        {"name": "a", "namespace": "n", "finalizers": ["a b"]},
        ['metadata.finalizers: Invalid value: "a b": <qualified name>'],
    ),
    "orphan and foreground deletion": (
        {"name": "a", "namespace": "n", "finalizers": ["orphan", "foregroundDeletion"]},
        [
            'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: '
            "finalizer orphan and foregroundDeletion cannot be both set"
        ],
    ),
    "a bad manager of fields": (
        {
            "name": "a",
            "namespace": "n",
            "managedFields": [
                {"operation": "Own", "fieldsType": "FieldsV2"},
                {"operation": "Apply"},
                {},
            ],
        },
        [
            'metadata.managedFields[0].operation: Unsupported value: "Own": supported values: '
            '"Apply", "Update"',
            ('metadata.managedFields[0].fieldsType: Invalid value: "FieldsV2": must be `FieldsV1`'),
            "metadata.managedFields[2].operation: Required value: must not be empty",
        ],
    ),
}


@pytest.mark.parametrize(("metadata", "expected"), NEW.values(), ids=NEW)
def test_metadata_of_new_objects(metadata: dict[str, Any], expected: list[str]) -> None:
    assert texts(check_metadata(metadata, True, name_check("Pod"))) == expected


def test_two_controllers() -> None:
    owners = [OWNER | {"controller": True}, OWNER | {"name": "s", "controller": True}]
    metadata = {"name": "a", "namespace": "n", "ownerReferences": owners}
    (problem,) = texts(check_metadata(metadata, True, name_check("Pod")))
    assert problem.endswith(
        'Only one reference can have Controller set to true. Found "true" in references for '
        "ReplicaSet/r and ReplicaSet/s"
    )


def test_an_object_outside_of_namespaces() -> None:
    check = name_check("Node")
    assert check_metadata({"name": "a"}, False, check) == []
    assert texts(check_metadata({"name": "a", "namespace": "n"}, False, check)) == [
        "metadata.namespace: Forbidden: not allowed on this type"
    ]


@pytest.mark.parametrize(
    ("kind", "name", "valid"),
    [
        ("Pod", "a.b", True),
        ("Pod", "system:a", False),
        ("ClusterRole", "system:a", True),
        ("RoleBinding", "a/b", False),
    ],
)
def test_names_of_kinds(kind: str, name: str, valid: bool) -> None:
    assert (not name_check(kind)(name)) is valid


def test_the_check_of_a_name_is_the_caller_s() -> None:
    assert check_metadata({"name": "A:b"}, False, path_segment_problems) == []
    assert check_metadata({"name": "a.b"}, False, label_problems) != []


def test_finalizers_of_built_in_kinds_are_qualified_or_standard() -> None:
    metadata = {"finalizers": ["kubernetes", "orphan", "foregroundDeletion", "a/b", "mine"]}
    assert texts(check_kube_finalizers(metadata)) == [
        'metadata.finalizers[4]: Invalid value: "mine": name is neither a standard finalizer name '
        "nor is it fully qualified"
    ]


OLD = {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1"}
CHANGED: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "nothing": ({}, {}, []),
    "the labels": ({}, {"labels": {"a": "b"}}, []),
    "a bad label": (
        {},
        {"labels": {"a": "b c"}},
        ['metadata.labels: Invalid value: "b c": <label value>'],
    ),
    "a finalizer": ({}, {"finalizers": ["a/b"]}, []),
    "a finalizer goes while the object is deleted": (
        {"deletionTimestamp": "t", "finalizers": ["a/b"]},
        {"deletionTimestamp": "t"},
        [],
    ),
    "no version": (
        {},
        {"resourceVersion": ""},
        ['metadata.resourceVersion: Invalid value: "": must be specified for an update'],
    ),
    "name, namespace and identity": (
        {},
        {"name": "b", "namespace": "m", "uid": "v"},
        [
            'metadata.name: Invalid value: "b": field is immutable',
            'metadata.namespace: Invalid value: "m": field is immutable',
            'metadata.uid: Invalid value: "v": field is immutable',
        ],
    ),
    "the times of creation and deletion": (
        {"creationTimestamp": "t"},
        {"creationTimestamp": "s", "deletionTimestamp": "t", "deletionGracePeriodSeconds": 5},
        [
            'metadata.creationTimestamp: Invalid value: "s": field is immutable',
            'metadata.deletionTimestamp: Invalid value: "t": field is immutable',
            "metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable",
        ],
    ),
}


@pytest.mark.parametrize(("before", "change", "expected"), CHANGED.values(), ids=CHANGED)
def test_metadata_of_updated_objects(
    before: dict[str, Any], change: dict[str, Any], expected: list[str]
) -> None:
    assert texts(check_metadata_update(OLD | change, OLD | before)) == expected


SELECTORS: dict[str, tuple[dict[str, Any] | None, list[str]]] = {
    "no selector": (None, []),
    "labels and expressions": (
        {
            "matchLabels": {"a": "b"},
            "matchExpressions": [
                {"key": "a", "operator": "In", "values": ["b"]},
                {"key": "a", "operator": "DoesNotExist"},
            ],
        },
        [],
    ),
    "no values to be in": (
        {"matchExpressions": [{"key": "a", "operator": "NotIn"}]},
        [
            "f.matchExpressions[0].values: Required value: must be specified when "
            "`operator` is 'In' or 'NotIn'"
        ],
    ),
    "values to exist": (
        {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
        [
            "f.matchExpressions[0].values: Forbidden: may not be specified when "
            "`operator` is 'Exists' or 'DoesNotExist'"
        ],
    ),
    "an operator of nodes alone": (
        {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
        [('f.matchExpressions[0].operator: Invalid value: "Gt": not a valid selector operator')],
    ),
    "a bad key and a bad value": (
        {"matchExpressions": [{"key": "a b", "operator": "In", "values": ["c", "d e"]}]},
        [
            ('f.matchExpressions[0].key: Invalid value: "a b": <qualified name>'),
            'f.matchExpressions[0].values[1]: Invalid value: "d e": <label value>',
        ],
    ),
}


@pytest.mark.parametrize(("selector", "expected"), SELECTORS.values(), ids=SELECTORS)
def test_selectors(selector: dict[str, Any] | None, expected: list[str]) -> None:
    assert texts(check_selector(selector, "f")) == expected


def test_values_of_a_selector_may_go_unchecked() -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["d e"]}]}
    assert check_selector(selector, "f", invalid_values=True) == []


@pytest.mark.parametrize(
    ("selector", "empty"),
    [
        (None, True),
        ({}, True),
        ({"matchLabels": {}, "matchExpressions": []}, True),
        ({"matchLabels": {"a": "b"}}, False),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, False),
    ],
    ids=["none", "no parts", "empty parts", "labels", "expressions"],
)
def test_whether_a_selector_selects_everything(selector: Any, empty: bool) -> None:
    assert is_empty_selector(selector) is empty


def test_labels_may_be_missing() -> None:
    assert check_labels(None, "f") == []
