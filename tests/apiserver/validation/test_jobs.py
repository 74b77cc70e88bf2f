from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.validation.objects import (
    Object,
    container,
    made,
    refusals,
    refused,
    template,
    update_refusals,
)

V1 = "batch/v1"


def _job(**spec: Any) -> Object:
    return {"template": template(restartPolicy="Never"), **spec}


JOBS: dict[str, tuple[Object, list[str]]] = {
    "a job": (_job(), []),
    "negative numbers": (
        _job(
            parallelism=-1,
            completions=-1,
            activeDeadlineSeconds=-1,
            backoffLimit=-1,
            ttlSecondsAfterFinished=-1,
        ),
        [
            "spec.parallelism: Invalid value: -1: must be greater than or equal to 0",
            "spec.completions: Invalid value: -1: must be greater than or equal to 0",
            "spec.activeDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0",
            "spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0",
            "spec.ttlSecondsAfterFinished: Invalid value: -1: must be greater than or equal to 0",
        ],
    ),
    "limits of indexes without indexes": (
        _job(backoffLimitPerIndex=1, maxFailedIndexes=1),
        [
            "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
            "spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode",
        ],
    ),
    "failed indexes without their limit": (
        _job(completionMode="Indexed", completions=5, maxFailedIndexes=1),
        ["spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified"],
    ),
    "one index by default": (_job(completionMode="Indexed"), []),
    "indexes without a number": (
        _job(completionMode="Indexed", parallelism=1),
        ["spec.completions: Required value: when completion mode is Indexed"],
    ),
    "too many indexes at a time": (
        _job(completionMode="Indexed", completions=1, parallelism=100_001),
        [
            "spec.parallelism: Invalid value: 100001: must be less than or equal to "
            "100000 when completion mode is Indexed"
        ],
    ),
    "more failed indexes than indexes": (
        _job(
            completionMode="Indexed",
            completions=5,
            backoffLimitPerIndex=1,
            maxFailedIndexes=100_001,
        ),
        [
            "spec.maxFailedIndexes: Invalid value: 100001: must be less than or equal to "
            "completions",
            "spec.maxFailedIndexes: Invalid value: 100001: must be less than or equal to 100000",
        ],
    ),
    "an unknown mode": (
        _job(completionMode="Sorted"),
        [
            'spec.completionMode: Unsupported value: "Sorted": supported values: '
            '"NonIndexed", "Indexed"'
        ],
    ),
    "a bad manager": (
        _job(managedBy="x"),
        [
            'spec.managedBy: Invalid value: "x": must be a domain-prefixed path (such as '
            '"acme.io/foo")'
        ],
    ),
    "a manager's long name": (
        _job(managedBy="acme.io/" + "x" * 60),
        ["spec.managedBy: Too long: may not be more than 63 bytes"],
    ),
    "an unknown replacement policy": (
        _job(podReplacementPolicy="Never"),
        [
            'spec.podReplacementPolicy: Unsupported value: "Never": supported values: '
            '"Failed", "TerminatingOrFailed"'
        ],
    ),
    "replacement of pods that a failure policy judges": (
        _job(
            podReplacementPolicy="TerminatingOrFailed",
            podFailurePolicy={
                "rules": [
                    {"action": "Ignore", "onPodConditions": [{"type": "a", "status": "True"}]}
                ]
            },
        ),
        [
            'spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": '
            'supported values: "Failed"'
        ],
    ),
    "pods that restart forever": (
        _job(template=template()),
        ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
    ),
    "an unknown restart policy": (
        _job(template=template(restartPolicy="Sometimes")),
        [
            'spec.template.spec.restartPolicy: Unsupported value: "Sometimes": supported '
            'values: "Always", "OnFailure", "Never"',
            'spec.template.spec.restartPolicy: Unsupported value: "Sometimes": supported '
            'values: "OnFailure", "Never"',
        ],
    ),
    "pods that restart and are judged": (
        _job(template=template(restartPolicy="OnFailure"), podFailurePolicy={"rules": []}),
        [
            'spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" '
            "is supported when podFailurePolicy is specified"
        ],
    ),
    "a selector of one's own": (
        _job(manualSelector=True),
        [
            "spec.selector: Required value",
            'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does '
            "not match template `labels`",
        ],
    ),
    "a selector that does not match": (
        _job(manualSelector=True, selector={"matchLabels": {"a": "c"}}),
        [
            'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does '
            "not match template `labels`"
        ],
    ),
    "a selector that is not generated": (
        _job(selector={"matchLabels": {"a": "b"}}),
        ['spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: `selector` not auto-generated'],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), JOBS.values(), ids=JOBS)
def test_jobs(spec: Object, expected: list[str]) -> None:
    assert refused(V1, "Job", spec=spec) == expected


def test_pods_of_an_indexed_job_have_short_names() -> None:
    name = "j" * 62
    spec = _job(completionMode="Indexed", completions=1)
    assert refused(V1, "Job", metadata={"name": name}, spec=spec) == [
        'metadata.name: Invalid value: "j…": will not able to create pod with invalid DNS label: '
        "j…-0"
    ]


def _selected(**spec: Any) -> Object:
    labels = {"batch.kubernetes.io/controller-uid": "u"}
    given = {
        "selector": {"matchLabels": labels},
        "template": template(labels, restartPolicy="Never"),
    }
    return made(V1, "Job", spec=given | spec)


