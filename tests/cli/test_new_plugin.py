from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mooring.cli.main import main


def run(*command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    settings = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=settings,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "module", "cls"),
    [
        ("prefer-ssd", "prefer_ssd", "PreferSsd"),
        ("PreferSSD", "prefer_ssd", "PreferSSD"),
        ("HTTPGate2", "http_gate2", "HTTPGate2"),
        ("zone.limit_v2", "zone_limit_v2", "ZoneLimitV2"),
    ],
)
def test_the_files_are_named_after_the_plugin(
    name: str, module: str, cls: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new-plugin", name, "--dir", str(tmp_path / "new")]) == 0
    written = {path.name for path in (tmp_path / "new").iterdir()}
    assert written == {f"{module}.py", f"test_{module}.py", f"{module}.yaml"}
    assert f"{module}.py:{cls}" in capsys.readouterr().out
    text = (tmp_path / "new" / f"{module}.py").read_text()
    assert f"class {cls}(Plugin):" in text
    assert f'name = "{name}"' in text


def test_the_test_passes_and_the_scheduler_runs_it(tmp_path: Path) -> None:
    assert main(["new-plugin", "prefer-ssd", "--dir", str(tmp_path)]) == 0
    done = run("pytest", "-q", "-p", "no:cacheprovider", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout
    reference = f"{tmp_path / 'prefer_ssd.py'}:PreferSsd"
    config = str(tmp_path / "prefer_ssd.yaml")
    assert main(["config", "validate", config, "--plugin", reference]) == 0


def test_the_test_fails_where_the_plugin_is_changed_for_the_worse(tmp_path: Path) -> None:
    assert main(["new-plugin", "prefer-ssd", "--dir", str(tmp_path)]) == 0
    plugin = tmp_path / "prefer_ssd.py"
    plugin.write_text(plugin.read_text().replace("max(0, MAX_NODE_SCORE - ", "(200 - "))
    done = run("pytest", "-q", "-p", "no:cacheprovider", folder=tmp_path)
    assert done.returncode == 1
    assert "2 failed" in done.stdout


def test_what_is_written_keeps_the_style(tmp_path: Path) -> None:
    assert main(["new-plugin", "prefer-ssd", "--dir", str(tmp_path)]) == 0
    options = ("--isolated", "--no-cache", "--line-length", "100", ".")
    check = run("ruff", "check", "--select", "E,F,I,UP,B", *options, folder=tmp_path)
    assert check.returncode == 0, check.stdout
    style = run("ruff", "format", "--check", *options, folder=tmp_path)
    assert style.returncode == 0, style.stdout


@pytest.mark.parametrize("present", ["prefer_ssd.py", "test_prefer_ssd.py", "prefer_ssd.yaml"])
def test_nothing_is_overwritten(
    present: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / present).write_text("mine")
    assert main(["new-plugin", "prefer-ssd", "--dir", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        f"error: {tmp_path / present}: already exists; nothing was overwritten\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == [present]
    assert (tmp_path / present).read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("", "must begin with a letter", id="no name"),
        pytest.param("2fast", "must begin with a letter", id="a digit first"),
        pytest.param("a--b", "must begin with a letter", id="a part that is empty"),
        pytest.param("../evil", "must begin with a letter", id="a path"),
        pytest.param('x"y', "must begin with a letter", id="a quote"),
        pytest.param("é", "must begin with a letter", id="a letter that no label may hold"),
        pytest.param("a" * 64, "63 characters at most", id="too long"),
        pytest.param("NodeName", "already exists", id="the name of a built-in"),
        pytest.param("random", "would shadow a name", id="a module of Python's"),
        pytest.param("mooring", "would shadow a name", id="the package's own name"),
        pytest.param("class", "would shadow a name", id="a keyword"),
        pytest.param("none", "would shadow a name", id="a keyword as a class"),
        pytest.param("status", "would shadow a name", id="a class that the file imports"),
        pytest.param("test-it", "pytest would treat test_it.py as a test", id="a test's name"),
    ],
)
def test_names_that_will_not_do(
    name: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new"
    assert main(["new-plugin", name, "--dir", str(folder)]) == 1
    assert message in capsys.readouterr().err
    assert not folder.exists()


def test_a_folder_that_cannot_be_made_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["new-plugin", "prefer-ssd", "--dir", str(tmp_path / "file" / "sub")]) == 1
    assert "Not a directory" in capsys.readouterr().err
