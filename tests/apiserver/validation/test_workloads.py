from __future__ import annotations

import pytest

from mooring.apiserver.validation.workloads import check_amount, not_over_all, selects
from tests.apiserver.validation.objects import (
    Object,
    made,
    refusals,
    refused,
    template,
    texts,
    update_refusals,
    workload,
)

_CLAIM = {
    "metadata": {"name": "v"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
_MOUNT = {"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}

WORKLOADS: dict[str, tuple[str, Object, list[str]]] = {
    "a deployment": ("Deployment", {}, []),
    "negative numbers of a deployment": (
        "Deployment",
        {
            "replicas": -1,
            "minReadySeconds": -1,
            "revisionHistoryLimit": -1,
            "progressDeadlineSeconds": -2,
        },
        [
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
            "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
            "spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0",
            "spec.progressDeadlineSeconds: Invalid value: -2: must be greater than or equal to 0",
            "spec.progressDeadlineSeconds: Invalid value: -2: must be greater than minReadySeconds",
        ],
    ),
    "no time to be ready before the deadline": (
        "Deployment",
        {"minReadySeconds": 10, "progressDeadlineSeconds": 10},
        ["spec.progressDeadlineSeconds: Invalid value: 10: must be greater than minReadySeconds"],
    ),
    "an empty selector": (
        "Deployment",
        {"selector": {}},
        ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
    ),
    "no selector": (
        "Deployment",
        {"selector": None},
        [
            "spec.selector: Required value",
            'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does '
            "not match template `labels`",
        ],
    ),
    "a selector that does not match": (
        "Deployment",
        {"selector": {"matchLabels": {"a": "c"}}},
        [
            'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does '
            "not match template `labels`"
        ],
    ),
    "a selector that cannot be read": (
        "Deployment",
        {"selector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}},
        [
            'spec.selector.matchExpressions[0].operator: Invalid value: "Is": not a '
            "valid selector operator",
            "spec.selector: Invalid value: "
            '{"matchExpressions":[{"key":"a","operator":"Is"}]}: invalid label selector',
        ],
    ),
    "pods that end": (
        "Deployment",
        {"template": template(restartPolicy="Never", activeDeadlineSeconds=5)},
        [
            'spec.template.spec.restartPolicy: Unsupported value: "Never": supported '
            'values: "Always"',
            "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds "
            "in ReplicaSet is not Supported",
        ],
    ),
    "an unknown strategy": (
        "Deployment",
        {"strategy": {"type": "Slow"}},
        [
            'spec.strategy: Unsupported value: {"Type":"Slow","RollingUpdate":null}: '
            'supported values: "Recreate", "RollingUpdate"'
        ],
    ),
    "an unknown strategy with numbers": (
        "Deployment",
        {"strategy": {"type": "Slow", "rollingUpdate": {"maxSurge": 1}}},
        [
            "spec.strategy: Unsupported value: "
            '{"Type":"Slow","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":1}}: '
            'supported values: "Recreate", "RollingUpdate"'
        ],
    ),
    "numbers of a strategy that recreates": (
        "Deployment",
        {"strategy": {"type": "Recreate", "rollingUpdate": {}}},
        [
            "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy "
            "`type` is 'Recreate'"
        ],
    ),
    "a strategy that recreates": ("Deployment", {"strategy": {"type": "Recreate"}}, []),
    "a strategy that cannot move": (
        "Deployment",
        {"strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": "0%"}}},
        [
            "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 "
            "when `maxSurge` is 0"
        ],
    ),
    "bad numbers of a strategy": (
        "Deployment",
        {"strategy": {"rollingUpdate": {"maxUnavailable": "101%", "maxSurge": "many"}}},
        [
            'spec.strategy.rollingUpdate.maxSurge: Invalid value: "many": <percentage>',
            'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not '
            "be greater than 100%",
        ],
    ),
    "a replica set": (
        "ReplicaSet",
        {"replicas": -1, "minReadySeconds": -1},
        [
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
            "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
        ],
    ),
    "a stateful set": (
        "StatefulSet",
        {"volumeClaimTemplates": [_CLAIM], "template": template(containers=[_MOUNT])},
        [],
    ),
    "unknown policies of a stateful set": (
        "StatefulSet",
        {
            "podManagementPolicy": "Random",
            "updateStrategy": {"type": "Slow"},
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Keep", "whenScaled": "Delete"},
        },
        [
            "spec.podManagementPolicy: Invalid value: \"Random\": must be 'OrderedReady' "
            "or 'Parallel'",
            'spec.updateStrategy: Invalid value: {"type":"Slow"}: must be '
            "'RollingUpdate' or 'OnDelete'",
            "spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "
            '"Keep": supported values: "Retain", "Delete"',
        ],
    ),
    "a partition of a stateful set that is replaced by hand": (
        "StatefulSet",
        {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}},
        [
            'spec.updateStrategy.rollingUpdate: Invalid value: {"partition":1}: only '
            "allowed for updateStrategy 'RollingUpdate'"
        ],
    ),
    "bad numbers of a stateful set": (
        "StatefulSet",
        {
            "replicas": -1,
            "minReadySeconds": -1,
            "ordinals": {"start": -1},
            "updateStrategy": {"rollingUpdate": {"partition": -1}},
        },
        [
            "spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be "
            "greater than or equal to 0",
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
            "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
            "spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0",
        ],
    ),
    "a bad service of a stateful set, and pods that end": (
        "StatefulSet",
        {"serviceName": "A", "template": template(activeDeadlineSeconds=5)},
        [
            'spec.serviceName: Invalid value: "A": <label>',
            "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds "
            "in StatefulSet is not Supported",
        ],
    ),
    "a bad claim of a stateful set": (
        "StatefulSet",
        {"volumeClaimTemplates": [_CLAIM | {"spec": {"resources": {}}}]},
        [
            "spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 "
            "access mode is required",
            "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value",
        ],
    ),
    "a selector of a stateful set that cannot be read": (
        "StatefulSet",
        {"selector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}},
        [
            'spec.selector.matchExpressions[0].operator: Invalid value: "Is": not a '
            "valid selector operator",
            'spec.selector: Invalid value: {"matchExpressions":[{"key":"a","operator":"Is"}]}',
        ],
    ),
    "a daemon set": ("DaemonSet", {}, []),
    "a daemon set that does not select its pods": (
        "DaemonSet",
        {"selector": {}, "template": template(restartPolicy="Never", activeDeadlineSeconds=5)},
        [
            "spec.selector: Invalid value: {}: empty selector is invalid for daemonset",
            'spec.template.spec.restartPolicy: Unsupported value: "Never": supported '
            'values: "Always"',
            "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds "
            "in DaemonSet is not Supported",
        ],
    ),
    "a daemon set without a selector": (
        "DaemonSet",
        {"selector": None, "minReadySeconds": -1},
        [
            'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does '
            "not match template `labels`",
            "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
        ],
    ),
    "an unknown strategy of a daemon set": (
        "DaemonSet",
        {"updateStrategy": {"type": "Slow"}},
        [
            "spec.updateStrategy: Unsupported value: "
            '{"Type":"Slow","RollingUpdate":null}: supported values: "RollingUpdate", '
            '"OnDelete"'
        ],
    ),
    "a daemon set replaced by hand": ("DaemonSet", {"updateStrategy": {"type": "OnDelete"}}, []),
    "a daemon set that surges and is unavailable": (
        "DaemonSet",
        {"updateStrategy": {"rollingUpdate": {"maxUnavailable": "101%", "maxSurge": "101%"}}},
        [
            'spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "101%": '
            "must not be greater than 100%",
            'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: "101%": must not '
            "be greater than 100%",
            'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: "101%": may not '
            "be set when maxUnavailable is non-zero",
        ],
    ),
    "a daemon set that cannot move": (
        "DaemonSet",
        {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}}},
        [
            "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be "
            "0 when maxSurge is 0"
        ],
    ),
}


