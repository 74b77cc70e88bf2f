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
#: kube-apiserver does not serve pod groups by default.
POD_GROUPS = TESTS / "kubectl_tables" / "pod_groups"
PARTS = ("KUBECTL", "KUBE_APISERVER", "ETCD")


@pytest.mark.parametrize(
    "tables",
    [
        pytest.param(TESTS / "kubectl" / "tables", id="the suite's own steps"),
        pytest.param(TESTS / "kubectl_tables", id="more steps"),
        pytest.param(POD_GROUPS, id="steps about pod groups"),
    ],
)
def test_the_local_server_answers_as_the_real_one(tables: Path) -> None:
    parts = {name: str(locate(name)) for name in PARTS}
    gates = ""
    if tables == POD_GROUPS:
        gates = "--feature-gates=GenericWorkload=true"
        parts["REAL_KUBE_APISERVER"] = parts["KUBE_APISERVER"]
        parts["KUBE_APISERVER"] = str(TESTS / "support" / "pod-group-kube-apiserver")
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
