from __future__ import annotations

import pytest

from mooring.apiserver.validation.scheduling import (
    check_affinity,
    check_gates,
    check_node_selector,
    check_spreading,
    check_tolerations,
)
from tests.apiserver.validation.objects import Object, texts

TOLERATIONS: dict[str, tuple[Object, list[str]]] = {
    "everything": ({"operator": "Exists"}, []),
    "a key and a value": ({"key": "a", "value": "b", "effect": "NoSchedule"}, []),
    "no key to be equal": (
        {"operator": "Equal"},
        [
            'f[0].operator: Invalid value: "Equal": operator must be Exists when `key` '
            'is empty, which means "match all values and all keys"'
        ],
    ),
    "a bad key and a bad value": (
        {"key": "a b", "value": "c d"},
        [
            'f[0].key: Invalid value: "a b": <qualified name>',
            'f[0].operator: Invalid value: "c d": <label value>',
        ],
    ),
    "a value to exist": (
        {"key": "a", "operator": "Exists", "value": "b"},
        ["f[0].operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'"],
    ),
    "an unknown operator": (
        {"key": "a", "operator": "In"},
        ['f[0].operator: Unsupported value: "In": supported values: "Equal", "Exists"'],
    ),
    "an operator of numbers": (
        {"key": "a", "operator": "Lt", "value": "1"},
        ['f[0].operator: Unsupported value: "Lt": supported values: "Equal", "Exists", "Lt", "Gt"'],
    ),
    "an unknown effect": (
        {"key": "a", "effect": "Evict"},
        [
            'f[0].effect: Unsupported value: "Evict": supported values: "NoSchedule", '
            '"PreferNoSchedule", "NoExecute"'
        ],
    ),
    "seconds without eviction": (
        {"key": "a", "effect": "NoSchedule", "tolerationSeconds": 5},
        [
            "f[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when "
            "`tolerationSeconds` is set"
        ],
    ),
    "seconds before eviction": ({"key": "a", "effect": "NoExecute", "tolerationSeconds": 5}, []),
}


@pytest.mark.parametrize(("toleration", "expected"), TOLERATIONS.values(), ids=TOLERATIONS)
def test_tolerations(toleration: Object, expected: list[str]) -> None:
    assert texts(check_tolerations([toleration], "f")) == expected


def test_nothing_to_check() -> None:
    assert check_tolerations(None, "f") == check_affinity(None, "f") == []
    assert check_spreading(None, "f") == check_gates(None, "f") == []


NODES: dict[str, tuple[Object, list[str]]] = {
    "no terms": (
        {"nodeSelectorTerms": []},
        ["f.nodeSelectorTerms: Required value: must have at least one node selector term"],
    ),
    "an empty term": ({"nodeSelectorTerms": [{}]}, []),
    "each operator": (
        {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {"key": "a", "operator": "In", "values": ["b"]},
                        {"key": "a", "operator": "NotIn", "values": ["b"]},
                        {"key": "a", "operator": "Exists"},
                        {"key": "a", "operator": "DoesNotExist"},
                        {"key": "a", "operator": "Gt", "values": ["1"]},
                        {"key": "a", "operator": "Lt", "values": ["1"]},
                    ],
                    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
                }
            ]
        },
        [],
    ),
    "operators without the values they need": (
        {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {"key": "a", "operator": "In"},
                        {"key": "a", "operator": "Exists", "values": ["b"]},
                        {"key": "a", "operator": "Gt", "values": ["1", "2"]},
                        {"key": "a", "operator": "Is"},
                        {"key": "a b", "operator": "In", "values": ["c d"]},
                    ]
                }
            ]
        },
        [
            "f.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be "
            "specified when `operator` is 'In' or 'NotIn'",
            "f.nodeSelectorTerms[0].matchExpressions[1].values: Forbidden: may not be "
            "specified when `operator` is 'Exists' or 'DoesNotExist'",
            "f.nodeSelectorTerms[0].matchExpressions[2].values: Required value: must be "
            "specified single value when `operator` is 'Lt' or 'Gt'",
            'f.nodeSelectorTerms[0].matchExpressions[3].operator: Invalid value: "Is": '
            "not a valid selector operator",
            'f.nodeSelectorTerms[0].matchExpressions[4].key: Invalid value: "a b": '
            "<qualified name>",
            'f.nodeSelectorTerms[0].matchExpressions[4].values[0]: Invalid value: "c d": '
            "<label value>",
        ],
    ),
    "fields that do not select": (
        {
            "nodeSelectorTerms": [
                {
                    "matchFields": [
                        {"key": "metadata.name", "operator": "In", "values": ["a", "b"]},
                        {"key": "metadata.name", "operator": "Exists"},
                        {"key": "spec.x", "operator": "In", "values": ["a"]},
                        {"key": "metadata.name", "operator": "In", "values": ["A"]},
                    ]
                }
            ]
        },
        [
            "f.nodeSelectorTerms[0].matchFields[0].values: Required value: must be only "
            "one value when `operator` is 'In' or 'NotIn' for node field selector",
            'f.nodeSelectorTerms[0].matchFields[1].operator: Invalid value: "Exists": '
            "not a valid selector operator",
            'f.nodeSelectorTerms[0].matchFields[2].key: Invalid value: "spec.x": not a '
            "valid field selector key",
            'f.nodeSelectorTerms[0].matchFields[3].values[0]: Invalid value: "A": <subdomain>',
        ],
    ),
}


