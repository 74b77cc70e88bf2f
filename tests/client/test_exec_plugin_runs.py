"""How the program that prints credentials is run, and when; the program itself is replaced."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mooring.client import exec_plugin
from mooring.client.exec_plugin import V1, ExecConfig, ExecEnvVar, ExecPlugin
from mooring.errors import ConfigError
from mooring.observe.clock import VirtualClock
from tests.client.fakes import bounded

__all__ = ["bounded"]


class Programs:
    """What is run in place of programs."""

    def __init__(self) -> None:
        self.runs: list[dict[str, Any]] = []
        self.status: dict[str, Any] = {"token": "t"}
        self.kind, self.version = "ExecCredential", V1
        self.error: Exception | None = None
        self.code = 0
        #: Runs wait for it.
        self.go = asyncio.Event()
        self.go.set()

    async def run(
        self, command: Sequence[str], environment: Mapping[str, str], **more: Any
    ) -> tuple[int, bytes]:
        self.runs.append({"command": command, "environment": environment, **more})
        await self.go.wait()
        if self.error is not None:
            raise self.error
        body = {"kind": self.kind, "apiVersion": self.version, "status": self.status}
        return self.code, json.dumps(body).encode()


@pytest.fixture
async def programs(monkeypatch: pytest.MonkeyPatch) -> Programs:
    made = Programs()
    monkeypatch.setattr(exec_plugin, "run_program", made.run)
    return made


def plugin(clock: VirtualClock | None = None, **config: Any) -> ExecPlugin:
    chosen = {"command": "get", "api_version": V1, "interactive_mode": "Never", **config}
    return ExecPlugin(ExecConfig(**chosen), {"server": "s"}, clock or VirtualClock())


class Terminal:
    def __init__(self, is_one: bool) -> None:
        self._is_one = is_one

    def isatty(self) -> bool:
        return self._is_one


@pytest.mark.parametrize(
    ("mode", "terminal", "interactive"),
    [
        pytest.param("Never", True, False, id="never"),
        pytest.param("IfAvailable", True, True, id="with a terminal"),
        pytest.param("IfAvailable", False, False, id="without a terminal"),
        pytest.param("Always", True, True, id="always"),
    ],
)
async def test_a_program_may_talk_to_a_person(
    programs: Programs,
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    terminal: bool,
    interactive: bool,
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(terminal))
    await plugin(interactive_mode=mode).authorization()
    (run,) = programs.runs
    assert run["terminal"] is interactive
    assert run["seconds"] == (600.0 if interactive else 60.0)
    assert run["max_bytes"] == 2**20
    info = json.loads(run["environment"]["KUBERNETES_EXEC_INFO"])
    assert info["spec"] == {"interactive": interactive}


async def test_the_environment_is_added_to(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEPT", "yes")
    monkeypatch.setenv("CHANGED", "before")
    given = (ExecEnvVar("CHANGED", "after"), ExecEnvVar("NEW", "one"))
    await plugin(env=given, args=("a", "b")).authorization()
    (run,) = programs.runs
    assert run["command"] == ("get", "a", "b")
    environment = run["environment"]
    assert (environment["KEPT"], environment["CHANGED"], environment["NEW"]) == (
        "yes",
        "after",
        "one",
    )
    assert environment.keys() == os.environ.keys() | {"NEW", "KUBERNETES_EXEC_INFO"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"kind": "Pod"}, "returned version client", id="another kind"),
        pytest.param({"version": ""}, "returned version none$", id="no version"),
        pytest.param({"version": "v" * 300}, "returned version v{100}$", id="a long version"),
        pytest.param({"code": 1}, "failed with exit code 1$", id="a failure"),
        pytest.param({"error": OSError(13, "Permission denied")}, "cannot be run: Perm", id="OS"),
        pytest.param({"error": ValueError("null byte")}, "cannot be run: null byte", id="value"),
        pytest.param(
            {"error": FileNotFoundError()}, "get not found; read  *the manual$", id="none"
        ),
        pytest.param({"status": {"token": "a\nb"}}, "control characters", id="an odd token"),
        pytest.param(
            {"status": {"token": "t", "expirationTimestamp": "x" * 300}},
            "expirationTimestamp: .{100}$",
            id="an odd time",
        ),
    ],
)
async def test_what_cannot_be_used_is_told_in_short(
    programs: Programs, change: dict[str, Any], words: str
) -> None:
    for name, value in change.items():
        setattr(programs, name, value)
    made = plugin(install_hint="read\n  the manual")
    with pytest.raises(ConfigError, match=words):
        await made.authorization()
    # Nothing of it is kept.
    assert made.known() is None and made.key_pair is None


async def test_a_program_without_a_hint(programs: Programs) -> None:
    programs.error = FileNotFoundError()
    with pytest.raises(ConfigError, match=r"get not found$"):
        await plugin().authorization()


@pytest.mark.parametrize(
    ("later", "runs"),
    [pytest.param(0.9, 1, id="not within a second"), pytest.param(1.0, 2, id="after a second")],
)
@pytest.mark.parametrize(
    "status", [{}, {"token": "t", "expirationTimestamp": "1969-01-01T00:00:00Z"}]
)
async def test_a_program_that_is_of_no_use_runs_again(
    programs: Programs, status: dict[str, Any], later: float, runs: int
) -> None:
    programs.status = status
    clock = VirtualClock()
    made = plugin(clock)
    for _ in range(2):
        try:
            await made.authorization()
        except ConfigError:
            assert not status
        clock.advance(later)
    assert len(programs.runs) == runs


async def test_a_success_ends_a_failure(programs: Programs) -> None:
    clock = VirtualClock()
    made = plugin(clock)
    programs.code = 1
    with pytest.raises(ConfigError):
        await made.authorization()
    programs.code = 0
    clock.advance(1.0)
    assert await made.authorization() == "Bearer t"
    assert made.known() == "Bearer t"
    programs.code = 1
    assert await made.authorization() == "Bearer t", "it does not run again"


async def test_requests_share_a_run(programs: Programs) -> None:
    programs.go.clear()
    made = plugin()
    tasks = [asyncio.create_task(made.authorization()) for _ in range(3)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]
    programs.go.set()
    assert [await task for task in tasks[1:]] == ["Bearer t", "Bearer t"]
    assert len(programs.runs) == 1


async def test_a_refusal_joins_the_run_under_way(programs: Programs) -> None:
    made = plugin()
    refused = await made.authorization()
    programs.go.clear()
    programs.status = {"token": "new"}
    tasks = [asyncio.create_task(made.renew(refused)) for _ in range(3)]
    await asyncio.sleep(0)
    programs.go.set()
    assert [await task for task in tasks] == [True, True, True]
    assert len(programs.runs) == 2
    # What was refused is not what is shown now.
    assert await made.renew(refused)
    assert len(programs.runs) == 2


async def test_a_run_that_is_ended_by_closing_is_no_failure(programs: Programs) -> None:
    programs.go.clear()
    made = plugin()
    task = asyncio.create_task(made.authorization())
    await asyncio.sleep(0)
    await made.close()
    with pytest.raises(ConfigError, match="the client was closed"):
        await task
    programs.go.set()
    assert await made.authorization() == "Bearer t", "the next request runs it again"
