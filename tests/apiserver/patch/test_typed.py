from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.patch.field_set import FieldSet
from mooring.apiserver.patch.typed import (
    TypedError,
    compare,
    element_of,
    field_set,
    merge,
    problems,
    remove,
    with_named_fields,
)
from mooring.controlplane.type_table import STRUCT, TypeKind, types


def _kind(version: str = "v1", kind: str = "Pod") -> TypeKind:
    found = types().find(version, kind)
    assert found is not None
    return TypeKind(STRUCT, type=found)


POD = _kind()


def _pod(**spec: Any) -> dict[str, Any]:
    return {"spec": spec}


def _paths(fields: FieldSet) -> list[str]:
    return sorted("/".join(path) for path in fields.paths())


PROBLEMS: dict[str, tuple[Any, list[str]]] = {
    "a pod": (_pod(containers=[{"name": "a", "image": "i"}], hostNetwork=True), []),
    "an unknown field": ({"odd": 1}, [".odd: field not declared in schema"]),
    "no list": (_pod(containers={"a": 1}), [".spec.containers: expected list, got &{map[a:1]}"]),
    "no map": ({"spec": "text"}, [".spec: expected map, got &{text}"]),
    "no text": (
        _pod(nodeName=5),
        [".spec.nodeName: expected string, got &value.valueUnstructured{Value:5}"],
    ),
    "a map that is no text": (
        _pod(nodeName={"a": [True]}),
        [
            ".spec.nodeName: expected string, got "
            '&value.valueUnstructured{Value:map[string]interface {}{"a":[]interface '
            "{}{true}}}"
        ],
    ),
    "no number": (
        _pod(activeDeadlineSeconds="5"),
        [".spec.activeDeadlineSeconds: expected numeric (int or float), got string"],
    ),
    "truth that is no number": (
        _pod(activeDeadlineSeconds=True),
        [".spec.activeDeadlineSeconds: expected numeric (int or float), got bool"],
    ),
    "no truth": (_pod(hostNetwork="yes"), [".spec.hostNetwork: expected boolean, got &{yes}"]),
    "no scalar": (
        {"metadata": {"creationTimestamp": {"a": 1}}},
        [".metadata.creationTimestamp: expected any scalar, got &{map[a:1]}"],
    ),
    "an item that is no map": (
        _pod(containers=["a"]),
        [".spec.containers: element 0: associative list with keys may not have non-map elements"],
    ),
    "an item that is null": (
        _pod(containers=[None]),
        [".spec.containers: element 0: associative list with keys may not have a null element"],
    ),
    "an item without keys": (_pod(containers=[{"image": "i"}]), []),
    "an item twice": (
        _pod(containers=[{"name": "a"}, {"name": "a"}]),
        ['.spec.containers: duplicate entries for key [name="a"]'],
    ),
    "a text twice in a set": (
        {"metadata": {"finalizers": ["a", "a"]}},
        ['.metadata.finalizers: duplicate entries for key [="a"]'],
    ),
    "a map in a set": (
        {"metadata": {"finalizers": [{}]}},
        [
            ".metadata.finalizers: element 0: associative list without keys has an "
            "element that's a map type"
        ],
    ),
    "a list in a set": (
        {"metadata": {"finalizers": [[]]}},
        [".metadata.finalizers: element 0: not supported: associative list with lists as elements"],
    ),
    "null in a set": (
        {"metadata": {"finalizers": [None]}},
        [
            ".metadata.finalizers: element 0: associative list without keys has an "
            "element that's an explicit null"
        ],
    ),
    "null anywhere else": (_pod(containers=None, nodeName=None), []),
}


@pytest.mark.parametrize(("value", "expected"), PROBLEMS.values(), ids=PROBLEMS)
def test_problems(value: Any, expected: list[str]) -> None:
    assert problems(POD, value) == expected


def test_duplicates_may_be_allowed() -> None:
    twice = _pod(containers=[{"name": "a"}, {"name": "a"}])
    assert problems(POD, twice, duplicates=True) == []


