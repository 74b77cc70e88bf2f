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
PARTS = ("KUBECTL", "KUBE_APISERVER", "ETCD")


@pytest.mark.parametrize(
    ("tables", "attempts"),
    [
        pytest.param(TESTS / "kubectl" / "tables", 1, id="the suite's own steps"),
        # An age of a second, an address that is drawn: of thousands, one may differ by chance.
        pytest.param(TESTS / "kubectl_tables", 2, id="more steps"),
    ],
)
def test_the_local_server_answers_as_the_real_one(tables: Path, attempts: int) -> None:
    parts = {name: str(locate(name)) for name in PARTS}
    mooring = Path(sys.executable).with_name("mooring")
    candidate = f"{mooring} up --nodes=0 --port={{port}} --kubeconfig={{kubeconfig}}"
    for _ in range(attempts):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
            cwd=TESTS / "kubectl",
            env={**os.environ, **parts, "CANDIDATE_CMD": candidate, "JUDGE_TABLES": str(tables)},
            capture_output=True,
            text=True,
        )
        if done.returncode == 0:
            break
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2_000:]
