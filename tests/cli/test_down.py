"""`mooring down`."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from mooring.cli import down
from mooring.cli.main import main
from mooring.cli.pid_file import PidFile


def test_without_a_cluster_there_is_nothing_to_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kubeconfig"
    assert main(["down", f"--kubeconfig={path}"]) == 1
    assert f"no local cluster runs with the kubeconfig {path}" in capsys.readouterr().err


def test_a_cluster_is_told_to_end_and_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kubeconfig"
    file = PidFile(path)
    file.take()
    told: list[tuple[int, int]] = []

    def end(pid: int, number: int) -> None:
        told.append((pid, number))
        file.release()

    monkeypatch.setattr(os, "kill", end)
    assert main(["down", "--kubeconfig", str(path)]) == 0
    assert told == [(os.getpid(), signal.SIGTERM)]
    assert capsys.readouterr().out == "The local cluster has ended.\n"


def test_a_cluster_that_has_just_ended_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kubeconfig"
    file = PidFile(path)
    file.take()

    def gone(pid: int, number: int) -> None:
        file.release()
        raise ProcessLookupError

    monkeypatch.setattr(os, "kill", gone)
    assert main(["down", "--kubeconfig", str(path)]) == 0


def test_a_cluster_that_does_not_end_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kubeconfig"
    file = PidFile(path)
    file.take()
    monkeypatch.setattr(os, "kill", lambda pid, number: None)
    monkeypatch.setattr(down, "PATIENCE", 0.0)
    assert main(["down", "--kubeconfig", str(path)]) == 1
    assert f"process {os.getpid()} was told to end 0 s ago and still runs" in (
        capsys.readouterr().err
    )
    file.release()
