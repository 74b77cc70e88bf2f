"""The runs of a container: how they end, and when the next begins."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import Pod
from mooring.api.kinds import decode_as
from mooring.kubelet.image_contents import Image
from mooring.kubelet.observed_status import phase_of
from mooring.kubelet.real_container import RealContainer

START = 1_700_000_000.0
RUNNING: dict[str, Any] = {"state": {"running": {}}, "lastState": {}}
WAITING: dict[str, Any] = {"state": {"waiting": {}}, "lastState": {}}


def ended(code: int) -> dict[str, Any]:
    return {"state": {"terminated": {"exitCode": code}}, "lastState": {}}


def held_back(code: int) -> dict[str, Any]:
    return {"state": {"waiting": {}}, "lastState": {"terminated": {"exitCode": code}}}


class Process:
    """A process that ends when a test ends it."""

    exit_code: int | None = None


def a_pod(**status: Any) -> Pod:
    metadata = {"name": "p", "namespace": "team", "uid": "123"}
    spec = {"containers": [{"name": "c", "image": "mooring"}]}
    return decode_as({"metadata": metadata, "spec": spec, "status": status}, Pod)


def container(pod: Pod) -> RealContainer:
    return RealContainer(pod.spec.containers[0], Image())


def run(found: RealContainer, pod: Pod, now: float, code: int = 1) -> None:
    """Begin a run and end it at once."""
    process: Any = Process()
    found.begin(process, None, "then")  # type: ignore[arg-type]
    process.exit_code = code
    assert found.note_exit(pod, now)


def test_back_off_doubles_up_to_five_minutes() -> None:
    pod = a_pod()
    found = container(pod)
    now = START
    waits = []
    for _ in range(9):
        run(found, pod, now)
        due = found.hold_back(pod, now)
        if due is not None:
            assert found.waiting is not None and found.waiting[0] == "CrashLoopBackOff"
            waits.append((due - now, found.waiting[1]))
            assert found.hold_back(pod, due - 1) == due
            now = due
            assert found.hold_back(pod, now) is None
        else:
            waits.append((0, ""))
    assert [seconds for seconds, _ in waits] == [0, 10, 20, 40, 80, 160, 300, 300, 300]
    assert waits[1][1] == "back-off 10s restarting failed container=c pod=p_team(123)"
    assert waits[5][1].startswith("back-off 2m40s ")
    assert found.restarts == 8


def test_a_container_that_ran_for_long_begins_anew() -> None:
    pod = a_pod()
    found = container(pod)
    run(found, pod, START)
    assert found.hold_back(pod, START) is None
    run(found, pod, START + 601)
    assert found.hold_back(pod, START + 601) is None
    run(found, pod, START + 602)
    assert found.hold_back(pod, START + 602) == START + 612


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [
        ("Always", 0, True),
        ("Always", 1, True),
        ("OnFailure", 0, False),
        ("OnFailure", 1, True),
        ("Never", 1, False),
    ],
)
def test_the_policy_decides(policy: str, code: int, again: bool) -> None:
    pod = a_pod()
    found = container(pod)
    assert found.restarts_by(policy)
    run(found, pod, START, code)
    assert found.restarts_by(policy) is again


def test_the_status_of_a_container_that_failed_twice() -> None:
    pod = a_pod()
    found = container(pod)
    assert found.status(pod)["state"] == {"waiting": {"reason": "ContainerCreating"}}
    run(found, pod, START, 3)
    first = found.status(pod)["state"]["terminated"]
    assert (first["exitCode"], first["reason"]) == (3, "Error")
    assert first["finishedAt"] == "2023-11-14T22:13:20Z"
    assert found.hold_back(pod, START) is None
    run(found, pod, START, 137)
    found.hold_back(pod, START + 1)
    status = found.status(pod)
    assert status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    last = status["lastState"]["terminated"]
    assert last["exitCode"] == 137 and last["containerID"] == status["containerID"]
    assert (status["ready"], status["started"], status["restartCount"]) == (False, False, 1)
    assert last["containerID"] != first["containerID"]


def test_what_ran_before_a_restart_of_the_machine_has_ended() -> None:
    running = {
        "name": "c",
        "containerID": "containerd://1",
        "restartCount": 2,
        "state": {"running": {"startedAt": "2023-11-14T22:00:00Z"}},
    }
    pod = a_pod(containerStatuses=[running])
    found = container(pod)
    found.remember(pod, START)
    assert found.ended is not None and found.ended["reason"] == "ContainerStatusUnknown"
    process: Any = Process()
    found.begin(process, None, "then")  # type: ignore[arg-type]
    status = found.status(pod)
    assert status["restartCount"] == 3
    assert status["lastState"]["terminated"]["startedAt"] == "2023-11-14T22:00:00Z"


@pytest.mark.parametrize(
    ("policy", "statuses", "phase"),
    [
        ("Always", [RUNNING, WAITING], "Pending"),
        ("Always", [RUNNING, held_back(1)], "Running"),
        ("Always", [held_back(1)], "Running"),
        ("Always", [ended(0)], "Running"),
        ("Never", [ended(0), RUNNING], "Running"),
        ("Never", [ended(0), ended(1)], "Failed"),
        ("Never", [ended(0), ended(0)], "Succeeded"),
        ("OnFailure", [ended(0)], "Succeeded"),
        ("OnFailure", [held_back(1)], "Running"),
    ],
)
def test_the_phase_of_a_pod(policy: str, statuses: list[dict[str, Any]], phase: str) -> None:
    pod = decode_as({"spec": {"restartPolicy": policy}}, Pod)
    assert phase_of(pod, statuses) == phase
