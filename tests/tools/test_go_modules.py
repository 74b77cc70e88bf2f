"""The modules of a Kubernetes release."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.go_modules import RELEASE, module_folder, module_version, release_parser

# Knows one module; any other is an error, as Go's own.
GO = """#!/bin/sh
case "$4" in
  k8s.io/api@v0.37.1) echo '{"Dir": "/modules/k8s.io/api"}' ;;
  *) echo '{"Error": "unknown revision"}'; exit 1 ;;
esac
"""


@pytest.fixture(autouse=True)
def _go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "go"
    program.write_text(GO)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.parametrize(
    ("module", "version"),
    [
        pytest.param("k8s.io/kubernetes", "v1.37.1", id="Kubernetes itself"),
        pytest.param("k8s.io/api", "v0.37.1", id="a module that is published beside it"),
    ],
)
def test_versions_of_modules(module: str, version: str) -> None:
    assert module_version(module, "1.37.1") == version


def test_go_knows_the_folder() -> None:
    assert module_folder("k8s.io/api", "1.37.1") == Path("/modules/k8s.io/api")


def test_a_release_that_does_not_exist_is_one_line() -> None:
    with pytest.raises(SystemExit, match=r"^k8s.io/api@v0.99.0: unknown revision$"):
        module_folder("k8s.io/api", "1.99.0")


@pytest.mark.parametrize(
    ("arguments", "release"),
    [
        pytest.param([], RELEASE, id="the release of the tables"),
        pytest.param(["--release", "1.36.4"], "1.36.4", id="another release"),
        pytest.param(["--release=v1.36.4"], "1.36.4", id="its tag"),
    ],
)
def test_command_lines(arguments: list[str], release: str) -> None:
    assert release_parser("usage").parse_args(arguments).release == release


def test_a_minor_version_is_no_release(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        release_parser("usage").parse_args(["--release", "1.37"])
    assert "'1.37' must be a release, such as 1.37.1" in capsys.readouterr().err
