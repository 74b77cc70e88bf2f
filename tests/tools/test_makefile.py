"""The Makefile: what its targets say while they run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_setting_up_says_what_it_does_and_how_far_it_is(tmp_path: Path) -> None:
    """Run the recipe with a stand-in for Python, which notes what it is asked to do."""
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/sh\n"
        f'echo "$@" >> {tmp_path}/calls\n'
        f'if [ "$2" = venv ]; then mkdir -p "$3/bin" && cp {python} "$3/bin/python"; fi\n'
    )
    python.chmod(0o755)
    venv = tmp_path / "venv"
    done = subprocess.run(
        ["make", "-s", "venv", f"PYTHON={python}", f"VENV={venv}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    first, second, third, last = done.stdout.splitlines()
    assert first == f"venv [1/3]: creating {venv}"
    assert second.startswith("venv [2/3]: installing ") and " pinned packages" in second
    assert third == "venv [3/3]: installing mooring from this checkout"
    assert last.startswith("venv: ready; ")
    big = next(call for call in (tmp_path / "calls").read_text().splitlines() if "-r " in call)
    assert "--quiet" not in big


def test_the_whole_run_says_first_what_it_does_and_how_long_it_takes() -> None:
    command = ["make", "-n", "test", "REPEAT="]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    says, builds, runs = (
        done.stdout.index(text) for text in ("about 20 minutes", "testenv/build.py", "-m pytest")
    )
    assert says < builds < runs


def test_programs_that_a_target_starts_keep_their_bytecode() -> None:
    done = subprocess.run(
        ["make", "-s", "--eval", "show: ; @env", "show"],
        cwd=ROOT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "KEPT": "1"},
        capture_output=True,
        text=True,
    )
    assert "KEPT=1" in done.stdout
    assert "PYTHONDONTWRITEBYTECODE" not in done.stdout
