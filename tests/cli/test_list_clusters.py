"""`mooring list`: tests/cli/test_status.py shows it with a cluster that runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.cli import cluster_state
from mooring.cli.main import main
from mooring.cli.pid_file import PidFile
from tests.cli.test_cluster_state import record


def test_clusters_are_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert main(["list"]) == 0
    assert capsys.readouterr().out == "No local cluster runs.\n"
    file = PidFile(tmp_path / "kubeconfig")
    file.take()
    try:
        cluster_state.save(record(tmp_path / "kubeconfig"))
        assert main(["list"]) == 0
    finally:
        file.release()
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.split() == ["KUBECONFIG", "ADDRESS", "PID", "AGE"]
    assert row.split()[:3] == [str(tmp_path / "kubeconfig"), "https://127.0.0.1:1", "1"]
