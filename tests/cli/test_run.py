from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from mooring import Plugin
from mooring.cli import run
from mooring.cli.main import main

ROOT = Path(__file__).resolve().parents[2]


class Sample(Plugin):
    name = "sample"

    def filter(self, state, pod, node):
        return None


def test_flags_are_passed_on_whole(tmp_path: Path) -> None:
    file = tmp_path / "out.yaml"
    argv = ["run", "-v=0", "--leader-elect=false", "--write-config-to", str(file)]
    assert main(argv) == 0
    assert "leaderElect: false" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--nope"], "Error: unknown flag: --nope\n"),
        (["--leader-elect", "false"], 'does not take any arguments, got ["false"]\n'),
        (["--", "x"], 'does not take any arguments, got ["x"]\n'),
    ],
    ids=" ".join,
)
def test_mistakes_are_told_by_the_name_that_was_called(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for call, name in (
        (lambda: main(["run", *argv]), "mooring run"),
        (lambda: run.main(argv), "mooring-kube-scheduler"),
    ):
        assert call() == 1
        error = capsys.readouterr().err
        assert message in error
        assert f'Run "{name} --help"' in error


def test_help_and_version_are_those_of_the_scheduler(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--help"]) == 0
    assert "--leader-elect-lease-duration duration" in capsys.readouterr().out
    assert main(["run", "--version"]) == 0
    assert capsys.readouterr().out.startswith("Kubernetes v1.37.1")


def test_plugins_of_a_program_run_by_default(tmp_path: Path) -> None:
    file = tmp_path / "out.yaml"
    assert main(["run", f"--write-config-to={file}"], plugins=[Sample]) == 0
    assert "name: sample" in file.read_text(encoding="utf-8")


def test_the_command_is_installed_under_the_name_that_images_expect() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"]["mooring-kube-scheduler"] == "mooring.cli.run:main"


def test_a_syntax_error_of_a_plugin_is_logged_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("syntax.py").write_text("class Bad\n")
    assert main(["run", "--plugin=syntax.py:Bad"]) == 1
    assert "err=\"syntax.py:1:10: expected ':'\"" in capsys.readouterr().err
