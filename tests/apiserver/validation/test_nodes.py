from __future__ import annotations

import pytest

from tests.apiserver.validation.objects import Object, made, refused, update_refusals

NODES: dict[str, tuple[Object, list[str]]] = {
    "a node": ({"spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24", "fd00::/64"]}}, []),
    "an unknown effect": (
        {"spec": {"taints": [{"key": "k", "effect": "X"}]}},
        [
            'metadata.taints[0].effect: Unsupported value: "X": supported values: '
            '"NoSchedule", "PreferNoSchedule", "NoExecute"'
        ],
    ),
    "a taint without effect, with a bad key and value": (
        {"spec": {"taints": [{"key": "a b", "value": "c d", "effect": ""}]}},
        [
            'metadata.taints[0].key: Invalid value: "a b": <qualified name>',
            'metadata.taints[0].value: Invalid value: "c d": <label value>',
            "metadata.taints[0].effect: Required value",
        ],
    ),
    "two taints of a key and effect": (
        {
            "spec": {
                "taints": [
                    {"key": "k", "effect": "NoSchedule"},
                    {"key": "k", "effect": "NoExecute"},
                    {"key": "k", "value": "v", "effect": "NoSchedule"},
                ]
            }
        },
        [
            "metadata.taints[2]: Duplicate value: "
            '{"key":"k","value":"v","effect":"NoSchedule"}: taints must be unique by key '
            "and effect pair"
        ],
    ),
    "a bad range of addresses": (
        {"spec": {"podCIDR": "x", "podCIDRs": ["x"]}},
        [
            'spec.podCIDRs[0]: Invalid value: "x": must be a valid CIDR value, (e.g. '
            "10.9.8.0/24 or 2001:db8::/64)"
        ],
    ),
    "two ranges of one family": (
        {"spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24", "10.1.0.0/24"]}},
        [
            'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]: may specify no '
            "more than one CIDR for each IP family"
        ],
    ),
    "negative resources": (
        {"status": {"capacity": {"cpu": "-1"}, "allocatable": {"pods": "1.5"}}},
        [
            'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
            'status.allocatable.pods: Invalid value: "1500m": must be an integer',
        ],
    ),
}


@pytest.mark.parametrize(("fields", "expected"), NODES.values(), ids=NODES)
def test_new_nodes(fields: Object, expected: list[str]) -> None:
    assert refused("v1", "Node", **fields) == expected


OLD = {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"], "providerID": "p"}
CHANGES: dict[str, tuple[Object, Object, list[str]]] = {
    "addresses and a provider are set once": ({}, {"spec": OLD}, []),
    "the range of addresses stays": (
        OLD,
        {"spec": {"podCIDRs": ["10.1.0.0/24"]}},
        ['spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid'],
    ),
    "the provider stays": (
        OLD,
        {"spec": {"providerID": "q"}},
        ["spec.providerID: Invalid value: null: field cannot be modified once set"],
    ),
    "the provider is not forgotten": (
        OLD,
        {"spec": {"providerID": ""}},
        ["spec.providerID: Invalid value: null: field cannot be cleared once set"],
    ),
    "a bad taint": (
        {},
        {"spec": {"taints": [{"key": "k", "effect": "X"}]}},
        [
            'metadata.taints[0].effect: Unsupported value: "X": supported values: '
            '"NoSchedule", "PreferNoSchedule", "NoExecute"'
        ],
    ),
    "an address twice": (
        {},
        {"status": {"addresses": [{"type": "Hostname", "address": "a"}] * 2}},
        ['status.addresses[1]: Duplicate value: {"type":"Hostname","address":"a"}'],
    ),
    "a negative amount": (
        {},
        {"status": {"capacity": {"cpu": "-1"}}},
        ['status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0'],
    ),
}


@pytest.mark.parametrize(("spec", "change", "expected"), CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("subresource", ["", "status"])
def test_changes_of_nodes(
    spec: Object, change: Object, expected: list[str], subresource: str
) -> None:
    assert update_refusals(made("v1", "Node", spec=spec), change, subresource) == expected
