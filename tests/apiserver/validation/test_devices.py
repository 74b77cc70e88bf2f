from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.validation.objects import Object, made, refused, update_refusals

V1 = "resource.k8s.io/v1"
POOL = {"name": "p", "resourceSliceCount": 1, "generation": 1}


VALUES = "`int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`"


def _spec(**more: Any) -> Object:
    return {"driver": "d.io", "pool": POOL, "nodeName": "n", **more}


def _device(**more: Any) -> Object:
    return _spec(devices=[{"name": "d", **more}])


RULES: dict[str, tuple[Object, list[str]]] = {
    "every device": ({"taint": {"key": "k", "effect": "NoSchedule"}}, []),
    "one device": (
        {
            "deviceSelector": {"driver": "d.io", "pool": "p/q", "device": "d"},
            "taint": {"key": "k", "value": "v", "effect": "None"},
        },
        [],
    ),
    "nothing good": (
        {
            "deviceSelector": {"driver": "", "pool": "", "device": "D"},
            "taint": {"key": "k", "effect": "Odd"},
        },
        [
            "spec.deviceSelector.driver: Required value",
            "spec.deviceSelector.pool: Required value",
            'spec.deviceSelector.device: Invalid value: "D": <label>',
            'spec.taint.effect: Unsupported value: "Odd": supported values: "NoExecute", '
            '"NoSchedule", "None"',
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), RULES.values(), ids=RULES)
def test_rules_that_taint_devices(spec: Object, expected: list[str]) -> None:
    assert refused(V1, "DeviceTaintRule", spec=spec) == expected


_NODES = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}


def _grouped(*groups: str) -> Object:
    one = {"counterSet": "c", "counters": {}, "compatibilityGroups": list(groups)}
    return _device(consumesCounters=[one])


_GROUPS = "spec.devices[0].consumesCounters[0].compatibilityGroups"

