"""Jobs, against a real kube-apiserver and Mooring's."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import Job, Pod
from mooring.controllers.controlled_kinds import JOBS
from mooring.controllers.job_status import FINALIZER
from tests.support.controllers import Object, Workbench, template


def job(name: str = "work", command: str = "true", **spec: Any) -> Object:
    container = {"command": ["sh", "-c", command]}
    pods = template(labels={}, container=container, restartPolicy="Never")
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": pods, **spec},
    }


def status(bench: Workbench, name: str = "work") -> Object:
    found = bench.raw(Job, name)
    return found.raw.get("status", {}) if found is not None else {}


def ended(bench: Workbench, type: str) -> str:
    """Return why the job ended like this, or "" if it has not."""
    for one in status(bench).get("conditions") or ():
        if one["type"] == type and one["status"] == "True":
            return str(one["reason"])
    return ""


async def test_a_job_completes(workbench: Workbench) -> None:
    most = 0
    await workbench.create(JOBS, job(completions=3, parallelism=2))

    def complete() -> str:
        nonlocal most
        most = max(most, len(workbench.pods()))
        return ended(workbench, "Complete")

    assert await workbench.until(complete, "the end") == "CompletionsReached"
    assert status(workbench)["succeeded"] == 3
    assert status(workbench)["completionTime"]
    assert not status(workbench).get("active")
    assert 1 <= most <= 2
    assert [len(workbench.pods(phase)) for phase in ("Running", "Succeeded")] == [0, 3]
    await workbench.until(
        lambda: all(FINALIZER not in pod.metadata.finalizers for pod in workbench.all(Pod)),
        "pods that may go",
    )


async def test_an_indexed_job_does_each_number_once(workbench: Workbench) -> None:
    await workbench.create(JOBS, job(completions=3, parallelism=3, completionMode="Indexed"))
    await workbench.until(lambda: ended(workbench, "Complete"), "the end")
    assert status(workbench)["completedIndexes"] == "0-2"
    index = "batch.kubernetes.io/job-completion-index"
    assert sorted(pod.metadata.labels[index] for pod in workbench.all(Pod)) == ["0", "1", "2"]
    assert sorted(pod.spec.hostname for pod in workbench.all(Pod)) == ["work-0", "work-1", "work-2"]


async def test_a_job_fails_after_too_many_failures(workbench: Workbench) -> None:
    await workbench.create(JOBS, job(command="exit 3", backoffLimit=0))
    reason = await workbench.until(lambda: ended(workbench, "Failed"), "the failure")
    assert reason == "BackoffLimitExceeded"
    assert ended(workbench, "FailureTarget") == reason
    assert status(workbench)["failed"] == 1
    (pod,) = workbench.all(Pod)
    assert pod.status.container_statuses[0].state["terminated"]["exitCode"] == 3


async def test_a_job_fails_at_its_deadline(workbench: Workbench) -> None:
    await workbench.create(JOBS, job(command="sleep 600", activeDeadlineSeconds=1))
    reason = await workbench.until(lambda: ended(workbench, "Failed"), "the failure")
    assert reason == "DeadlineExceeded"
    await workbench.until(lambda: not workbench.all(Pod), "the end of its pod")


async def test_a_suspended_job_waits(workbench: Workbench) -> None:
    await workbench.create(JOBS, job(command="sleep 600", suspend=True))
    await workbench.until(lambda: ended(workbench, "Suspended"), "the condition")
    assert not workbench.all(Pod) and "startTime" not in status(workbench)
    await workbench.patch(JOBS, "work", {"spec": {"suspend": False}})
    await workbench.until(lambda: len(workbench.pods()) == 1, "its pod")
    await workbench.patch(JOBS, "work", {"spec": {"suspend": True}})
    await workbench.until(lambda: not workbench.all(Pod), "the end of its pod")
    assert not status(workbench).get("failed")


async def test_a_finished_job_goes_when_its_time_is_over(workbench: Workbench) -> None:
    await workbench.create(JOBS, job(ttlSecondsAfterFinished=1))
    await workbench.until(lambda: workbench.all(JOBS), "the job")
    await workbench.until(lambda: not workbench.all(JOBS), "its end")
    await workbench.until(lambda: not workbench.all(Pod), "the end of its pod")


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
async def test_a_deleted_job_takes_its_pods_along(workbench: Workbench, policy: str) -> None:
    await workbench.create(JOBS, job(command="sleep infinity", parallelism=2))
    await workbench.until(lambda: len(workbench.pods()) == 2, "two pods")
    await workbench.delete(JOBS, "work", propagationPolicy=policy)
    await workbench.until(lambda: not workbench.all(JOBS) and not workbench.all(Pod), "the end")
