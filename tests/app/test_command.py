from __future__ import annotations

from pathlib import Path

import pytest

from mooring.app.command import Command
from mooring.app.command_line import run_command

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def run(*argv: str) -> tuple[int, list[Command]]:
    commands: list[Command] = []

    def scheduler(command: Command) -> int:
        commands.append(command)
        return 7

    return run_command(argv, scheduler, program="mooring run"), commands


def test_a_scheduler_runs_with_what_the_line_asks_for() -> None:
    status, commands = run("--leader-elect=false", "--secure-port=0", "--v=2")
    assert status == 7
    assert commands[0].options.serving.port == 0
    assert commands[0].config.config.leader_election.leader_elect is False
    assert commands[0].verbosity.v == 2


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--secure-port=70000"], '"command failed" err="--secure-port 70000 must be between'),
        (["--feature-gates=Foo=true"], '"command failed" err="unrecognized feature gate: Foo"'),
        (["--config=/absent.yaml"], "/absent.yaml"),
        (["--plugin=absent.py:X"], "absent.py"),
        (["--logging-format=foo"], 'format: Invalid value: "foo": Unsupported log format\n'),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_other_mistakes_are_logged(
    argv: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*argv) == (1, [])
    assert words in capsys.readouterr().err


def test_a_configuration_is_written_and_nothing_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "out.yaml"
    assert run(f"--write-config-to={file}") == (0, [])
    assert "leaseDuration: 15s" in file.read_text(encoding="utf-8")
    assert f'"Wrote configuration" file="{file}"' in capsys.readouterr().err


def test_flags_and_warnings_are_logged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = tmp_path / "old.yaml"
    old.write_text(HEAD.replace("/v1", "/v1beta3"), encoding="utf-8")
    assert run("--v=2", f"--config={old}", "--port=0")[0] == 7
    err = capsys.readouterr().err
    assert r'"FLAG: --v=\"2\""' in err
    assert "Flag --port has been deprecated" in err
    assert 'is deprecated (kube-scheduler 1.29 removed it)" v1=<\n\tapiVersion: ' in err
    assert '"Using component config" config=<\n\tapiVersion: ' in err
