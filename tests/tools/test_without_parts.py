"""Running tests as on a machine without some parts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import without_parts
from tools.without_parts import PARTS, ROOT, Fixtures, dependent_files, environment

TESTS = ROOT / "tests"
# How a test finds out that a part is missing.
LOOKS = re.compile(r"shutil\.which\(|\blocate\(\"[A-Z]|helm\.find\(|image\.missing\(|= find\(\)")
# They define fixtures of parts, or run stand-ins for Go.
FIXTURES = {
    "support/fixtures.py",
    "browser/conftest.py",
    "support/test_real_parts.py",
}


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_hidden_programs_are_not_on_the_path_and_all_others_are(tmp_path: Path) -> None:
    for name in ("a/zsh", "a/sed", "b/zsh", "c/make"):
        program(tmp_path / name)
    places = [str(tmp_path / name) for name in ("a", "b", "c", "none")]
    path = without_parts.hidden_path({"zsh"}, tmp_path / "copies", os.pathsep.join(places))
    found = [sorted(os.listdir(place)) for place in path.split(os.pathsep)]
    assert found == [["sed"], [], ["make"]]
    assert path.split(os.pathsep)[2] == places[2]


def test_nothing_names_a_hidden_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CI", "MOORING_TESTENV_REQUIRED", "KUBECTL", "ETCD", "HELM"):
        monkeypatch.setenv(name, "/given")
    made = environment(["kubectl", "helm"], tmp_path)
    assert {"CI", "MOORING_TESTENV_REQUIRED", "KUBECTL", "HELM"}.isdisjoint(made)
    assert made["ETCD"] == "/given"
    assert not Path(made["MOORING_TESTENV"]).exists()


def test_every_test_that_looks_for_a_part_is_known() -> None:
    known = {file for part in PARTS.values() for file in part.files} | FIXTURES
    fixtures = {fixture for part in PARTS.values() for fixture in part.fixtures}
    for file in TESTS.rglob("*.py"):
        name = str(file.relative_to(TESTS))
        if name.split("/")[0] in without_parts.SUITES or name in known:
            continue
        looks = LOOKS.search(file.read_text(encoding="utf-8")) and file != Path(__file__)
        own = without_parts.read(file).fixtures.keys()
        assert not looks or own & fixtures, f"{name} looks for a part: name it in PARTS"


def test_files_depend_on_parts_through_fixtures_of_fixtures(tmp_path: Path) -> None:
    files = {file.removeprefix(f"{TESTS}/") for file in dependent_files([PARTS["go"]])}
    # By an argument, by a fixture of a conftest.py, by an imported one, and by getfixturevalue.
    assert "live/test_bad_input.py" in files
    assert "e2e/test_up.py" in files
    assert "controllers/test_disruption.py" in files
    assert "queue/test_backoff.py" not in files
    assert "deploy/test_chart.py" not in files
    assert Fixtures([PARTS["helm"]]).dependent(TESTS / "e2e" / "test_up.py") == set()


PLUGIN_TESTS = """
import pytest

@pytest.fixture
def chromium():
    {chromium}

def test_that_needs_it(chromium): ...
def test_that_does_not():
    assert False
"""


@pytest.mark.parametrize(
    ("chromium", "status"),
    [("pytest.skip()", 0), ("return 1", 3), ("assert False", 1)],
    ids=["it is skipped", "the part is not hidden", "it fails"],
)
def test_the_tests_of_a_hidden_part_pass_or_are_skipped(
    tmp_path: Path, chromium: str, status: int
) -> None:
    (tmp_path / "test_it.py").write_text(PLUGIN_TESTS.format(chromium=chromium))
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tools.without_parts"]
    done = subprocess.run(
        [*command, f"--rootdir={tmp_path}", f"-c{tmp_path / 'pytest.ini'}", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, without_parts.VARIABLE: "chromium"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert "1 deselected" in done.stdout


def test_each_part_is_hidden_alone_and_then_all_together(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs: list[list[str]] = []

    def run(names: list[str], arguments: list[str]) -> int:
        assert arguments == ["-x"]
        runs.append(names)
        return int(names == ["zsh"])

    monkeypatch.setattr(without_parts, "run", run)
    assert without_parts.main(["-x"]) == 1
    assert runs == [*([name] for name in PARTS), list(PARTS)]
    assert capsys.readouterr().out == "without_parts: tests FAILED without zsh\n"
    assert without_parts.main(["go", "fish", "-x"]) == 0
    assert runs[-1] == ["go", "fish"]
