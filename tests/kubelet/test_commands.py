"""What a command says about a simulated container's behaviour."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import Pod
from mooring.api.kinds import decode_as
from mooring.kubelet.commands import exit_code, stop_seconds, task_seconds


def pod(*commands: list[str], **container: Any) -> Pod:
    containers = [
        {"name": f"c{place}", "command": command, **container}
        for place, command in enumerate(commands)
    ]
    return decode_as({"spec": {"containers": containers}}, Pod)


@pytest.mark.parametrize(
    ("commands", "seconds"),
    [
        ([["perl", "-e", "1"]], 1.0),
        ([["sleep", "5"]], 5.0),
        ([["sh", "-c", "sleep 2; echo done; sleep 3.5"]], 5.5),
        ([["sleep", "5"], ["sleep", "7"]], 7.0),
        ([["sleep", "infinity"]], None),
        ([["sleepy", "5"]], 1.0),
    ],
    ids=[
        "anything takes a second",
        "sleep takes its time",
        "sleeps add up",
        "the longest container counts",
        "for ever",
        "another word is no sleep",
    ],
)
def test_a_task_takes_so_long(commands: list[list[str]], seconds: float | None) -> None:
    assert task_seconds(pod(*commands)) == seconds


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["true"], 0),
        (["false"], 1),
        (["/bin/false"], 1),
        (["sh", "-c", "echo oops; exit 42"], 42),
        (["sh", "-c", "exit 256"], 0),
        (["echo", "falsehood"], 0),
    ],
    ids=["true", "false", "false by its path", "exit in a script", "a byte", "another word"],
)
def test_a_container_ends_with_a_code(command: list[str], code: int) -> None:
    assert exit_code(pod(command).spec.containers[0]) == code


@pytest.mark.parametrize(
    ("command", "lifecycle", "grace", "seconds"),
    [
        (["nginx"], None, 30, 1.0),
        (["nginx"], None, 0, 0.0),
        (["nginx"], {"preStop": {"sleep": {"seconds": 5}}}, 30, 6.0),
        (["nginx"], {"preStop": {"sleep": {"seconds": 50}}}, 30, 30.0),
        (["sleep", "1000"], None, 30, 30.0),
        (["sleep", "1000"], None, None, 30.0),
    ],
    ids=[
        "a server ends when asked",
        "no grace is no time",
        "a hook takes its time",
        "and no more than the grace",
        "sleep hears nothing",
        "the grace is half a minute by default",
    ],
)
def test_a_pod_takes_so_long_to_end(
    command: list[str], lifecycle: Any, grace: int | None, seconds: float
) -> None:
    more = {} if lifecycle is None else {"lifecycle": lifecycle}
    assert stop_seconds(pod(command, **more), grace) == seconds
