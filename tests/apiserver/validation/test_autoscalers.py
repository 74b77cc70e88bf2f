from __future__ import annotations

import pytest

from tests.apiserver.validation.objects import Object, refused

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
SCALERS: dict[str, tuple[Object, list[str]]] = {
    "an autoscaler": ({}, []),
    "no replicas": (
        {"maxReplicas": 0},
        [
            "spec.maxReplicas: Required value",
            "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
        ],
    ),
    "fewer than no replicas": (
        {"minReplicas": -1, "maxReplicas": -2},
        [
            "spec.minReplicas: Invalid value: -1: must be greater than or equal to 0",
            "spec.maxReplicas: Invalid value: -2: must be greater than or equal to 1",
            "spec.maxReplicas: Invalid value: -2: must be greater than or equal to `minReplicas`",
        ],
    ),
    "to zero by a resource alone": (
        {"minReplicas": 0},
        [
            "spec.metrics: Forbidden: must specify at least one Object or External "
            "metric to support scaling to zero replicas",
        ],
    ),
    "less at most than at least": (
        {"minReplicas": 5, "maxReplicas": 4},
        ["spec.maxReplicas: Invalid value: 4: must be greater than or equal to `minReplicas`"],
    ),
    "a target of no group": (
        {"scaleTargetRef": {"kind": "Deployment", "name": "d"}},
        ['spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group'],
    ),
    "a target of the core group": (
        {"scaleTargetRef": {"kind": "ReplicationController", "name": "r"}},
        [],
    ),
    "no target": (
        {"scaleTargetRef": {"apiVersion": "a/b/c", "kind": "", "name": "x/y"}},
        [
            "spec.scaleTargetRef.kind: Required value",
            "spec.scaleTargetRef.name: Invalid value: \"x/y\": may not contain '/'",
            'spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected '
            "GroupVersion string: a/b/c",
        ],
    ),
    "bad behaviour": (
        {
            "behavior": {
                "scaleUp": {
                    "stabilizationWindowSeconds": 3601,
                    "selectPolicy": "All",
                    "tolerance": "-1",
                    "policies": [
                        {"type": "Nodes", "value": 0, "periodSeconds": 1801},
                        {"type": "Pods", "value": 1, "periodSeconds": 0},
                    ],
                },
                "scaleDown": {"stabilizationWindowSeconds": -1},
            }
        },
        [
            "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must "
            "be less than or equal to 3600",
            'spec.behavior.scaleUp.tolerance: Invalid value: "-1": must be greater than '
            "or equal to 0",
            'spec.behavior.scaleUp.selectPolicy: Unsupported value: "All": supported '
            'values: "Disabled", "Max", "Min"',
            'spec.behavior.scaleUp.policies[0].type: Unsupported value: "Nodes": '
            'supported values: "Percent", "Pods"',
            "spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero",
            "spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 1801: must "
            "be less than or equal to 1800",
            "spec.behavior.scaleUp.policies[1].periodSeconds: Invalid value: 0: must be "
            "greater than zero",
            "spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: -1: must "
            "be greater than or equal to zero",
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), SCALERS.values(), ids=SCALERS)
def test_autoscalers(spec: Object, expected: list[str]) -> None:
    given = {"maxReplicas": 10, "scaleTargetRef": TARGET} | spec
    assert refused("autoscaling/v2", "HorizontalPodAutoscaler", spec=given) == expected