@pytest.mark.parametrize(("kind", "spec", "expected"), WORKLOADS.values(), ids=WORKLOADS)
def test_new_workloads(kind: str, spec: Object, expected: list[str]) -> None:
    assert refusals(workload(kind, **spec)) == expected


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "DaemonSet"])
def test_the_selector_of_a_workload_stays(kind: str) -> None:
    old = workload(kind, template=template({"a": "b", "c": "d"}))
    change = {"spec": {"selector": {"matchLabels": {"a": None, "c": "d"}}}}
    assert update_refusals(old, change) == [
        'spec.selector: Invalid value: {"matchLabels":{"c":"d"}}: field is immutable'
    ]


@pytest.mark.parametrize(
    ("unavailable", "problem"),
    [
        (1, None),
        ("100%", None),
        (0, "Invalid value: 0: cannot be 0"),
        ("0%", 'Invalid value: "0%": cannot be 0'),
        ("101%", 'Invalid value: "101%": must not be greater than 100%'),
        (-1, "Invalid value: -1: must be greater than or equal to 0"),
    ],
)
def test_pods_of_a_stateful_set_that_may_be_unavailable(
    unavailable: int | str, problem: str | None
) -> None:
    rolling = {"rollingUpdate": {"maxUnavailable": unavailable}}
    found = refusals(workload("StatefulSet", serviceName="s", updateStrategy=rolling))
    where = "spec.updateStrategy.rollingUpdate.maxUnavailable"
    assert found == ([] if problem is None else [f"{where}: {problem}"])


