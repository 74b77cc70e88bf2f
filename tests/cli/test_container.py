"""The first process of a container ends with the cluster that runs it."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.support.waiting import PATIENCE

FOLLOWS = """
import signal, sys, threading
from mooring.cli.container import follow_parent
{prepare}
threading.Thread(target=follow_parent, args={args}, daemon=True).start()
print("running", flush=True)
threading.Event().wait(20)
"""


@pytest.mark.parametrize(
    ("prepare", "args", "status"),
    [
        pytest.param("", "()", -signal.SIGTERM, id="it is told to end"),
        pytest.param(
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
            "(0.0,)",
            -signal.SIGKILL,
            id="it is killed if it does not",
        ),
    ],
)
def test_a_process_whose_parent_has_gone_ends(prepare: str, args: str, status: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", FOLLOWS.format(prepare=prepare, args=args)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdout, process.stdin:
        assert process.stdout.readline() == b"running\n"
        process.stdin.write(b"the parent may write something\n")
        process.stdin.flush()
        assert process.poll() is None
    assert process.wait(PATIENCE) == status
