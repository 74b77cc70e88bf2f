"""The Makefile: what its targets say while they run."""

from __future__ import annotations

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
