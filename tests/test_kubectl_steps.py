"""kubectl sees no difference between a real API server and the local one.

The suite in tests/kubectl runs every step against both; tests/kubectl_tables has more steps for it.
The tables that need the same servers are divided into parts, which run side by side.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.real_parts import locate

TESTS = Path(__file__).parent
SUITE = TESTS / "kubectl"
OWN = SUITE / "tables"
MORE = TESTS / "kubectl_tables"
#: Tables whose gates are off by default: the gate of `mooring up`, and a kube-apiserver with it.
GATED = {
    MORE / "pod_groups": ("GenericWorkload", "pod-group-kube-apiserver"),
    MORE / "node_allocatable": ("DRANodeAllocatableResources", "node-allocatable-kube-apiserver"),
}
#: The folders of tables, and into how many parts each is divided. A part takes at most about 100
#: seconds on two cores; its servers take ten.
FOLDERS = {
    OWN: ("the suite's own steps", 2),
    MORE: ("more steps", 6),
    MORE / "pod_groups": ("steps about pod groups", 1),
    MORE / "node_allocatable": ("steps about node resources that devices consume", 1),
}
STEP = re.compile(r"^ *- ", re.MULTILINE)
PARTS = ("KUBECTL", "KUBE_APISERVER", "ETCD")


def divided(folder: Path) -> list[list[Path]]:
    """Return the tables of each part of a folder; the parts have about the same number of steps."""
    _, number = FOLDERS[folder]
    steps = {table: len(STEP.findall(table.read_text())) for table in sorted(folder.glob("*.yaml"))}
    parts: list[list[Path]] = [[] for _ in range(number)]
    for table in sorted(steps, key=steps.__getitem__, reverse=True):
        min(parts, key=lambda part: sum(map(steps.__getitem__, part))).append(table)
    return parts


def judged(folder: Path, tables: Path, tests: list[str]) -> subprocess.CompletedProcess[str]:
    """Run tests of the suite with the servers of a folder, on tables of that folder."""
    parts = {name: str(locate(name)) for name in PARTS}
    gates = ""
    if folder in GATED:
        gate, program = GATED[folder]
        gates = f"--feature-gates={gate}=true"
        parts["REAL_KUBE_APISERVER"] = parts["KUBE_APISERVER"]
        parts["KUBE_APISERVER"] = str(TESTS / "support" / program)
    mooring = Path(sys.executable).with_name("mooring")
    candidate = f"{mooring} up --nodes=0 {gates} --port={{port}} --kubeconfig={{kubeconfig}}"
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        cwd=SUITE,
        env={**os.environ, **parts, "CANDIDATE_CMD": candidate, "JUDGE_TABLES": str(tables)},
        capture_output=True,
        text=True,
    )


def check(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2_000:]


@pytest.mark.parametrize(
    ("folder", "part"),
    [
        pytest.param(folder, part, id=f"{name}, part {part + 1} of {parts}" if parts > 1 else name)
        for folder, (name, parts) in FOLDERS.items()
        for part in range(parts)
    ],
)
def test_the_local_server_answers_as_the_real_one(folder: Path, part: int, tmp_path: Path) -> None:
    for table in divided(folder)[part]:
        (tmp_path / table.name).symlink_to(table)
    check(judged(folder, tmp_path, ["test_table.py"]))


@pytest.mark.parametrize("folder", FOLDERS, ids=[name for name, _ in FOLDERS.values()])
def test_the_suite_finds_differences_and_reads_the_tables(folder: Path) -> None:
    check(judged(folder, folder, ["test_judge.py"]))


def test_every_table_is_in_one_part() -> None:
    files = [table for folder in FOLDERS for part in divided(folder) for table in part]
    assert sorted(files) == sorted([*OWN.glob("*.yaml"), *MORE.rglob("*.yaml")])
