"""Building and running the recorder, with stand-ins for Go and for the program that it builds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tools.go_modules import Impossible, staging, tag
from tools.recorder import __main__ as command
from tools.recorder import build, running
from tools.recorder.scenarios import generate

VECTORS = Path(__file__).parents[1] / "conformance" / "vectors"

PUBLISHED = """\
module k8s.io/kubernetes

go 1.26.0

godebug default=go1.26

require (
\tgithub.com/blang/semver/v4 v4.0.0
\tk8s.io/api v0.0.0
)

require (
\tcel.dev/expr v0.25.1 // indirect
\tk8s.io/kms v0.0.0 // indirect
)

replace (
\tk8s.io/api => ./staging/src/k8s.io/api
\tk8s.io/kms => ./staging/src/k8s.io/kms
)
"""

# Answers each line with the name of its scenario; refuses one, and is wrong about another.
PROGRAM = """#!/usr/bin/env python3
import json, sys
for line in sys.stdin:
    scenario = json.loads(line)["scenario"]
    answer = {"expected": {"outcome": scenario["name"], "feasible": ["a", "b"]}}
    if scenario["name"] == "refused":
        answer = {"failed": "unrecognized feature gate: Gone"}
    if scenario["name"] == "other":
        answer["expected"]["feasible"][1] = "c"
    print(json.dumps({**answer, "scenario": scenario}))
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a recorder that was built before."""
    monkeypatch.setenv("MOORING_TESTENV", str(tmp_path / "cache"))
    path = build.target("1.37.1")
    path.parent.mkdir()
    path.write_text(PROGRAM)
    path.chmod(0o755)
    return path


def scenarios(folder: Path, *names: str) -> Path:
    """Write a file of scenarios, with what the program decides."""
    rows: list[Any] = [
        {"scenario": {"name": name}, "expected": {"outcome": name, "feasible": ["a", "b"]}}
        for name in names
    ]
    running.write_lines(folder, "group", b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    return folder


def test_the_module_requires_what_the_release_requires() -> None:
    assert build.module_file(PUBLISHED, "v1.37.1").splitlines() == [
        "module recorder",
        "go 1.26.0",
        "godebug default=go1.26",
        "require (",
        "\tk8s.io/kubernetes v1.37.1",
        "\tgithub.com/blang/semver/v4 v4.0.0",
        "\tk8s.io/api v0.0.0",
        "\tcel.dev/expr v0.25.1",
        "\tk8s.io/kms v0.0.0",
        ")",
        "replace (",
        "\tk8s.io/api => k8s.io/api v0.37.1",
        "\tk8s.io/kms => k8s.io/kms v0.37.1",
        ")",
    ]


@pytest.mark.parametrize("release", ["1.37.1", "v1.37.1"])
def test_a_release_is_named_with_or_without_its_v(release: str) -> None:
    assert (tag(release), staging(release)) == ("v1.37.1", "v0.37.1")


@pytest.mark.parametrize("release", ["1.37", "latest", "", "v2.0.0", "../1.37.1"])
def test_what_is_no_release_is_refused(release: str) -> None:
    with pytest.raises(Impossible, match=r"is not a release such as v1\.37\.1"):
        tag(release)


def test_a_machine_without_go_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MOORING_TESTENV", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    folder = scenarios(tmp_path / "scenarios", "one")
    assert command.main(["verify", str(folder), "--release", "1.37.1"]) == 1
    assert capsys.readouterr().err == "recorder: Go is not installed\n"


def test_verify_counts_what_is_decided_as_recorded(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = scenarios(tmp_path, "one", "two")
    assert command.main(["verify", str(folder), "--release", "v1.37.1"]) == 0
    assert capsys.readouterr().out == "recorder: v1.37.1 decides 2 of 2 scenarios as recorded\n"


def test_verify_prints_what_differs(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = scenarios(tmp_path, "one", "other", "refused")
    assert command.main(["verify", str(folder), "--release", "1.37.1"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "other: feasible/1: 'b', 'c'",
        "refused: unrecognized feature gate: Gone",
        "recorder: v1.37.1 decides 1 of 3 scenarios as recorded",
    ]


def test_record_writes_the_decisions_of_the_release(program: Path, tmp_path: Path) -> None:
    folder = scenarios(tmp_path / "before", "one", "other")
    target = tmp_path / "now"
    assert command.main(["record", str(folder), str(target), "--release", "1.37.1"]) == 0
    rows = running.rows(running.read_lines(target, "group"))
    assert [row["expected"]["feasible"] for row in rows] == [["a", "b"], ["a", "c"]]
    assert [row["scenario"] for row in rows] == [{"name": "one"}, {"name": "other"}]


def test_record_writes_nothing_if_a_scenario_is_refused(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = scenarios(tmp_path / "before", "one", "refused")
    target = tmp_path / "now"
    assert command.main(["record", str(folder), str(target), "--release", "1.37.1"]) == 1
    assert capsys.readouterr().err == "recorder: refused: unrecognized feature gate: Gone\n"
    assert not target.exists()


def test_a_folder_without_scenarios_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="has no files of scenarios"):
        command.main(["verify", str(tmp_path), "--release", "1.37.1"])


def test_generate_records_the_scenarios_of_a_seed(program: Path, tmp_path: Path) -> None:
    target = tmp_path / "now"
    assert command.main(["generate", str(target), "--release", "1.37.1", "--seed", "5"]) == 0
    rows = running.rows(running.read_lines(target, "changes-node-name"))
    drawn = running.rows(generate(5)["changes-node-name"])
    assert [row["scenario"] for row in rows] == [row["scenario"] for row in drawn]


def test_another_seed_makes_other_scenarios() -> None:
    assert generate(5) == generate(5)
    assert all(generate(5)[group] != lines for group, lines in generate(6).items())


def test_the_recorded_scenarios_are_those_of_the_seed() -> None:
    folder = VECTORS / "1.37.1"
    for group, lines in generate().items():
        recorded = [row["scenario"] for row in running.rows(running.read_lines(folder, group))]
        assert recorded == [row["scenario"] for row in running.rows(lines)]


def test_each_release_has_the_scenarios_of_the_others() -> None:
    of_reference = running.read_folder(VECTORS / "1.36.4")
    assert len(of_reference) == 28
    for group, lines in of_reference.items():
        newer = running.rows(running.read_lines(VECTORS / "1.37.1", group))
        assert [row["scenario"] for row in newer] == [
            row["scenario"] for row in running.rows(lines)
        ]


@pytest.mark.parametrize(
    ("before", "now", "found"),
    [
        pytest.param({"a": 1}, {"a": 1}, [], id="nothing"),
        pytest.param({"a": {"b": 1}}, {"a": {"b": 2}}, ["a/b: 1, 2"], id="a value"),
        pytest.param({}, {"a": None}, ["a: 'absent', None"], id="a field that was not there"),
        pytest.param([1, 2], [1, 3], ["/1: 2, 3"], id="an item"),
        pytest.param({"a": [1]}, {"a": [1, 2]}, ["a: [1], [1, 2]"], id="a longer list"),
    ],
)
def test_differences_are_found(before: Any, now: Any, found: list[str]) -> None:
    assert list(running.differences(before, now)) == found