SLICES: dict[str, tuple[Object, list[str]]] = {
    "compatibility groups": (_grouped("g", "h"), []),
    "too many compatibility groups": (
        _grouped("g", "h", "i"),
        [f"{_GROUPS}: Too many: 3: must have at most 2 items"],
    ),
    "the same compatibility group twice": (
        _grouped("g", "g"),
        [f'{_GROUPS}[1]: Duplicate value: "g"'],
    ),
    "a bad compatibility group": (
        _grouped("G"),
        [f'{_GROUPS}[0]: Invalid value: "G": <label>'],
    ),
    "a long compatibility group": (
        _grouped("g-" * 31 + "gg"),
        [f'{_GROUPS}[0]: Invalid value: "{"g-" * 31}gg": must be no more than 63 bytes'],
    ),
    "a slice": (
        _device(
            attributes={"model": {"string": "m"}, "a.io/v": {"version": "1.0.0"}},
            capacity={"memory": {"value": "1Gi"}},
        ),
        [],
    ),
    "no driver and a bad pool": (
        _spec(driver="", pool={"name": "", "resourceSliceCount": 0, "generation": -1}),
        [
            "spec.driver: Required value",
            "spec.pool.name: Required value",
            "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
            "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero",
        ],
    ),
    "a bad name of a pool": (
        _spec(pool=POOL | {"name": "a/B"}),
        ['spec.pool.name: Invalid value: "B": <subdomain>'],
    ),
    "a long name of a pool": (
        _spec(pool=POOL | {"name": "/".join(["a" * 120] * 3)}),
        ["spec.pool.name: Too long: may not be more than 253 bytes"],
    ),
    "no place": (
        {"driver": "d.io", "pool": POOL},
        [
            "spec: Required value: exactly one of `nodeName`, `nodeSelector`, "
            "`allNodes`, `perDeviceNodeSelection` is required"
        ],
    ),
    "two places": (
        _spec(nodeSelector=_NODES),
        [
            'spec: Invalid value: "{`nodeName`, `nodeSelector`}": exactly one of '
            "`nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is "
            "required, but multiple fields are set"
        ],
    ),
    "an empty node and not all nodes": (
        _spec(nodeName="", allNodes=False),
        [
            'spec.nodeName: Invalid value: "": must be either unset or set to a non-empty string',
            "spec: Required value: exactly one of `nodeName`, `nodeSelector`, "
            "`allNodes`, `perDeviceNodeSelection` is required",
            "spec.allNodes: Invalid value: false: must be either unset or set to true",
        ],
    ),
    "a bad node": (_spec(nodeName="N"), ['spec.nodeName: Invalid value: "N": <subdomain>']),
    "devices of one name, with a bad name": (
        _spec(devices=[{"name": "a"}, {"name": "a"}, {"name": "B"}]),
        [
            'spec.devices[1]: Duplicate value: "a"',
            'spec.devices[2].name: Invalid value: "B": <label>',
        ],
    ),
    "an attribute without a value": (
        _device(attributes={"a": {}}),
        [f'spec.devices[0].attributes[a]: Invalid value: "": must specify one of: {VALUES}'],
    ),
    "an attribute of two values": (
        _device(attributes={"a": {"int": 1, "bool": True}}),
        [
            'spec.devices[0].attributes[a]: Invalid value: "{int, bool}": '
            f"must specify exactly one of: {VALUES}"
        ],
    ),
    "a bad version": (
        _device(attributes={"a": {"version": "1.0"}}),
        [
            'spec.devices[0].attributes[a].version: Invalid value: "1.0": must be a '
            "string compatible with semver.org spec 2.0.0"
        ],
    ),
    "a long value": (
        _device(attributes={"a": {"string": "s" * 65}}),
        ["spec.devices[0].attributes[a].string: Too long: may not be more than 64 bytes"],
    ),
    "bad names of attributes and capacities": (
        _device(attributes={"a-b": {"int": 1}}, capacity={"/c": {"value": "1"}}),
        [
            'spec.devices[0].attributes: Invalid value: "a-b": a valid C identifier must '
            "start with alphabetic character or '_', followed by a string of "
            "alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or "
            "'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')",
            'spec.devices[0].capacity: Invalid value: "": the domain must not be empty',
        ],
    ),
    "a policy of a device that is not shared": (
        _device(capacity={"c": {"value": "1", "requestPolicy": {"default": "1"}}}),
        [
            "spec.devices[0].capacity[c].requestPolicy: Forbidden: "
            "allowMultipleAllocations must be true"
        ],
    ),
    "a policy of a shared device": (
        _device(
            allowMultipleAllocations=True,
            capacity={"c": {"value": "1", "requestPolicy": {"default": "1"}}},
        ),
        [],
    ),
    "bad taints": (
        _device(taints=[{"key": "a b", "value": "c d", "effect": ""}]),
        [
            'spec.devices[0].taints[0].key: Invalid value: "a b": <qualified name>',
            'spec.devices[0].taints[0].value: Invalid value: "c d": <label value>',
            "spec.devices[0].taints[0].effect: Required value",
        ],
    ),
    "a place of its own without leave": (
        _device(nodeName="n"),
        [
            "spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and "
            "`allNodes` can only be set if `perDeviceNodeSelection` is set to true in "
            "the ResourceSlice spec"
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), SLICES.values(), ids=SLICES)
def test_slices(spec: Object, expected: list[str]) -> None:
    assert refused(V1, "ResourceSlice", spec=spec) == expected


CHANGES: dict[str, tuple[Object, list[str]]] = {
    "devices change": ({"devices": [{"name": "e"}]}, []),
    "pool, driver and node stay": (
        {"driver": "e.io", "nodeName": "m", "pool": {"name": "q"}},
        [
            'spec.pool.name: Invalid value: "q": field is immutable',
            'spec.driver: Invalid value: "e.io": field is immutable',
            'spec.nodeName: Invalid value: "m": field is immutable',
        ],
    ),
}


@pytest.mark.parametrize(("change", "expected"), CHANGES.values(), ids=CHANGES)
def test_changes_of_slices(change: Object, expected: list[str]) -> None:
    assert update_refusals(made(V1, "ResourceSlice", spec=_spec()), {"spec": change}) == expected
