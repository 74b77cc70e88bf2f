"""Programs that print credentials."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mooring.client.exec_plugin import (
    MAX_OUTPUT,
    RETRY_SECONDS,
    V1,
    V1BETA1,
    ExecConfig,
    ExecEnvVar,
    ExecPlugin,
)
from mooring.errors import ConfigError
from mooring.observe.clock import VirtualClock
from tests.support.certificates import Authority

# A program that counts its runs, stores its input and prints a prepared output.
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


def key_pair(folder: Path) -> dict[str, str]:
    """Return a client certificate, preceded by the number of the run, and its key."""
    pair = Authority(folder / "pki").client("ada")
    return {
        "clientCertificateData": "RUN\n" + pair.certificate.read_text(),
        "clientKeyData": pair.key.read_text(),
    }


async def test_a_certificate_may_come_in_place_of_a_token(program: Program) -> None:
    program.prints(key_pair(program.folder))
    plugin = program.plugin()
    assert await plugin.authorization() == ""
    first = plugin.key_pair
    assert first is not None and first.certificate.read().startswith(b"1\n-----BEGIN")
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


# Programs that misbehave.


def script(body: str, **config: Any) -> ExecPlugin:
    """Return a plugin that runs a line of shell."""
    chosen = ExecConfig(
        command="/bin/sh",
        args=("-c", body),
        api_version=V1,
        interactive_mode="Never",
    )
    return ExecPlugin(chosen, {}, config.pop("clock", VirtualClock()), **config)


CREDENTIAL = json.dumps({"kind": "ExecCredential", "apiVersion": V1, "status": {"token": "t"}})


def is_alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def ended(pid: int) -> None:
    async with asyncio.timeout(30.0):
        while is_alive(pid):
            await asyncio.sleep(0.01)


async def pid_in(file: Path) -> int:
    async with asyncio.timeout(30.0):
        while not (file.exists() and file.read_text().endswith("\n")):
            await asyncio.sleep(0.01)
    return int(file.read_text())


async def test_a_program_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    child = tmp_path / "child"
    plugin = script(f"sleep 1000 & echo $! > {child}; wait", seconds=0.5)
    with pytest.raises(ConfigError, match=r"/bin/sh did not finish within 0\.5 seconds"):
        await plugin.authorization()
    await ended(await pid_in(child))


async def test_a_child_that_keeps_the_pipe_open_is_not_waited_for(tmp_path: Path) -> None:
    child = tmp_path / "child"
    plugin = script(f"sleep 1000 & echo $! > {child}; echo '{CREDENTIAL}'")
    async with asyncio.timeout(30.0):
        assert await plugin.authorization() == "Bearer t"
    await ended(await pid_in(child))


async def test_a_program_that_prints_without_end_is_cut(tmp_path: Path) -> None:
    child = tmp_path / "child"
    plugin = script(f"echo $$ > {child}; exec cat /dev/zero")
    with pytest.raises(ConfigError, match=f"printed more than {MAX_OUTPUT} bytes"):
        await plugin.authorization()
    await ended(await pid_in(child))


@pytest.mark.parametrize("output", ["", "\\0377\\0376", "{", "null", "[1]", '"x"'])
async def test_garbage_of_any_kind_is_told(output: str) -> None:
    with pytest.raises(ConfigError, match="getting credentials: exec: decoding stdout: "):
        await script(f"printf '{output}'").authorization()


async def test_what_a_failing_program_says_is_not_repeated() -> None:
    """Standard error may contain secrets, and so may the output of a program that fails."""
    with pytest.raises(ConfigError) as raised:
        await script("echo hunter2 >&2; echo hunter2; exit 7").authorization()
    assert str(raised.value) == (
        "getting credentials: exec: executable /bin/sh failed with exit code 7"
    )


async def test_certificates_that_cannot_be_used_are_not_kept(program: Program) -> None:
    program.prints({"clientCertificateData": "garbage RUN", "clientKeyData": "key"})
    clock = VirtualClock()
    plugin = program.plugin(clock)
    with pytest.raises(ConfigError, match="failed parsing client key/certificate"):
        await plugin.authorization()
    program.prints({"token": "good"})
    clock.advance(RETRY_SECONDS)
    assert await plugin.authorization() == "Bearer good"


async def test_a_failure_stands_for_a_moment_and_is_then_tried_again(program: Program) -> None:
    program.prints(None)
    clock = VirtualClock()
    plugin = program.plugin(clock)
    for _ in range(10):
        with pytest.raises(ConfigError, match="status field"):
            await plugin.authorization()
    assert program.runs == 1
    program.prints({"token": "tRUN"})
    clock.advance(RETRY_SECONDS)
    assert await plugin.authorization() == "Bearer t2"


async def test_credentials_that_arrive_expired_do_not_start_a_storm(program: Program) -> None:
    program.prints({"token": "tRUN", "expirationTimestamp": "1970-01-01T00:10:00Z"})
    clock = VirtualClock(start=10_000.0)
    plugin = program.plugin(clock)
    for _ in range(10):
        # They are used although they have expired: the server decides whether they are valid.
        assert await plugin.authorization() == "Bearer t1"
    clock.advance(RETRY_SECONDS)
    assert await plugin.authorization() == "Bearer t2"
    assert program.runs == 2


async def test_refused_credentials_do_not_start_a_storm(program: Program) -> None:
    program.prints({"token": "t"})
    clock = VirtualClock()
    plugin = program.plugin(clock)
    refused = await plugin.authorization()
    for _ in range(10):
        assert not await plugin.renew(refused)
    assert program.runs == 2
    clock.advance(RETRY_SECONDS)
    assert not await plugin.renew(refused)
    assert program.runs == 3


async def test_a_program_that_fails_to_renew_does_not_start_a_storm(program: Program) -> None:
    program.prints({"token": "t"})
    plugin = program.plugin()
    refused = await plugin.authorization()
    program.prints(None)
    with pytest.raises(ConfigError, match="status field"):
        await plugin.renew(refused)
    for _ in range(10):
        assert not await plugin.renew(refused)
    assert program.runs == 2


async def test_a_request_that_gives_up_does_not_end_the_run_for_others(tmp_path: Path) -> None:
    go = tmp_path / "go"
    plugin = script(f"while [ ! -e {go} ]; do sleep 0.01; done; echo '{CREDENTIAL}'")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await plugin.authorization()
    waiting = asyncio.create_task(plugin.authorization())
    await asyncio.sleep(0)
    go.touch()
    async with asyncio.timeout(30.0):
        assert await waiting == "Bearer t"


async def test_closing_ends_the_program(tmp_path: Path) -> None:
    child = tmp_path / "child"
    plugin = script(f"echo $$ > {child}; exec sleep 1000")
    waiting = asyncio.create_task(plugin.authorization())
    pid = await pid_in(child)
    await plugin.close()
    with pytest.raises(ConfigError, match="the client was closed"):
        await waiting
    await ended(pid)
    await plugin.close()