def _template(**spec: Any) -> Object:
    job = _selected(template=template({"x": "y"}, restartPolicy="Never", **spec))
    return {"spec": job["spec"]["template"]["spec"]}


CHANGES: dict[str, tuple[Object, Object, list[str]]] = {
    "parallelism changes": ({}, {"parallelism": 5}, []),
    "completions stay": (
        {"completions": 1},
        {"completions": 2},
        ["spec.completions: Invalid value: 2: field is immutable"],
    ),
    "indexes change with parallelism": (
        {"completionMode": "Indexed", "completions": 1},
        {"completions": 3, "parallelism": 3},
        [],
    ),
    "indexes do not change alone": (
        {"completionMode": "Indexed", "completions": 1},
        {"completions": 3},
        [
            "spec.completions: Invalid value: 3: can only be modified in tandem with "
            "spec.parallelism"
        ],
    ),
    "the selector stays": (
        {},
        {"selector": None},
        [
            "spec.selector: Required value",
            "spec.template.metadata.labels: Invalid value: "
            '{"batch.kubernetes.io/controller-uid":"u"}: `selector` does not match '
            "template `labels`",
            "spec.selector: Invalid value: null: field is immutable",
        ],
    ),
    "the mode stays": (
        {"completions": 1},
        {"completionMode": "Indexed"},
        ['spec.completionMode: Invalid value: "Indexed": field is immutable'],
    ),
    "the nodes of a suspended job change": (
        {"suspend": True},
        {"template": _template(nodeSelector={"a": "b"})},
        [],
    ),
    "the resources of a suspended job change": (
        {"suspend": True},
        {"template": _template(containers=[container(resources={"requests": {"cpu": "1"}})])},
        [],
    ),
}


@pytest.mark.parametrize(("spec", "change", "expected"), CHANGES.values(), ids=CHANGES)
def test_changes_of_jobs(spec: Object, change: Object, expected: list[str]) -> None:
    assert update_refusals(_selected(**spec), {"spec": change}) == expected


@pytest.mark.parametrize("suspend", [True, False], ids=["suspended", "running"])
def test_images_of_jobs_stay(suspend: bool) -> None:
    change = {"spec": {"template": _template(containers=[container(image="j")])}}
    (problem,) = update_refusals(_selected(suspend=suspend), change)
    assert problem.startswith(f"spec.template{'.spec' if suspend else ''}: Invalid value: ")
    assert problem.endswith(": field is immutable")


def test_the_nodes_of_a_job_that_runs_stay() -> None:
    change = {"spec": {"template": _template(nodeSelector={"a": "b"})}}
    (problem,) = update_refusals(_selected(), change)
    assert problem.startswith("spec.template: Invalid value: ")


CRON: dict[str, tuple[Object, list[str]]] = {
    "a cron job": ({}, []),
    "no schedule": ({"schedule": ""}, ["spec.schedule: Required value"]),
    "a bad schedule": (
        {"schedule": "* *"},
        ['spec.schedule: Invalid value: "* *": expected exactly 5 fields, found 2: [* *]'],
    ),
    "a zone in the schedule": (
        {"schedule": "TZ=UTC * * * * *"},
        [
            'spec.schedule: Invalid value: "TZ=UTC * * * * *": cannot use TZ or CRON_TZ '
            "in schedule, use timeZone field instead"
        ],
    ),
    "a zone": ({"timeZone": "Europe/Berlin"}, []),
    "an empty zone": (
        {"timeZone": ""},
        ['spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string'],
    ),
    "an unknown zone": (
        {"timeZone": "Europe/Atlantis"},
        ['spec.timeZone: Invalid value: "Europe/Atlantis": unknown time zone Europe/Atlantis'],
    ),
    "a zone that is a path": (
        {"timeZone": "../etc/passwd"},
        ['spec.timeZone: Invalid value: "../etc/passwd": unknown time zone ../etc/passwd'],
    ),
    "negative numbers": (
        {
            "startingDeadlineSeconds": -1,
            "successfulJobsHistoryLimit": -1,
            "failedJobsHistoryLimit": -1,
        },
        [
            "spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0",
            "spec.successfulJobsHistoryLimit: Invalid value: -1: must be greater than or "
            "equal to 0",
            "spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0",
        ],
    ),
    "an unknown policy": (
        {"concurrencyPolicy": "Maybe"},
        [
            'spec.concurrencyPolicy: Unsupported value: "Maybe": supported values: '
            '"Allow", "Forbid", "Replace"'
        ],
    ),
    "a bad job with a selector of its own": (
        {"jobTemplate": {"spec": _job(manualSelector=True, parallelism=-1)}},
        [
            "spec.jobTemplate.spec.parallelism: Invalid value: -1: must be greater than "
            "or equal to 0",
            "spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported "
            'values: "nil", "false"',
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), CRON.values(), ids=CRON)
def test_cron_jobs(spec: Object, expected: list[str]) -> None:
    given = {"schedule": "0 * * * *", "jobTemplate": {"spec": _job()}} | spec
    assert refused(V1, "CronJob", spec=given) == expected


def test_names_of_cron_jobs_leave_room_for_those_of_jobs() -> None:
    spec = {"schedule": "0 * * * *", "jobTemplate": {"spec": _job()}}
    cron_job = made(V1, "CronJob", metadata={"name": "c" * 53}, spec=spec)
    assert refusals(cron_job) == [
        'metadata.name: Invalid value: "c…": must be no more than 52 characters'
    ]
