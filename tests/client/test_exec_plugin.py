"""Programs that print credentials."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mooring.client.exec_plugin import V1, V1BETA1, ExecConfig, ExecEnvVar, ExecPlugin
from mooring.errors import ConfigError
from mooring.observe.clock import VirtualClock

# Counts its runs, keeps what it was told, prints what it is asked to print.
PROGRAM = """
import json, os, pathlib, sys
folder = pathlib.Path(sys.argv[1])
runs = folder / "runs"
count = int(runs.read_text()) + 1 if runs.exists() else 1
runs.write_text(str(count))
(folder / "info").write_text(os.environ["KUBERNETES_EXEC_INFO"])
(folder / "extra").write_text(os.environ.get("EXTRA", ""))
print((folder / "output").read_text().replace("RUN", str(count)))
sys.exit(int(os.environ.get("EXIT", "0")))
"""


class Program:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def prints(self, status: Any, version: str = V1) -> None:
        body = {"kind": "ExecCredential", "apiVersion": version, "status": status}
        (self.folder / "output").write_text(json.dumps(body))

    @property
    def runs(self) -> int:
        return int((self.folder / "runs").read_text())

    @property
    def info(self) -> Any:
        return json.loads((self.folder / "info").read_text())

    def plugin(self, clock: VirtualClock | None = None, **config: Any) -> ExecPlugin:
        chosen = {
            "command": sys.executable,
            "args": ("-c", PROGRAM, str(self.folder)),
            "api_version": V1,
            "interactive_mode": "Never",
            **config,
        }
        cluster = {"server": "https://server", "config": {"audience": "x"}}
        return ExecPlugin(ExecConfig(**chosen), cluster, clock or VirtualClock())


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


async def test_a_token_is_kept_while_it_holds(program: Program) -> None:
    program.prints({"token": "tRUN", "expirationTimestamp": "1970-01-01T00:10:00Z"})
    clock = VirtualClock()
    plugin = program.plugin(clock)
    assert await plugin.authorization() == "Bearer t1"
    clock.advance(600.0)
    assert await plugin.authorization() == "Bearer t1"
    clock.advance(1.0)
    assert await plugin.authorization() == "Bearer t2"


async def test_a_token_without_an_end_is_kept_for_good(program: Program) -> None:
    program.prints({"token": "tRUN"})
    clock = VirtualClock()
    plugin = program.plugin(clock)
    await plugin.authorization()
    clock.advance(1e9)
    assert await plugin.authorization() == "Bearer t1"


async def test_many_ask_and_the_program_runs_once(program: Program) -> None:
    program.prints({"token": "tRUN"})
    plugin = program.plugin()
    await asyncio.gather(*(plugin.authorization() for _ in range(5)))
    refused = await plugin.authorization()
    renewed = await asyncio.gather(*(plugin.renew(refused) for _ in range(5)))
    assert all(renewed)
    assert program.runs == 2


async def test_a_certificate_may_come_in_place_of_a_token(program: Program) -> None:
    program.prints({"clientCertificateData": "cert RUN", "clientKeyData": "key"})
    plugin = program.plugin()
    assert await plugin.authorization() == ""
    first = plugin.key_pair
    assert first is not None and first.certificate.read() == b"cert 1"
    assert await plugin.renew("")
    assert plugin.key_pair != first


@pytest.mark.parametrize("version", [V1, V1BETA1])
async def test_the_program_is_told_what_it_needs(program: Program, version: str) -> None:
    program.prints({"token": "t"}, version)
    plugin = program.plugin(
        api_version=version, provide_cluster_info=True, env=(ExecEnvVar("EXTRA", "more"),)
    )
    await plugin.authorization()
    assert program.info == {
        "kind": "ExecCredential",
        "apiVersion": version,
        "spec": {
            "interactive": False,
            "cluster": {"server": "https://server", "config": {"audience": "x"}},
        },
    }
    assert (program.folder / "extra").read_text() == "more"


async def test_the_cluster_is_told_only_where_asked(program: Program) -> None:
    program.prints({"token": "t"})
    await program.plugin().authorization()
    assert program.info["spec"] == {"interactive": False}


@pytest.mark.parametrize(
    ("status", "version", "words"),
    [
        (None, V1, "didn't return a status field"),
        ({}, V1, "didn't return a token or cert/key pair"),
        ({"clientKeyData": "k"}, V1, "only certificate or key, not both"),
        ({"token": "t"}, V1BETA1, f"use API version {V1}, plugin returned version {V1BETA1}"),
        ({"token": "t", "expirationTimestamp": "soon"}, V1, "expirationTimestamp"),
        ({"token": 5}, V1, "decoding stdout"),
    ],
    ids=["no status", "nothing", "half a pair", "another version", "no time", "no text"],
)
async def test_an_answer_that_cannot_be_used(
    program: Program, status: Any, version: str, words: str
) -> None:
    program.prints(status, version)
    with pytest.raises(ConfigError, match="getting credentials: exec: ") as raised:
        await program.plugin().authorization()
    assert words in str(raised.value)


async def test_garbage_is_told(program: Program) -> None:
    (program.folder / "output").write_text("hello")
    with pytest.raises(ConfigError, match="decoding stdout"):
        await program.plugin().authorization()


async def test_a_program_that_fails(program: Program) -> None:
    program.prints({"token": "t"})
    plugin = program.plugin(env=(ExecEnvVar("EXIT", "3"),))
    with pytest.raises(ConfigError, match="failed with exit code 3"):
        await plugin.authorization()


async def test_a_program_that_is_not_there(program: Program) -> None:
    plugin = program.plugin(command="no-such-program", install_hint="Get it\n  from us.")
    with pytest.raises(
        ConfigError, match=r"executable no-such-program not found; Get it from us\.$"
    ):
        await plugin.authorization()


async def test_a_program_that_needs_a_person(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ConfigError, match="standard input is not a terminal"):
        await program.plugin(interactive_mode="Always").authorization()
    program.prints({"token": "t"})
    await program.plugin(interactive_mode="IfAvailable").authorization()
    assert program.info["spec"] == {"interactive": False}
