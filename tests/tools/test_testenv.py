"""Building the real parts, with a stand-in for Go."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.testenv import build

BUILD = Path(__file__).parents[2] / "tools" / "testenv" / "build.py"

# Writes each package's program where -o says, and a line for each time it was asked.
GO = """#!/bin/sh
echo "$(basename "$PWD") $@" >> "$(dirname "$0")/calls"
output=
for argument; do
  case "$argument" in
    -o=*) output="${argument#-o=}" ;;
    */kube*|./etcd) [ -z "$output" ] || : > "$output$(basename "$argument")" ;;
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
        return [call for call in calls if " build " in call]

    def folder(self, prefix: str) -> Path:
        (folder,) = self.cache.glob(f"{prefix}-*")
        return folder


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "release"),
    [
        pytest.param((), build.REFERENCE, id="the reference"),
        pytest.param(("--release", "1.36.4"), "1.36.4", id="a release"),
        pytest.param(("--release", "v1.37.1"), "1.37.1", id="the tag of a release"),
        pytest.param(("--release", "1.37"), "1.37.1", id="a minor release"),
    ],
)
def test_what_was_built_is_named_by_export_lines(
    arguments: tuple[str, ...], release: str, machine: Machine
) -> None:
    machine.install_go(GO)
    done = machine.build("--env", *arguments)
    assert done.returncode == 0
    folder, etcd = machine.folder(f"v{release}"), machine.folder("etcd")
    assert done.stdout.splitlines() == [
        f"export KUBE_APISERVER='{folder}/kube-apiserver'",
        f"export ETCD='{etcd}/etcd'",
        f"export KUBE_SCHEDULER='{folder}/kube-scheduler'",
        f"export KUBECTL='{folder}/kubectl'",
        f"export BEHAVE_RELEASE={build.minor(release)}",
    ]
    programs = sorted(path.name for path in (*folder.iterdir(), *etcd.iterdir()))
    assert programs == ["etcd", "kube-apiserver", "kube-scheduler", "kubectl"]
    of_release, of_etcd = machine.builds()
    assert of_release.startswith(f"{build.RELEASES[release]} build ")
    assert f"component-base/version.gitVersion=v{release}" in of_release
    assert of_etcd.startswith(f"{build.ETCD_MODULE} build ")


def test_every_release_is_built_and_etcd_once(machine: Machine) -> None:
    machine.install_go(GO)
    assert machine.build().returncode == 0
    modules = [call.partition(" ")[0] for call in machine.builds()]
    assert modules == [*build.RELEASES.values(), build.ETCD_MODULE]
    for release in build.RELEASES:
        assert machine.build("--env", "--release", release).stderr == ""
    assert len(machine.builds()) == len(modules)


def test_an_unknown_release_is_one_line_and_a_failure(machine: Machine) -> None:
    done = machine.build("--env", "--release", "1.20.0")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("'1.20.0' is none of 1.37.1, 1.36.4")
    assert done.stdout == ""


def test_the_second_run_builds_nothing(machine: Machine) -> None:
    machine.install_go(GO)
    first, second = machine.build("--env"), machine.build("--env")
    assert second.stdout == first.stdout != ""
    assert second.stderr == ""
    assert len(machine.builds()) == 2


def test_it_says_what_it_does_and_how_far_it_is(machine: Machine) -> None:
    machine.install_go(GO)
    first, *more = machine.build("--release", "1.36.4").stderr.splitlines()
    programs = "kube-apiserver, kube-scheduler, kubectl"
    name = machine.folder("v1.36.4").name
    assert first == f"testenv: building {programs} ({name}): up to ten minutes"
    assert more[0] == "testenv: downloading the modules"
    assert more[1:11] == [f"testenv: {n} of 20 packages compiled" for n in range(2, 21, 2)]
    assert more[11].startswith("testenv: built in ")
    named = machine.build("--release", "1.36.4").stderr.splitlines()
    parts = ("KUBE_APISERVER", "ETCD", "KUBE_SCHEDULER", "KUBECTL", "BEHAVE_RELEASE")
    assert [line.partition("=")[0] for line in named] == [f"testenv: {part}" for part in parts]


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
