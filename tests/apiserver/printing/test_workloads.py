from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.printing.workloads import PRINTERS
from tests.apiserver.printing.rows import row

POD = {"spec": {"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "j"}]}}
SPEC: dict[str, Any] = {"selector": {"matchLabels": {"k": "v"}}, "template": POD}


def _metric(kind: str, target: dict[str, Any], name: str = "cpu") -> dict[str, Any]:
    field = kind[0].lower() + kind[1:]
    return {"type": kind, field: {"name": name, "target": target}}


ROWS: dict[str, tuple[str, dict[str, Any], list[Any]]] = {
    "a deployment": (
        "apps/Deployment",
        {
            "spec": SPEC | {"replicas": 3},
            "status": {"readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1},
        },
        [
            "x",
            "1/3",
            2,
            1,
            "60m",
            "a,b",
            "i:1,j",
            "k=v",
        ],
    ),
    "a deployment without a status": (
        "apps/Deployment",
        {"spec": {"replicas": 3}},
        [
            "x",
            "0/3",
            0,
            0,
            "60m",
            "",
            "",
            "<none>",
        ],
    ),
    "a replica set": (
        "apps/ReplicaSet",
        {"spec": SPEC | {"replicas": 3}, "status": {"replicas": 2, "readyReplicas": 1}},
        [
            "x",
            3,
            2,
            1,
            "60m",
            "a,b",
            "i:1,j",
            "k=v",
        ],
    ),
    "a replication controller": (
        "/ReplicationController",
        {"spec": {"selector": {"k": "v"}, "template": POD, "replicas": 1}},
        [
            "x",
            1,
            0,
            0,
            "60m",
            "a,b",
            "i:1,j",
            "k=v",
        ],
    ),
    "a stateful set": (
        "apps/StatefulSet",
        {"spec": SPEC | {"replicas": 3}, "status": {"readyReplicas": 2}},
        [
            "x",
            "2/3",
            "60m",
            "a,b",
            "i:1,j",
        ],
    ),
    "a daemon set": (
        "apps/DaemonSet",
        {
            "spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}},
            "status": {
                "desiredNumberScheduled": 5,
                "currentNumberScheduled": 4,
                "numberReady": 3,
                "updatedNumberScheduled": 2,
                "numberAvailable": 1,
            },
        },
        [
            "x",
            5,
            4,
            3,
            2,
            1,
            "a=b",
            "60m",
            "",
            "",
            "<none>",
        ],
    ),
    "a job that runs": (
        "batch/Job",
        {"spec": SPEC | {"completions": 3}, "status": {"startTime": "2026-01-01T11:59:00Z"}},
        [
            "x",
            "Running",
            "0/3",
            "60s",
            "60m",
            "a,b",
            "i:1,j",
            "k=v",
        ],
    ),
    "a job that is complete": (
        "batch/Job",
        {
            "spec": {"completions": 1},
            "status": {
                "succeeded": 1,
                "startTime": "2026-01-01T11:59:00Z",
                "completionTime": "2026-01-01T11:59:05Z",
                "conditions": [
                    {"type": "SuccessCriteriaMet", "status": "True"},
                    {"type": "Complete", "status": "True"},
                ],
            },
        },
        [
            "x",
            "Complete",
            "1/1",
            "5s",
            "60m",
            "",
            "",
            "<none>",
        ],
    ),
    "a job of several pods without a number": (
        "batch/Job",
        {"spec": {"parallelism": 3}},
        [
            "x",
            "Running",
            "0/1 of 3",
            "",
            "60m",
            "",
            "",
            "<none>",
        ],
    ),
    "a job of one pod without a number": (
        "batch/Job",
        {"spec": {"parallelism": 1}},
        [
            "x",
            "Running",
            "0/1",
            "",
            "60m",
            "",
            "",
            "<none>",
        ],
    ),
    "a job that is suspended and deleted": (
        "batch/Job",
        {
            "metadata": {"deletionTimestamp": "t"},
            "spec": {"completions": 1},
            "status": {"conditions": [{"type": "Suspended", "status": "True"}]},
        },
        [
            "x",
            "Terminating",
            "0/1",
            "",
            "60m",
            "",
            "",
            "<none>",
        ],
    ),
    "a cron job": (
        "batch/CronJob",
        {
            "spec": {
                "schedule": "0 * * * *",
                "timeZone": "UTC",
                "suspend": True,
                "jobTemplate": {"spec": SPEC},
            },
            "status": {"lastScheduleTime": "2026-01-01T11:00:00Z", "active": [{}]},
        },
        [
            "x",
            "0 * * * *",
            "UTC",
            "True",
            1,
            "60m",
            "60m",
            "a,b",
            "i:1,j",
            "k=v",
        ],
    ),
    "a cron job that never ran": (
        "batch/CronJob",
        {"spec": {"schedule": "@daily"}},
        [
            "x",
            "@daily",
            "<none>",
            "<unset>",
            0,
            "<none>",
            "60m",
            "",
            "",
            "<none>",
        ],
    ),
    "a budget": (
        "policy/PodDisruptionBudget",
        {"spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 2}},
        [
            "x",
            "50%",
            "N/A",
            2,
            "60m",
        ],
    ),
    "a pod template": (
        "/PodTemplate",
        {"template": POD | {"metadata": {"labels": {"a": "b"}}}},
        [
            "x",
            "a,b",
            "i:1,j",
            "a=b",
        ],
    ),
    "a revision": (
        "apps/ControllerRevision",
        {
            "metadata": {
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Pod", "name": "p"},
                    {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "controller": True},
                ]
            },
            "revision": 4,
        },
        [
            "x",
            "daemonset.apps/d",
            4,
            "60m",
        ],
    ),
    "a revision of nobody": (
        "apps/ControllerRevision",
        {},
        [
            "x",
            "<none>",
            0,
            "60m",
        ],
    ),
    "an autoscaler": (
        "autoscaling/HorizontalPodAutoscaler",
        {
            "spec": {
                "scaleTargetRef": {"kind": "Deployment", "name": "d"},
                "minReplicas": 1,
                "maxReplicas": 5,
                "metrics": [_metric("Resource", {"averageUtilization": 80})],
            },
            "status": {
                "currentReplicas": 2,
                "currentMetrics": [{"resource": {"current": {"averageUtilization": 30}}}],
            },
        },
        [
            "x",
            "Deployment/d",
            "cpu: 30%/80%",
            "1",
            5,
            2,
            "60m",
        ],
    ),
}


@pytest.mark.parametrize(("kind", "obj", "cells"), ROWS.values(), ids=ROWS)
def test_rows(kind: str, obj: dict[str, Any], cells: list[Any]) -> None:
    assert row(PRINTERS, kind, obj) == cells


TARGETS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "no metrics": ({}, {}, "<none>"),
    "an empty list": ({"metrics": []}, {}, "<none>"),
    "the older form": (
        {"targetCPUUtilizationPercentage": 80},
        {"currentCPUUtilizationPercentage": 10},
        "cpu: 10%/80%",
    ),
    "the older form before anything was seen": (
        {"targetCPUUtilizationPercentage": 80},
        {},
        "cpu: <unknown>/80%",
    ),
    "an average amount": (
        {"metrics": [_metric("Resource", {"averageValue": "1"})]},
        {"currentMetrics": [{"resource": {"current": {"averageValue": "500m"}}}]},
        "cpu: 500m/1",
    ),
    "a container's resource without a goal": (
        {"metrics": [_metric("ContainerResource", {})]},
        {},
        "cpu: <unknown>/<auto>",
    ),
    "a metric of pods": (
        {"metrics": [_metric("Pods", {"averageValue": "10"})]},
        {},
        "<unknown>/10",
    ),
    "a metric of an object": (
        {"metrics": [_metric("Object", {"value": "10"})]},
        {"currentMetrics": [{"object": {"current": {"value": "7"}}}]},
        "7/10",
    ),
    "an average of an external metric": (
        {"metrics": [_metric("External", {"averageValue": "10"})]},
        {},
        "<unknown>/10 (avg)",
    ),
    "three metrics": (
        {"metrics": [_metric("Pods", {"averageValue": "1"})] * 3},
        {},
        "<unknown>/1, <unknown>/1 + 1 more...",
    ),
}


@pytest.mark.parametrize(("spec", "status", "text"), TARGETS.values(), ids=TARGETS)
def test_targets_of_autoscalers(spec: dict[str, Any], status: dict[str, Any], text: str) -> None:
    obj = {"spec": spec, "status": status}
    assert row(PRINTERS, "autoscaling/HorizontalPodAutoscaler", obj)[2] == text
