from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.defaults.objects import defaulted

POD = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def _spec(version: str, kind: str, **spec: Any) -> dict[str, Any]:
    found = defaulted(version, kind, spec={"template": POD, **spec})["spec"]
    found.pop("template")
    found.pop("selector", None)
    return found


SPECS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "a deployment": (
        "apps/v1",
        "Deployment",
        {},
        {
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {
                    "maxUnavailable": "25%",
                    "maxSurge": "25%",
                },
            },
            "replicas": 1,
            "revisionHistoryLimit": 10,
            "progressDeadlineSeconds": 600,
        },
    ),
    "a deployment that recreates": (
        "apps/v1",
        "Deployment",
        {"strategy": {"type": "Recreate"}, "replicas": 0},
        {
            "strategy": {
                "type": "Recreate",
            },
            "replicas": 0,
            "revisionHistoryLimit": 10,
            "progressDeadlineSeconds": 600,
        },
    ),
    "a replica set": (
        "apps/v1",
        "ReplicaSet",
        {},
        {
            "replicas": 1,
        },
    ),
    "a daemon set": (
        "apps/v1",
        "DaemonSet",
        {},
        {
            "updateStrategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {
                    "maxUnavailable": 1,
                    "maxSurge": 0,
                },
            },
            "revisionHistoryLimit": 10,
        },
    ),
    "a daemon set replaced by hand": (
        "apps/v1",
        "DaemonSet",
        {"updateStrategy": {"type": "OnDelete"}},
        {
            "updateStrategy": {
                "type": "OnDelete",
            },
            "revisionHistoryLimit": 10,
        },
    ),
    "a stateful set": (
        "apps/v1",
        "StatefulSet",
        {},
        {
            "serviceName": "",
            "updateStrategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"partition": 0, "maxUnavailable": 1},
            },
            "podManagementPolicy": "OrderedReady",
            "persistentVolumeClaimRetentionPolicy": {
                "whenDeleted": "Retain",
                "whenScaled": "Retain",
            },
            "replicas": 1,
            "revisionHistoryLimit": 10,
        },
    ),
    "a stateful set that only names its strategy": (
        "apps/v1",
        "StatefulSet",
        {"updateStrategy": {"type": "RollingUpdate"}},
        {
            "updateStrategy": {
                "type": "RollingUpdate",
            },
            "serviceName": "",
            "podManagementPolicy": "OrderedReady",
            "persistentVolumeClaimRetentionPolicy": {
                "whenDeleted": "Retain",
                "whenScaled": "Retain",
            },
            "replicas": 1,
            "revisionHistoryLimit": 10,
        },
    ),
    "a job": (
        "batch/v1",
        "Job",
        {},
        {
            "completions": 1,
            "parallelism": 1,
            "backoffLimit": 6,
            "completionMode": "NonIndexed",
            "suspend": False,
            "podReplacementPolicy": "TerminatingOrFailed",
            "manualSelector": False,
        },
    ),
    "a job of several pods": (
        "batch/v1",
        "Job",
        {"parallelism": 3},
        {
            "parallelism": 3,
            "backoffLimit": 6,
            "completionMode": "NonIndexed",
            "suspend": False,
            "podReplacementPolicy": "TerminatingOrFailed",
            "manualSelector": False,
        },
    ),
    "a job with limits for each index": (
        "batch/v1",
        "Job",
        {"backoffLimitPerIndex": 1},
        {
            "backoffLimitPerIndex": 1,
            "completions": 1,
            "parallelism": 1,
            "backoffLimit": 2147483647,
            "completionMode": "NonIndexed",
            "suspend": False,
            "podReplacementPolicy": "TerminatingOrFailed",
            "manualSelector": False,
        },
    ),
    "a job with a failure policy": (
        "batch/v1",
        "Job",
        {"podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "a"}]}]}},
        {
            "podFailurePolicy": {
                "rules": [
                    {
                        "action": "Ignore",
                        "onPodConditions": [
                            {
                                "type": "a",
                                "status": "True",
                            }
                        ],
                    }
                ],
            },
            "completions": 1,
            "parallelism": 1,
            "backoffLimit": 6,
            "completionMode": "NonIndexed",
            "suspend": False,
            "podReplacementPolicy": "Failed",
            "manualSelector": False,
        },
    ),
}


@pytest.mark.parametrize(("version", "kind", "given", "expected"), SPECS.values(), ids=SPECS)
def test_specs(version: str, kind: str, given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert _spec(version, kind, **given) == expected


def test_cron_jobs() -> None:
    job = {"spec": {"template": POD}}
    spec = defaulted("batch/v1", "CronJob", spec={"schedule": "@daily", "jobTemplate": job})["spec"]
    spec.pop("jobTemplate")
    assert spec == {
        "schedule": "@daily",
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    }


def test_a_daemon_set_counts_the_versions_of_its_template() -> None:
    found = defaulted("apps/v1", "DaemonSet", spec={"template": POD})
    annotations = {"deprecated.daemonset.template.generation": "1"}
    assert found["metadata"]["annotations"] == annotations


def test_a_job_has_the_labels_of_its_pods_unless_it_has_others() -> None:
    spec = {"template": POD}
    assert defaulted("batch/v1", "Job", spec=spec)["metadata"]["labels"] == {"a": "b"}
    own = {"name": "x", "labels": {"c": "d"}}
    assert defaulted("batch/v1", "Job", metadata=own, spec=spec)["metadata"]["labels"] == {"c": "d"}


def test_claims_of_a_stateful_set_have_a_kind() -> None:
    claim = {"metadata": {"name": "v"}, "spec": {}}
    spec = {"template": POD, "volumeClaimTemplates": [claim]}
    (found,) = defaulted("apps/v1", "StatefulSet", spec=spec)["spec"]["volumeClaimTemplates"]
    assert (found["kind"], found["apiVersion"]) == ("PersistentVolumeClaim", "v1")
