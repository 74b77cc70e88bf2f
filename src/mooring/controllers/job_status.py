"""The status of a Job: its counted pods, completed indexes and conditions."""

# kubernetes: pkg/controller/job/{job_controller,indexed_job_utils}.go

from __future__ import annotations

from collections.abc import Iterable

from mooring.api import CustomResource, Pod
from mooring.controllers import status_conditions
from mooring.controllers.writer import Object

FINALIZER = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"

COMPLETE, FAILED, SUSPENDED = "Complete", "Failed", "Suspended"
#: The condition that precedes each final one, while the remaining pods end.
TARGETS = {COMPLETE: "SuccessCriteriaMet", FAILED: "FailureTarget"}


def finished(status: Object) -> str:
    """Return COMPLETE or FAILED, or "" for a Job that has not finished."""
    for type in (COMPLETE, FAILED):
        found = status_conditions.find(status, type)
        if found is not None and found["status"] == "True":
            return type
    return ""


def decided(status: Object) -> Object | None:
    """Return the condition that says how a Job will end; None while that is uncertain."""
    for type in TARGETS.values():
        found = status_conditions.find(status, type)
        if found is not None and found["status"] == "True":
            return found
    return None


def is_indexed(job: CustomResource) -> bool:
    """Return whether each completion has an index."""
    return bool(job.get("spec.completionMode") == "Indexed")


def index_of(pod: Pod) -> int | None:
    """Return the completion index that a pod works on."""
    text = pod.metadata.annotations.get(INDEX, "")
    return int(text) if text.isdecimal() else None


def parse_indexes(text: str) -> set[int]:
    """Parse a list of numbers and ranges.

    >>> sorted(parse_indexes("1,3-5"))
    [1, 3, 4, 5]
    """
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def write_indexes(numbers: Iterable[int]) -> str:
    """Format numbers as ranges.

    >>> write_indexes({5, 1, 4, 3})
    '1,3-5'
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(
        str(first) if first == last else f"{first}{',' if last == first + 1 else '-'}{last}"
        for first, last in runs
    )


def is_failed(pod: Pod) -> bool:
    """Return whether a pod counts as failed; one deleted before it succeeded does."""
    return pod.status.phase == "Failed" or (pod.is_terminating and pod.status.phase != "Succeeded")


def count(job: CustomResource, status: Object, pods: Iterable[Pod], *, over: bool) -> list[Pod]:
    """Count ended pods in the status, in place; return the pods whose finalizer may be removed.

    A pod is counted in two steps: its uid is recorded while it still has the finalizer, and the
    count is increased once the finalizer is gone. So a crash or a deletion never causes a pod to
    be counted twice or not at all. `over` means that the outcome of the Job is decided.
    """
    ended: list[Pod] = []
    held = {pod.metadata.uid: pod for pod in pods if FINALIZER in pod.metadata.finalizers}
    noted = status.get("uncountedTerminatedPods") or {}
    done = parse_indexes(status.get("completedIndexes", ""))
    waiting: dict[str, list[str]] = {}
    for field in ("succeeded", "failed"):
        waiting[field] = [uid for uid in noted.get(field, ()) if uid in held]
        settled = len(noted.get(field, ())) - len(waiting[field])
        if settled:
            status[field] = status.get(field, 0) + settled
    suspended = job.get("spec.suspend", False)
    for uid, pod in held.items():
        if pod.status.phase == "Succeeded":
            ended.append(pod)
            number = index_of(pod)
            if is_indexed(job):
                if number is not None and number < job.get("spec.completions", 0):
                    done.add(number)
            elif uid not in waiting["succeeded"]:
                waiting["succeeded"].append(uid)
        elif is_failed(pod) or over:
            ended.append(pod)
            deliberate = suspended and pod.status.phase != "Failed"
            counts = is_failed(pod) and not deliberate
            if counts and uid not in waiting["failed"]:
                waiting["failed"].append(uid)
    if is_indexed(job):
        status["succeeded"] = len(done)
        status["completedIndexes"] = write_indexes(done)
    status["uncountedTerminatedPods"] = {key: uids for key, uids in waiting.items() if uids}
    return ended


def total(status: Object, field: str) -> int:
    """Return how many pods have "succeeded" or "failed", including those only recorded by uid."""
    noted = (status.get("uncountedTerminatedPods") or {}).get(field, ())
    known: int = status.get(field, 0)
    return known + len(noted)
