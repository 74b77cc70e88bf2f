"""Runs in random orders on a busy machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools.shuffled_runs import burning, main

# A stand-in for pytest: notes its arguments, and fails for one seed.
PYTEST = """
import sys
from pathlib import Path
with Path(__file__).with_name("calls").open("a") as file:
    print(*sys.argv[1:], file=file)
sys.exit("--order-seed=8" in sys.argv)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pytest.py").write_text(PYTEST)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_run_has_a_seed_and_one_failure_fails_them_all(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["--runs=3", "--first=7", "--burners=0", "-n", "3", "tests/queue"]) == 1
    assert (folder / "calls").read_text().splitlines() == [
        f"--order-seed={seed} -n 3 tests/queue" for seed in (7, 8, 9)
    ]
    results = capfd.readouterr().out.splitlines()[-3:]
    assert [line.partition(" in ")[0] for line in results] == [
        "--order-seed=7: passed",
        "--order-seed=8: FAILED with status 1",
        "--order-seed=9: passed",
    ]
    assert main(["--runs=1", "--first=7", "--burners=0"]) == 0


def test_burners_run_as_long_as_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def popen(command: list[str]) -> subprocess.Popen[bytes]:
        assert command[0] == sys.executable
        started.append(real(command))
        return started[-1]

    real = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", popen)
    with pytest.raises(KeyError), burning(2):
        assert [process.poll() for process in started] == [None, None]
        raise KeyError
    assert len(started) == 2
    assert None not in [process.poll() for process in started]