FIELDS: dict[str, tuple[Any, list[str]]] = {
    "nothing": ({}, []),
    "a leaf": (_pod(nodeName="n"), ["f:spec/f:nodeName"]),
    "an empty map is a field": (_pod(securityContext={}), ["f:spec/f:securityContext"]),
    "null is a field": (_pod(nodeName=None), ["f:spec/f:nodeName"]),
    "items have keys": (
        _pod(containers=[{"name": "a", "image": "i"}]),
        [
            'f:spec/f:containers/k:{"name":"a"}',
            'f:spec/f:containers/k:{"name":"a"}/f:image',
            'f:spec/f:containers/k:{"name":"a"}/f:name',
        ],
    ),
    "keys have defaults": (
        _pod(containers=[{"name": "a", "ports": [{"containerPort": 80}]}]),
        [
            'f:spec/f:containers/k:{"name":"a"}',
            'f:spec/f:containers/k:{"name":"a"}/f:name',
            'f:spec/f:containers/k:{"name":"a"}/f:ports/k:{"containerPort":80,"protocol":"TCP"}',
            'f:spec/f:containers/k:{"name":"a"}/f:ports/k:{"containerPort":80,"protocol":"TCP"}/f'
            ":containerPort",
        ],
    ),
    "an atomic list is one field": (
        _pod(containers=[{"name": "a", "command": ["x", "y"]}]),
        [
            'f:spec/f:containers/k:{"name":"a"}',
            'f:spec/f:containers/k:{"name":"a"}/f:command',
            'f:spec/f:containers/k:{"name":"a"}/f:name',
        ],
    ),
    "an atomic map is one field": (_pod(nodeSelector={"a": "b"}), ["f:spec/f:nodeSelector"]),
    "entries of a map": ({"metadata": {"labels": {"a": "b"}}}, ["f:metadata/f:labels/f:a"]),
    "a set of texts": ({"metadata": {"finalizers": ["a"]}}, ['f:metadata/f:finalizers/v:"a"']),
    "an item twice": (
        _pod(containers=[{"name": "a", "image": "i"}, {"name": "a"}]),
        ['f:spec/f:containers/k:{"name":"a"}'],
    ),
    "an unknown field is left out": ({"odd": 1}, []),
}


@pytest.mark.parametrize(("value", "expected"), FIELDS.values(), ids=FIELDS)
def test_fields_of_a_value(value: Any, expected: list[str]) -> None:
    assert _paths(field_set(POD, value)) == expected


