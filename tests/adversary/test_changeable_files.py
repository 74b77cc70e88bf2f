"""Plugins and configurations that others can write: the process says so when it starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MOORING = Path(sys.executable).with_name("mooring")
WARNING = '"Others can change a file that this process runs or obeys"'
PLUGIN = """from mooring import Plugin

class Mine(Plugin):
    def filter(self, state, pod, node):
        return None
"""
CONFIG = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {filter: {enabled: [{name: Mine}]}}}]
"""


@pytest.mark.parametrize(
    ("modes", "warned"),
    [
        pytest.param({}, "", id="nobody else"),
        pytest.param({"mine.py": 0o666}, "mine.py", id="the plugin"),
        pytest.param({"config.yaml": 0o602}, "config.yaml", id="the configuration"),
        pytest.param({".": 0o777}, "mine.py", id="their folder"),
        pytest.param({".": 0o1777}, "", id="their folder, which has the sticky bit"),
    ],
)
def test_files_that_others_can_write_are_named(
    tmp_path: Path, modes: dict[str, int], warned: str
) -> None:
    folder = tmp_path / "files"
    folder.mkdir(mode=0o755)
    for name, text in (("mine.py", PLUGIN), ("config.yaml", CONFIG)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o644)
    for name, mode in modes.items():
        (folder / name).chmod(mode)
    command = [
        str(MOORING),
        "run",
        f"--plugin={folder / 'mine.py'}:Mine",
        f"--config={folder / 'config.yaml'}",
        f"--write-config-to={tmp_path / 'out.yaml'}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if WARNING in line]
    assert len(lines) == (0 if not warned else 2 if "." in modes else 1)
    assert not warned or f'file="{folder / warned}"' in lines[0]
