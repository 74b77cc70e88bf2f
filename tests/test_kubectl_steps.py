"""kubectl sees no difference between a real API server and the local one.

The suite in tests/kubectl runs every step against both; tests/kubectl_tables has more steps for it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.real_parts import locate

TESTS = Path(__file__).parent
MORE = TESTS / "kubectl_tables"
#: Tables whose gates are off by default: the gate of `mooring up`, and a kube-apiserver with it.
GATED = {
    MORE / "pod_groups": ("GenericWorkload", "pod-group-kube-apiserver"),
    MORE / "node_allocatable": ("DRANodeAllocatableResources", "node-allocatable-kube-apiserver"),
}
PARTS = ("KUBECTL", "KUBE_APISERVER", "ETCD")


@pytest.mark.parametrize(
    "tables",
    [
        pytest.param(TESTS / "kubectl" / "tables", id="the suite's own steps"),
        pytest.param(MORE, id="more steps"),
        pytest.param(MORE / "pod_groups", id="steps about pod groups"),
        pytest.param(
            MORE / "node_allocatable", id="steps about node resources that devices consume"
        ),
    ],
)
def test_the_local_server_answers_as_the_real_one(tables: Path) -> None:
    parts = {name: str(locate(name)) for name in PARTS}
    gates = ""
    if tables in GATED:
        gate, program = GATED[tables]
        gates = f"--feature-gates={gate}=true"
        parts["REAL_KUBE_APISERVER"] = parts["KUBE_APISERVER"]
        parts["KUBE_APISERVER"] = str(TESTS / "support" / program)
    mooring = Path(sys.executable).with_name("mooring")
    candidate = f"{mooring} up --nodes=0 {gates} --port={{port}} --kubeconfig={{kubeconfig}}"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=TESTS / "kubectl",
        env={**os.environ, **parts, "CANDIDATE_CMD": candidate, "JUDGE_TABLES": str(tables)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2_000:]
