"""Building the real parts, with a stand-in for Go."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = Path(__file__).parents[2] / "tools" / "testenv" / "build.py"

# Writes the four programs where -o says, and a line for each time it was asked.
GO = """#!/bin/sh
echo "$@" >> "$(dirname "$0")/calls"
parts="kube-apiserver etcd kube-scheduler kubectl"
for argument; do
  case "$argument" in
    -o=*) for part in $parts; do : > "${argument#-o=}$part"; done ;;
  esac
done
case "$1" in
  list) for number in $(seq 20); do echo "package$number"; done ;;
  build) for number in $(seq 20); do echo "package$number" >&2; done ;;
esac
"""


class Machine:
    """A machine with or without Go, and a cache folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.cache = folder / "cache folder"
        self.programs = folder / "programs"
        self.programs.mkdir()

    def install_go(self, script: str) -> None:
        go = self.programs / "go"
        go.write_text(script)
        go.chmod(0o755)

    def build(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        path = str(self.programs)
        if (self.programs / "go").exists():
            path += os.pathsep + os.environ["PATH"]
        environment = {"PATH": path, "MOORING_TESTENV": str(self.cache)}
        return subprocess.run(
            [sys.executable, BUILD, *arguments], env=environment, capture_output=True, text=True
        )

    def builds(self) -> list[str]:
        calls = (self.programs / "calls").read_text().splitlines()
        return [call for call in calls if call.startswith("build ")]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_what_was_built_is_named_by_export_lines(machine: Machine) -> None:
    machine.install_go(GO)
    done = machine.build("--env")
    assert done.returncode == 0
    (folder,) = [path for path in machine.cache.iterdir() if path.is_dir()]
    assert done.stdout.splitlines() == [
        f"export KUBE_APISERVER='{folder}/kube-apiserver'",
        f"export ETCD='{folder}/etcd'",
        f"export KUBE_SCHEDULER='{folder}/kube-scheduler'",
        f"export KUBECTL='{folder}/kubectl'",
    ]
    assert "component-base/version.gitVersion=v1.36.4" in machine.builds()[0]


def test_the_second_run_builds_nothing(machine: Machine) -> None:
    machine.install_go(GO)
    first, second = machine.build("--env"), machine.build("--env")
    assert second.stdout == first.stdout != ""
    assert second.stderr == ""
    assert len(machine.builds()) == 1


def test_it_says_what_it_does_and_how_far_it_is(machine: Machine) -> None:
    machine.install_go(GO)
    first, *more = machine.build().stderr.splitlines()
    assert first == ("testenv: building kube-apiserver, etcd, kube-scheduler, kubectl: ten minutes")
    assert more[0] == "testenv: downloading the modules"
    assert more[1:11] == [f"testenv: {n} of 20 packages compiled" for n in range(2, 21, 2)]
    assert more[11].startswith("testenv: built in ")
    named = machine.build().stderr.splitlines()
    assert [line.partition("=")[0] for line in named] == [
        f"testenv: {part}" for part in ("KUBE_APISERVER", "ETCD", "KUBE_SCHEDULER", "KUBECTL")
    ]


def test_messages_of_the_compiler_are_passed_on(machine: Machine) -> None:
    machine.install_go(GO + "echo 'main.go:3:1: syntax error' >&2\nexit 1\n")
    assert "main.go:3:1: syntax error\n" in machine.build().stderr


def test_what_was_built_serves_a_machine_that_lost_go(machine: Machine) -> None:
    machine.install_go(GO)
    first = machine.build("--env")
    (machine.programs / "go").unlink()
    assert machine.build("--env").stdout == first.stdout


def test_no_go_is_one_line_and_a_failure(machine: Machine) -> None:
    done = machine.build("--env")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == "testenv: Go is not installed, and nothing was built before\n"


def test_a_failing_build_is_a_failure_and_leaves_nothing(machine: Machine) -> None:
    machine.install_go(GO + "exit 3\n")
    done = machine.build("--env")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.endswith("testenv: go build failed with status 3\n")
    assert [path for path in machine.cache.iterdir() if path.is_dir()] == []


@pytest.mark.parametrize(
    ("script", "warning"),
    [
        pytest.param(None, "", id="without Go nothing is said: the tests say what they skip"),
        pytest.param(GO + "exit 3\n", "tests that need it are skipped", id="a failing build"),
    ],
)
def test_optional_parts_are_no_failure(machine: Machine, script: str | None, warning: str) -> None:
    if script:
        machine.install_go(script)
    done = machine.build("--optional")
    assert done.returncode == 0
    assert warning in done.stderr
    assert bool(warning) == bool(done.stderr)
