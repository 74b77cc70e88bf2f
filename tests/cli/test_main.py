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


def test_without_a_command_the_usage_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main([])
    assert raised.value.code == 2
    assert "COMMAND" in capsys.readouterr().err


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
