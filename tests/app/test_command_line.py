from __future__ import annotations

import pytest

from mooring.app.command import Command
from mooring.app.command_line import read_flags, run_command


def run(*argv: str) -> int:
    def scheduler(command: Command) -> int:
        raise AssertionError("a scheduler runs")

    return run_command(argv, scheduler, program="mooring run")


def test_a_mistake_in_the_line_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--nope") == 1
    assert capsys.readouterr() == (
        "",
        "Error: unknown flag: --nope\nUsage:\n  mooring run [flags]\n"
        'Run "mooring run --help" for the flags.\n',
    )


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    assert capsys.readouterr().out.startswith("Usage:\n  mooring run [flags]\n")
    assert run("--version") == 0
    assert capsys.readouterr().out.startswith("Kubernetes v1.37.1 (Mooring ")
    assert run("--version=raw") == 0
    assert 'GitVersion:"v1.37.1"' in capsys.readouterr().out


def test_flags_have_their_types() -> None:
    flags = read_flags(["--v=2", "--leader-elect=false"])
    assert (flags["v"], flags["leader-elect"]) == (2, False)
