from __future__ import annotations

import os
import subprocess
import sys

import pytest

import mooring
from mooring.cli.main import main


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["--version"])
    assert raised.value.code == 0
    assert capsys.readouterr().out == f"mooring {mooring.__version__}\n"


def test_without_a_command_the_help_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("usage: mooring [-h] [--version] COMMAND ...\n")
    assert "run a local cluster that kubectl can use" in out
    assert err == ""


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        (["up", "--wrong"], "mooring up"),
        (["schedule", "-f", "x", "--wrong"], "mooring schedule"),
        (["config", "validate", "x", "--wrong"], "mooring config validate"),
        (["new-plugin", "x", "y"], "mooring new-plugin"),
        (["--wrong"], "mooring"),
    ],
    ids=" ".join,
)
def test_a_wrong_flag_shows_the_usage_of_its_own_command(
    argv: list[str], command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as raised:
        main(argv)
    assert raised.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith(f"usage: {command} [-h]")
    assert err.endswith(f"{command}: error: unrecognized arguments: {argv[-1]}\n")


def test_the_package_is_a_program_too() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mooring", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"mooring {mooring.__version__}\n"


def test_the_public_face_has_the_command() -> None:
    assert mooring.main is main


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    read, write = os.pipe()
    os.close(read)
    text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    command = "import sys; from mooring import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", command, "config", "convert", "-"],
        input=text.encode(),
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert done.returncode == 1
    assert done.stderr == b""