A, B = {"name": "a", "image": "i"}, {"name": "b", "image": "j"}
CHANGES: dict[str, tuple[Any, Any, dict[str, list[str]]]] = {
    "nothing": (_pod(nodeName="n"), _pod(nodeName="n"), {}),
    "a field": (
        _pod(nodeName="n"),
        _pod(nodeName="m"),
        {
            "modified": ["f:spec/f:nodeName"],
        },
    ),
    "a new field": (
        _pod(),
        _pod(nodeName="m"),
        {
            "added": ["f:spec/f:nodeName"],
        },
    ),
    "a field that goes": (
        _pod(nodeName="n"),
        _pod(),
        {
            "removed": ["f:spec/f:nodeName"],
        },
    ),
    "a new item": (
        _pod(containers=[A]),
        _pod(containers=[A, B]),
        {
            "added": [
                'f:spec/f:containers/k:{"name":"b"}',
                'f:spec/f:containers/k:{"name":"b"}/f:image',
                'f:spec/f:containers/k:{"name":"b"}/f:name',
            ],
        },
    ),
    "an item that goes": (
        _pod(containers=[A, B]),
        _pod(containers=[B]),
        {
            "removed": [
                'f:spec/f:containers/k:{"name":"a"}',
                'f:spec/f:containers/k:{"name":"a"}/f:image',
                'f:spec/f:containers/k:{"name":"a"}/f:name',
            ],
        },
    ),
    "part of an item": (
        _pod(containers=[A]),
        _pod(containers=[A | {"image": "k"}]),
        {
            "modified": ['f:spec/f:containers/k:{"name":"a"}/f:image'],
        },
    ),
    "another order changes nothing": (_pod(containers=[A, B]), _pod(containers=[B, A]), {}),
    "items that were twice": (
        _pod(containers=[A, A]),
        _pod(containers=[A]),
        {
            "added": [
                'f:spec/f:containers/k:{"name":"a"}',
                'f:spec/f:containers/k:{"name":"a"}/f:image',
                'f:spec/f:containers/k:{"name":"a"}/f:name',
            ],
            "removed": ['f:spec/f:containers/k:{"name":"a"}'],
        },
    ),
    "items that are twice now": (
        _pod(containers=[A]),
        _pod(containers=[A, A]),
        {
            "added": ['f:spec/f:containers/k:{"name":"a"}'],
            "removed": [
                'f:spec/f:containers/k:{"name":"a"}',
                'f:spec/f:containers/k:{"name":"a"}/f:image',
                'f:spec/f:containers/k:{"name":"a"}/f:name',
            ],
        },
    ),
    "items twice, changed": (
        _pod(containers=[A, A]),
        _pod(containers=[A, A | {"image": "k"}]),
        {
            "modified": ['f:spec/f:containers/k:{"name":"a"}'],
        },
    ),
    "an atomic map": (
        _pod(nodeSelector={"a": "b"}),
        _pod(nodeSelector={"a": "c"}),
        {
            "modified": ["f:spec/f:nodeSelector"],
        },
    ),
    "a map that empties": (
        {"metadata": {"labels": {"a": "b"}}},
        {"metadata": {"labels": {}}},
        {
            "removed": ["f:metadata/f:labels/f:a"],
        },
    ),
    "a new map with all that it holds": (
        {},
        {"metadata": {"labels": {"a": "b"}, "name": "n"}},
        {
            "added": [
                "f:metadata",
                "f:metadata/f:labels",
                "f:metadata/f:labels/f:a",
                "f:metadata/f:name",
            ],
        },
    ),
    "new items that are twice": (
        {},
        _pod(containers=[A, A]),
        {
            "added": [
                "f:spec",
                "f:spec/f:containers",
                'f:spec/f:containers/k:{"name":"a"}',
            ],
        },
    ),
    "truth is no number": (_pod(priority=1), _pod(priority=True), {}),
    "unknown fields are left out": ({"odd": 1}, {"odd": 2}, {}),
}


@pytest.mark.parametrize(("old", "new", "expected"), CHANGES.values(), ids=CHANGES)
def test_comparisons(old: Any, new: Any, expected: dict[str, list[str]]) -> None:
    found = compare(POD, old, new)
    sides = {"added": found.added, "modified": found.modified, "removed": found.removed}
    assert {name: _paths(one) for name, one in sides.items() if not one.empty()} == expected


def test_a_comparison_without_some_fields() -> None:
    found = compare(POD, _pod(nodeName="n"), _pod(nodeName="m", hostname="h"))
    left = found.without(field_set(POD, _pod(nodeName="x")))
    assert (_paths(left.modified), _paths(left.added)) == ([], ["f:spec/f:hostname"])