def test_some_fields_of_a_stateful_set_may_not_change() -> None:
    old = workload("StatefulSet", serviceName="s")
    assert update_refusals(old, {"spec": {"replicas": 5, "minReadySeconds": 5}}) == []
    # The new name is refused as a change and not for its form.
    assert update_refusals(old, {"spec": {"serviceName": "S"}}) == [
        'spec.serviceName: Invalid value: "S": field is immutable'
    ]
    assert update_refusals(old, {"spec": {"podManagementPolicy": "Parallel"}}) == [
        'spec.podManagementPolicy: Invalid value: "Parallel": field is immutable'
    ]


REVISIONS: dict[str, tuple[Object, list[str]]] = {
    "a revision": ({"revision": 1, "data": {"a": 1}}, []),
    "a negative revision of nothing": (
        {"revision": -1},
        [
            "revision: Invalid value: -1: must be greater than or equal to 0",
            "data: Required value: data is mandatory",
        ],
    ),
}


@pytest.mark.parametrize(("fields", "expected"), REVISIONS.values(), ids=REVISIONS)
def test_revisions(fields: Object, expected: list[str]) -> None:
    assert refused("apps/v1", "ControllerRevision", **fields) == expected


def test_the_data_of_a_revision_stays() -> None:
    old = made("apps/v1", "ControllerRevision", revision=1, data={"a": 1})
    assert update_refusals(old, {"revision": 2}) == []
    assert update_refusals(old, {"data": {"a": 2}}) == [
        'data: Invalid value: {"a":2}: field is immutable'
    ]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"matchLabels": {"a": "b"}}, True),
        ({"matchLabels": {"a": "c"}}, False),
        ({"matchExpressions": [{"key": "a", "operator": "Is"}]}, None),
        ({"matchLabels": 5}, None),
    ],
    ids=["it matches", "it does not", "an unknown operator", "no selector at all"],
)
def test_whether_a_selector_matches(selector: Object, expected: bool | None) -> None:
    assert selects(selector, {"a": "b"}) is expected


@pytest.mark.parametrize(
    ("amount", "valid", "at_most_all"),
    [
        (0, True, True),
        (-1, False, True),
        ("100%", True, True),
        ("101%", True, False),
        ("5", False, True),
    ],
)
def test_amounts(amount: int | str, valid: bool, at_most_all: bool) -> None:
    assert (not check_amount(amount, "f")) is valid
    assert (texts(not_over_all(amount, "f")) == []) is at_most_all
