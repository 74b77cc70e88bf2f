"""The version, which has one home; every other place that names it agrees."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import mooring
from tools import set_version

ROOT = Path(__file__).resolve().parents[2]


def test_every_place_names_the_version_of_the_package() -> None:
    assert set_version.current() == mooring.__version__
    for name, versions in set_version.named().items():
        assert versions, f"{name} names no version; remove it from the list"
        assert set(versions) == {mooring.__version__}, name


def test_the_changelog_describes_the_version() -> None:
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    released = [heading for heading in headings if heading != "Unreleased"]
    assert released[0] == mooring.__version__
    assert "Unreleased" not in headings[1:]


def test_a_new_version_is_written_everywhere(tmp_path: Path) -> None:
    for name in ("tools/set_version.py", "src/mooring/__init__.py", *set_version.PLACES):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    command = [sys.executable, "-m", "tools.set_version", "7.8.9rc1"]
    subprocess.run(command, check=True, cwd=tmp_path)
    assert '__version__ = "7.8.9rc1"' in (tmp_path / "src/mooring/__init__.py").read_text()
    assert "version: 7.8.9rc1" in (tmp_path / "deploy/chart/Chart.yaml").read_text()
    for name in set_version.PLACES:
        assert mooring.__version__ not in (tmp_path / name).read_text()


def test_a_word_that_is_no_version_is_refused() -> None:
    command = [sys.executable, "-m", "tools.set_version", "soon"]
    refused = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert refused.returncode == 2
    assert refused.stderr == "usage: python -m tools.set_version MAJOR.MINOR.PATCH\n"