MERGES: dict[str, tuple[Any, Any, Any]] = {
    "a new field": (
        _pod(nodeName="n"),
        _pod(hostname="h"),
        {
            "spec": {
                "nodeName": "n",
                "hostname": "h",
            },
        },
    ),
    "the applied value": (
        _pod(nodeName="n"),
        _pod(nodeName="m"),
        {
            "spec": {
                "nodeName": "m",
            },
        },
    ),
    "items by their keys": (
        _pod(containers=[A]),
        _pod(containers=[{"name": "a", "tty": True}]),
        {
            "spec": {
                "containers": [
                    {
                        "name": "a",
                        "image": "i",
                        "tty": True,
                    }
                ],
            },
        },
    ),
    "new items follow": (
        _pod(containers=[A]),
        _pod(containers=[B]),
        {
            "spec": {
                "containers": [
                    {
                        "name": "a",
                        "image": "i",
                    },
                    {
                        "name": "b",
                        "image": "j",
                    },
                ],
            },
        },
    ),
    "applied items take the applied order": (
        _pod(containers=[A, {"name": "x"}, B]),
        _pod(containers=[{"name": "b"}, {"name": "a"}]),
        {
            "spec": {
                "containers": [
                    {
                        "name": "x",
                    },
                    {
                        "name": "b",
                        "image": "j",
                    },
                    {
                        "name": "a",
                        "image": "i",
                    },
                ],
            },
        },
    ),
    "an item that was twice is replaced": (
        _pod(containers=[A, A]),
        _pod(containers=[{"name": "a", "tty": True}]),
        {
            "spec": {
                "containers": [
                    {
                        "name": "a",
                        "tty": True,
                    }
                ],
            },
        },
    ),
    "an atomic list": (
        _pod(containers=[A | {"command": ["x"]}]),
        _pod(containers=[{"name": "a", "command": ["y"]}]),
        {
            "spec": {
                "containers": [
                    {
                        "name": "a",
                        "image": "i",
                        "command": ["y"],
                    }
                ],
            },
        },
    ),
    "labels": (
        {"metadata": {"labels": {"a": "1"}}},
        {"metadata": {"labels": {"b": "2"}}},
        {
            "metadata": {
                "labels": {
                    "a": "1",
                    "b": "2",
                },
            },
        },
    ),
    "nothing live": (
        {},
        _pod(nodeName="n"),
        {
            "spec": {
                "nodeName": "n",
            },
        },
    ),
    "nothing at all": ({}, {}, {}),
}


@pytest.mark.parametrize(("live", "config", "expected"), MERGES.values(), ids=MERGES)
def test_merges(live: Any, config: Any, expected: Any) -> None:
    assert merge(POD, live, config) == expected


REMOVALS: dict[str, tuple[Any, Any, Any]] = {
    "a field": (
        _pod(nodeName="n", hostname="h"),
        _pod(nodeName="x"),
        {
            "spec": {
                "hostname": "h",
            },
        },
    ),
    "an item": (
        _pod(containers=[A, B]),
        _pod(containers=[{"name": "a"}]),
        {
            "spec": {
                "containers": [
                    {
                        "name": "b",
                        "image": "j",
                    }
                ],
            },
        },
    ),
    "part of a map": (
        {"metadata": {"labels": {"a": "1", "b": "2"}}},
        {"metadata": {"labels": {"a": ""}}},
        {
            "metadata": {
                "labels": {
                    "b": "2",
                },
            },
        },
    ),
    "the last part of a map": (
        {"metadata": {"labels": {"a": "1"}}},
        {"metadata": {"labels": {"a": ""}}},
        {
            "metadata": {
                "labels": None,
            },
        },
    ),
    "nothing that is there": (
        _pod(nodeName="n"),
        _pod(hostname="h"),
        {
            "spec": {
                "nodeName": "n",
            },
        },
    ),
    "everything": (
        _pod(nodeName="n"),
        _pod(nodeName="n"),
        {
            "spec": None,
        },
    ),
}


@pytest.mark.parametrize(("value", "gone", "expected"), REMOVALS.values(), ids=REMOVALS)
def test_removals(value: Any, gone: Any, expected: Any) -> None:
    assert remove(POD, value, field_set(POD, gone)) == expected


def test_declared_parents_become_members() -> None:
    fields = field_set(POD, _pod(containers=[{"name": "a", "image": "i"}]))
    assert "f:spec" not in fields.members
    named = with_named_fields(POD, fields)
    assert "f:spec" in named.members
    assert _paths(fields) == [path for path in _paths(named) if path in _paths(fields)]


def test_elements_of_lists() -> None:
    spec = POD.type.fields["spec"].kind if POD.type is not None else None
    assert spec is not None and spec.type is not None
    containers = spec.type.fields["containers"].kind
    assert element_of(containers, {"name": "a", "image": "i"}) == 'k:{"name":"a"}'
    assert element_of(containers, {"image": "i"}) == 'k:{"name":""}'
    with pytest.raises(TypedError, match="may not have a null element"):
        element_of(containers, None)
