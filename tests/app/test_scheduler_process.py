from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mooring.app import election
from mooring.app import scheduler_process as run_module
from mooring.app.command import Command
from mooring.app.command_line import run_command
from mooring.app.leader import LeaderElector
from mooring.app.scheduler_process import SchedulerProcess, run_scheduler
from mooring.client import transports
from mooring.client.transport import BeforeSend, Request
from mooring.errors import LeaseExpiredError
from mooring.explain.lease_annotations import ExplainAddress
from mooring.journal.entries import CheckpointBegins, CheckpointEnds, SegmentHead
from mooring.journal.journal_reading import read_journal
from mooring.journal.segment_writer import SegmentWriter
from mooring.scheduler.running_scheduler import RunningScheduler
from tests.support.processes import LOOPBACK, free_port
from tests.support.waiting import PATIENCE

# No server listens there.
KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: a, user: {}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
current-context: a
"""

Run = Callable[..., int]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs a scheduler, and calls another one as soon as it runs."""
    file = tmp_path / "kubeconfig"
    file.write_text(KUBECONFIG)

    def run(then: Callable[[SchedulerProcess], object], *flags: str, drop_in: bool = False) -> int:
        async def both(command: Command) -> int:
            process = SchedulerProcess(command)
            asyncio.get_running_loop().call_later(0.05, then, process)
            return await asyncio.wait_for(process.run(), PATIENCE)

        return run_command(
            [
                f"--kubeconfig={file}",
                f"--bind-address={LOOPBACK}",
                f"--secure-port={free_port()}",
                *flags,
            ],
            lambda command: asyncio.run(both(command)),
            program="mooring run",
            drop_in=drop_in,
        )

    return run


@pytest.mark.parametrize(
    ("flags", "status", "line"),
    [
        (["--leader-elect=false"], 1, 'err="finished without leader elect"'),
        (["--leader-elect=true"], 0, "Requested to terminate, exiting"),
    ],
    ids=["without election", "with election"],
)
def test_a_scheduler_that_never_saw_its_server_ends_when_it_is_asked_to(
    run: Run, flags: list[str], status: int, line: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(lambda process: process.lifecycle.stop(), *flags) == status
    assert line in capfd.readouterr().err.splitlines()[-1]


def test_a_lost_lease_is_an_error(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(lambda process: process.lifecycle.lose_lease(), "--leader-elect=true") == 1
    assert "Leaderelection lost" in capfd.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("elects", [True, False], ids=["with election", "without"])
def test_all_but_the_client_of_the_lease_write_with_a_lease_only(
    elects: bool, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[BeforeSend | None] = []
    before_write: list[Callable[[], None] | None] = []

    def make_transport(*args: Any, before_send: BeforeSend | None = None, **more: Any) -> Any:
        checks.append(before_send)
        return transports.make_transport(*args, before_send=before_send, **more)

    class Running(RunningScheduler):
        def __init__(self, *args: Any, **more: Any) -> None:
            before_write.append(more["before_write"])
            super().__init__(*args, **more)

    monkeypatch.setattr(run_module, "make_transport", make_transport)
    monkeypatch.setattr(run_module, "RunningScheduler", Running)
    run(lambda process: process.lifecycle.stop(), f"--leader-elect={str(elects).lower()}")
    if not elects:
        assert checks == [None, None]
        assert before_write == [None]
        return
    binds, events, lease = checks
    assert lease is None
    assert binds is not None and events is not None
    for check in (binds, events):
        check(Request("GET", "/api/v1/pods"))
        with pytest.raises(LeaseExpiredError):
            check(Request("POST", "/api/v1/pods"))
    (write,) = before_write
    assert write is not None
    with pytest.raises(LeaseExpiredError):
        write()


@pytest.mark.parametrize("drop_in", [False, True], ids=["mooring run", "in its place"])
def test_the_cluster_that_was_taken_is_logged(
    drop_in: bool, run: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    run(lambda process: process.lifecycle.stop(), "--leader-elect=false", drop_in=drop_in)
    lines = [line for line in capfd.readouterr().err.splitlines() if "Connecting to" in line]
    if drop_in:
        assert lines == []
        return
    [line] = lines
    assert ' server="https://127.0.0.1:1" from="' in line
    assert line.endswith(' context="a" cluster="a"')


def test_an_election_that_breaks_is_a_lost_lease(
    run: Run, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> bool:
        raise RuntimeError("a bug")

    monkeypatch.setattr(LeaderElector, "run", broken)
    assert run(lambda process: process.start_election(), "--leader-elect=true") == 1
    lines = capfd.readouterr().err.splitlines()
    assert any("Leader election failed" in line and "a bug" in line for line in lines)
    assert "Leaderelection lost" in lines[-1]


def test_what_cannot_be_built_is_told_in_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    flags = [f"--kubeconfig={tmp_path / 'none'}", "--leader-elect=false"]
    assert run_command(flags, run_scheduler, program="mooring run") == 1
    (line,) = capfd.readouterr().err.splitlines()
    assert '"command failed"' in line


@pytest.mark.parametrize(
    ("flags", "answers"),
    [
        pytest.param([], True, id="with records"),
        pytest.param(["--explain-memory=0"], False, id="without records"),
        pytest.param(["--secure-port=0"], False, id="without a port"),
    ],
)
def test_the_lease_says_where_a_scheduler_answers(
    flags: list[str], answers: bool, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses: list[Callable[[str], ExplainAddress | None]] = []

    def make_election(*args: Any, address: Any, **more: Any) -> Any:
        addresses.append(address)
        return election.make_election(*args, address=address, **more)

    monkeypatch.setattr(run_module, "make_election", make_election)
    run(lambda process: process.lifecycle.stop(), "--leader-elect=true", *flags)
    (address,) = addresses
    found = address("me")
    assert (found is not None) == answers
    if found is not None:
        assert (found.holder, len(found.certificate_sha256)) == ("me", 64)
        assert found.port > 0


def test_a_journal_begins_with_the_rules_and_its_folder_is_released(
    run: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "journal"
    run(lambda process: process.lifecycle.stop(), f"--journal={folder}", "--leader-elect=true")
    head, *rest = read_journal(folder)
    assert isinstance(head, SegmentHead)
    assert head.config["leaderElection"]["leaderElect"]
    assert [type(entry) for entry in rest] == [CheckpointBegins, CheckpointEnds]
    SegmentWriter(folder).close()


def test_a_folder_in_use_is_refused(
    run: Run, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    writer = SegmentWriter(tmp_path / "journal")
    flag = f"--journal={tmp_path / 'journal'}"
    assert run(lambda process: process.lifecycle.stop(), flag, "--leader-elect=true") == 1
    writer.close()
    assert "another process writes a journal there: end it, or name another" in (
        capfd.readouterr().err
    )
