"""Building an older kubectl, with a stand-in for Go."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools.older_kubectl import build

# Makes the program where -o says, and writes a line for each time it was asked.
GO = """#!/bin/sh
echo "$@" >> "${0%/*}/calls"
for argument; do
  case "$argument" in
    -o=*) : > "${argument#-o=}" ;;
  esac
done
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder of a machine's programs, without Go as yet."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "nice").symlink_to(shutil.which("nice") or "")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("MOORING_TESTENV", str(tmp_path / "cache"))
    monkeypatch.delenv(build.VARIABLE, raising=False)
    return folder


def install_go(programs: Path, script: str) -> None:
    go = programs / "go"
    go.write_text(script)
    go.chmod(0o755)


def test_it_is_built_once(programs: Path) -> None:
    assert build.find() is None
    install_go(programs, GO)
    assert build.build() == ""
    assert build.build() == ""
    (call,) = (programs / "calls").read_text().splitlines()
    assert f"-X k8s.io/component-base/version.gitVersion={build.VERSION}" in call
    assert build.find() == build.target()


def test_without_go_that_is_said(programs: Path) -> None:
    assert build.build() == "Go is not installed"


def test_a_failing_build_leaves_nothing(programs: Path) -> None:
    install_go(programs, GO + "exit 3\n")
    assert build.build() == "go build failed with status 3"
    assert build.find() is None
    assert list(build.target().parent.iterdir()) == []


def test_a_variable_names_another(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(build.VARIABLE, "/opt/kubectl")
    assert build.find() == Path("/opt/kubectl")


def test_the_version_is_that_of_the_module() -> None:
    wanted = f"k8s.io/kubectl v0{build.VERSION.removeprefix('v1')}"
    assert wanted in (build.HERE / "go.mod").read_text()
