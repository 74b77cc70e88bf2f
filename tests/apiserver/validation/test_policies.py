from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.validation.objects import Object, made, refused, update_refusals

RBAC = "rbac.authorization.k8s.io/v1"

BUDGETS: dict[str, tuple[Object, list[str]]] = {
    "a budget": ({"minAvailable": "50%"}, []),
    "both limits": (
        {"minAvailable": 1, "maxUnavailable": 1},
        [
            'spec: Invalid value: {"minAvailable":1,"maxUnavailable":1}: minAvailable '
            "and maxUnavailable cannot be both set"
        ],
    ),
    "bad limits": (
        {"minAvailable": -1},
        ["spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"],
    ),
    "more than all": (
        {"maxUnavailable": "101%"},
        ['spec.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
    ),
    "a bad selector": (
        {"selector": {"matchLabels": {"a b": ""}}},
        ['spec.selector.matchLabels: Invalid value: "a b": <qualified name>'],
    ),
    "an unknown policy": (
        {"unhealthyPodEvictionPolicy": "Never"},
        [
            'spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": supported '
            'values: "AlwaysAllow", "IfHealthyBudget"'
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), BUDGETS.values(), ids=BUDGETS)
def test_budgets(spec: Object, expected: list[str]) -> None:
    assert refused("policy/v1", "PodDisruptionBudget", spec=spec) == expected


CLASSES: dict[str, tuple[str, Object, list[str]]] = {
    "a class": ("high", {"value": 1_000_000_000}, []),
    "above the highest value": (
        "high",
        {"value": 1_000_000_001},
        ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
    ),
    "a class of the system": ("system-node-critical", {"value": 2_000_001_000}, []),
    "a class of the system with another value": (
        "system-node-critical",
        {"value": 1},
        [
            "metadata.name: Forbidden: priority class names with 'system-' prefix are "
            "reserved for system use only. error: value of system-node-critical "
            "PriorityClass must be 2000001000"
        ],
    ),
    "an unknown class of the system": (
        "system-x",
        {"value": 1},
        [
            "metadata.name: Forbidden: priority class names with 'system-' prefix are "
            "reserved for system use only. error: system-x is not a known system "
            "priority class"
        ],
    ),
    "an unknown policy": (
        "high",
        {"value": 1, "preemptionPolicy": "Maybe"},
        [
            'preemptionPolicy: Unsupported value: "Maybe": supported values: '
            '"PreemptLowerPriority", "Never"'
        ],
    ),
    "an empty policy": (
        "high",
        {"value": 1, "preemptionPolicy": ""},
        ["preemptionPolicy: Required value"],
    ),
}


@pytest.mark.parametrize(("name", "fields", "expected"), CLASSES.values(), ids=CLASSES)
def test_priority_classes(name: str, fields: dict[str, Any], expected: list[str]) -> None:
    found = refused("scheduling.k8s.io/v1", "PriorityClass", metadata={"name": name}, **fields)
    assert found == expected


_READ = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
_URLS = {"verbs": ["get"], "nonResourceURLs": ["/healthz"]}
_REF = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
_AGGREGATION = {"clusterRoleSelectors": [{"matchLabels": {"a b": ""}}]}

RIGHTS: dict[str, tuple[str, Object, list[str]]] = {
    "a role": ("Role", {"rules": [_READ]}, []),
    "a rule that is empty": (
        "Role",
        {"rules": [{"verbs": []}]},
        [
            "rules[0].verbs: Required value",
            "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
            "rules[0].resources: Required value: resource rules must supply at least one resource",
        ],
    ),
    "paths in a namespace": (
        "Role",
        {"rules": [_URLS]},
        [
            'rules[0].nonResourceURLs: Invalid value: ["/healthz"]: namespaced rules '
            "cannot apply to non-resource URLs"
        ],
    ),
    "paths of the cluster": ("ClusterRole", {"rules": [_URLS]}, []),
    "paths and resources": (
        "ClusterRole",
        {"rules": [_URLS | _READ]},
        [
            'rules[0].nonResourceURLs: Invalid value: ["/healthz"]: rules cannot apply '
            "to both regular resources and non-resource URLs"
        ],
    ),
    "a role that gathers nothing": (
        "ClusterRole",
        {"aggregationRule": {}},
        [
            "aggregationRule.clusterRoleSelectors: Required value: at least one "
            "clusterRoleSelector required if aggregationRule is non-nil"
        ],
    ),
    "a role that gathers by a bad selector": (
        "ClusterRole",
        {"aggregationRule": _AGGREGATION},
        [
            'aggregationRule.clusterRoleSelectors[0].matchLabels: Invalid value: "a b": '
            "<qualified name>",
            "aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.",
        ],
    ),
    "a binding": (
        "RoleBinding",
        {"roleRef": _REF, "subjects": [{"kind": "ServiceAccount", "name": "a"}]},
        [],
    ),
    "a binding to nothing": (
        "RoleBinding",
        {"roleRef": {"apiGroup": "x", "kind": "Group", "name": ""}},
        [
            'roleRef.apiGroup: Unsupported value: "x": supported values: '
            '"rbac.authorization.k8s.io"',
            'roleRef.kind: Unsupported value: "Group": supported values: "Role", "ClusterRole"',
            "roleRef.name: Required value",
        ],
    ),
    "a binding of the cluster to a role of a namespace": (
        "ClusterRoleBinding",
        {"roleRef": _REF | {"kind": "Role", "name": "a/b"}},
        [
            'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
            "roleRef.name: Invalid value: \"a/b\": may not contain '/'",
        ],
    ),
    "bad subjects": (
        "ClusterRoleBinding",
        {
            "roleRef": _REF,
            "subjects": [
                {"kind": "ServiceAccount", "name": "A", "apiGroup": "x"},
                {"kind": "User", "name": "", "apiGroup": "x"},
                {"kind": "Robot", "name": "r"},
            ],
        },
        [
            'subjects[0].name: Invalid value: "A": <subdomain>',
            'subjects[0].apiGroup: Unsupported value: "x": supported values: ""',
            "subjects[0].namespace: Required value",
            "subjects[1].name: Required value",
            'subjects[1].apiGroup: Unsupported value: "x": supported values: '
            '"rbac.authorization.k8s.io"',
            'subjects[2].kind: Unsupported value: "Robot": supported values: '
            '"ServiceAccount", "User", "Group"',
        ],
    ),
}


@pytest.mark.parametrize(("kind", "fields", "expected"), RIGHTS.values(), ids=RIGHTS)
def test_rights(kind: str, fields: dict[str, Any], expected: list[str]) -> None:
    assert refused(RBAC, kind, **fields) == expected


OTHERS: dict[str, tuple[str, str, Object, list[str]]] = {
    "a lease": ("coordination.k8s.io/v1", "Lease", {"spec": {"leaseDurationSeconds": 1}}, []),
    "a lease of no time": (
        "coordination.k8s.io/v1",
        "Lease",
        {"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}},
        [
            "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
            "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
        ],
    ),
    "a runtime class": ("node.k8s.io/v1", "RuntimeClass", {"handler": "runc"}, []),
    "a runtime class without a handler": (
        "node.k8s.io/v1",
        "RuntimeClass",
        {"handler": ""},
        ["handler: Required value"],
    ),
    "a bad runtime class": (
        "node.k8s.io/v1",
        "RuntimeClass",
        {
            "handler": "R",
            "overhead": {"podFixed": {"cpu": "-1"}},
            "scheduling": {"nodeSelector": {"a b": ""}, "tolerations": [{"operator": "Equal"}]},
        },
        [
            'handler: Invalid value: "R": <label>',
            'overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
            'scheduling.nodeSelector: Invalid value: "a b": <qualified name>',
            'scheduling.tolerations[0].operator: Invalid value: "Equal": operator must '
            'be Exists when `key` is empty, which means "match all values and all keys"',
        ],
    ),
}


@pytest.mark.parametrize(("version", "kind", "fields", "expected"), OTHERS.values(), ids=OTHERS)
def test_leases_and_runtimes(
    version: str, kind: str, fields: dict[str, Any], expected: list[str]
) -> None:
    assert refused(version, kind, **fields) == expected


CHANGES: dict[str, tuple[str, str, Object, Object, list[str]]] = {
    "a priority stays": (
        "scheduling.k8s.io/v1",
        "PriorityClass",
        {"value": 1},
        {"value": 2, "preemptionPolicy": "Never"},
        [
            "value: Forbidden: may not be changed in an update.",
            'preemptionPolicy: Invalid value: "Never": field is immutable',
        ],
    ),
    "a role binding's role stays": (
        RBAC,
        "RoleBinding",
        {"roleRef": _REF},
        {"roleRef": {"name": "s"}},
        [
            "roleRef: Invalid value: "
            '{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"s"}: '
            "field is immutable"
        ],
    ),
    "a cluster role binding's role stays": (
        RBAC,
        "ClusterRoleBinding",
        {"roleRef": _REF},
        {"roleRef": {"name": "s"}},
        [
            "roleRef: Invalid value: "
            '{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"s"}: '
            "field is immutable"
        ],
    ),
    "subjects change": (
        RBAC,
        "RoleBinding",
        {"roleRef": _REF},
        {"subjects": [{"kind": "ServiceAccount", "name": "a"}]},
        [],
    ),
    "a handler stays": (
        "node.k8s.io/v1",
        "RuntimeClass",
        {"handler": "a"},
        {"handler": "b"},
        ["handler: Invalid value: null: field is immutable"],
    ),
}


@pytest.mark.parametrize(
    ("version", "kind", "fields", "change", "expected"), CHANGES.values(), ids=CHANGES
)
def test_changes(
    version: str, kind: str, fields: dict[str, Any], change: Object, expected: list[str]
) -> None:
    assert update_refusals(made(version, kind, **fields), change) == expected