@pytest.mark.parametrize(("selector", "expected"), NODES.values(), ids=NODES)
def test_node_selectors(selector: Object, expected: list[str]) -> None:
    assert texts(check_node_selector(selector, "f")) == expected


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_SELECTOR = {"matchLabels": {"a": "b"}}

AFFINITY: dict[str, tuple[Object, list[str]]] = {
    "nodes that are required": (
        {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": []}}},
        [
            "f.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: "
            "Required value: must have at least one node selector term"
        ],
    ),
    "nodes that are preferred with bad weights": (
        {
            "nodeAffinity": {
                _PREFERRED: [
                    {"weight": 0, "preference": {}},
                    {"weight": 101, "preference": {}},
                    {"weight": 100, "preference": {}},
                ]
            }
        },
        [
            "f.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: "
            "Invalid value: 0: must be in the range 1-100",
            "f.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[1].weight: "
            "Invalid value: 101: must be in the range 1-100",
        ],
    ),
    "values of a preference are not checked": (
        {
            "nodeAffinity": {
                _PREFERRED: [
                    {
                        "weight": 1,
                        "preference": {
                            "matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]
                        },
                    }
                ]
            }
        },
        [],
    ),
    "pods in a place": ({"podAffinity": {_REQUIRED: [{"topologyKey": "z"}]}}, []),
    "pods without a place, in a bad namespace": (
        {"podAntiAffinity": {_REQUIRED: [{"topologyKey": "", "namespaces": ["n", "A"]}]}},
        [
            "f.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespace: "
            'Invalid value: "A": <label>',
            "f.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: "
            "Required value: can not be empty",
            "f.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: "
            'Invalid value: "": name part must be non-empty',
            "f.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: "
            'Invalid value: "": <qualified name>',
        ],
    ),
    "pods that are preferred with a bad weight": (
        {"podAffinity": {_PREFERRED: [{"weight": 0, "podAffinityTerm": {"topologyKey": "z"}}]}},
        [
            "f.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: "
            "Invalid value: 0: must be in the range 1-100"
        ],
    ),
    "bad selectors of pods and namespaces": (
        {
            "podAffinity": {
                _REQUIRED: [
                    {
                        "topologyKey": "z",
                        "labelSelector": {"matchLabels": {"a b": ""}},
                        "namespaceSelector": {"matchLabels": {"c d": ""}},
                    }
                ]
            }
        },
        [
            "f.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchL"
            "abels: "
            'Invalid value: "a b": <qualified name>',
            "f.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaceSelector.ma"
            "tchLabels: "
            'Invalid value: "c d": <qualified name>',
        ],
    ),
    "keys of labels without a selector": (
        {
            "podAffinity": {
                _REQUIRED: [
                    {"topologyKey": "z", "matchLabelKeys": ["a"], "mismatchLabelKeys": ["b"]}
                ]
            }
        },
        [
            "f.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys: "
            "Forbidden: must not be specified when labelSelector is not set",
            "f.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].mismatchLabelKeys: "
            "Forbidden: must not be specified when labelSelector is not set",
        ],
    ),
    "bad keys of labels, and one in both lists": (
        {
            "podAffinity": {
                _REQUIRED: [
                    {
                        "topologyKey": "z",
                        "labelSelector": _SELECTOR,
                        "matchLabelKeys": ["x", "a b"],
                        "mismatchLabelKeys": ["x"],
                    }
                ]
            }
        },
        [
            "f.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys[1]: "
            'Invalid value: "a b": <qualified name>',
            "f.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys[0]: "
            'Invalid value: "x": exists in both matchLabelKeys and mismatchLabelKeys',
        ],
    ),
    "a key that the selector has twice": (
        {
            "podAffinity": {
                _REQUIRED: [
                    {
                        "topologyKey": "z",
                        "labelSelector": {
                            "matchLabels": {"a": "b"},
                            "matchExpressions": [{"key": "a", "operator": "Exists"}],
                        },
                        "matchLabelKeys": ["a"],
                    }
                ]
            }
        },
        [
            "f.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0][0]: Invalid "
            'value: "a": exists in both matchLabelKeys and labelSelector'
        ],
    ),
}


@pytest.mark.parametrize(("affinity", "expected"), AFFINITY.values(), ids=AFFINITY)
def test_affinity(affinity: Object, expected: list[str]) -> None:
    assert texts(check_affinity(affinity, "f")) == expected


def _spread(**more: object) -> Object:
    return {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", **more}


SPREADING: dict[str, tuple[list[Object], list[str]]] = {
    "a constraint": ([_spread(labelSelector=_SELECTOR, minDomains=2)], []),
    "no skew, no place, an unknown action": (
        [_spread(maxSkew=0, topologyKey="", whenUnsatisfiable="Wait")],
        [
            "f[0].maxSkew: Invalid value: 0: must be greater than zero",
            "f[0].topologyKey: Required value: can not be empty",
            'f[0].whenUnsatisfiable: Unsupported value: "Wait": supported values: '
            '"DoNotSchedule", "ScheduleAnyway"',
        ],
    ),
    "two constraints of one place": (
        [_spread(), _spread(maxSkew=2)],
        ['f[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{z, DoNotSchedule}"'],
    ),
    "two constraints of one place that act differently": (
        [_spread(), _spread(whenUnsatisfiable="ScheduleAnyway")],
        [],
    ),
    "no domains": (
        [_spread(minDomains=0)],
        ["f[0].minDomains: Invalid value: 0: must be greater than zero"],
    ),
    "domains of a preference": (
        [_spread(minDomains=1, whenUnsatisfiable="ScheduleAnyway")],
        [
            "f[0].minDomains: Invalid value: 1: can only use minDomains if "
            "whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"
        ],
    ),
    "unknown policies": (
        [_spread(nodeAffinityPolicy="Some", nodeTaintsPolicy="Some")],
        [
            'f[0].nodeAffinityPolicy: Unsupported value: "Some": supported values: '
            '"Honor", "Ignore"',
            'f[0].nodeTaintsPolicy: Unsupported value: "Some": supported values: "Honor", "Ignore"',
        ],
    ),
    "keys of labels without a selector": (
        [_spread(matchLabelKeys=["a"])],
        ["f[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set"],
    ),
    "a bad selector": (
        [_spread(labelSelector={"matchLabels": {"a b": ""}})],
        ['f[0].labelSelector.matchLabels: Invalid value: "a b": <qualified name>'],
    ),
}


@pytest.mark.parametrize(("constraints", "expected"), SPREADING.values(), ids=SPREADING)
def test_spreading(constraints: list[Object], expected: list[str]) -> None:
    assert texts(check_spreading(constraints, "f")) == expected


def test_gates_have_good_names_that_differ() -> None:
    gates = [{"name": "a/b"}, {"name": "a b"}, {"name": "a/b"}]
    assert texts(check_gates(gates, "f")) == [
        'f[1]: Invalid value: "a b": <qualified name>',
        'f[2]: Duplicate value: "a/b"',
    ]
