"""`mooring up` as a process: ready, used, ended."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

RUN = "import sys; from mooring.cli.main import main; sys.exit(main())"
COMMAND = (sys.executable, "-c", RUN)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
def test_it_says_where_it_runs_and_ends_cleanly(tmp_path: Path, how: signal.Signals) -> None:
    kubeconfig = tmp_path / "deep" / "kubeconfig"
    arguments = ["up", "--nodes=0", f"--kubeconfig={kubeconfig}"]
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first.startswith("The local cluster runs at https://127.0.0.1:")
        assert kubeconfig.exists()
        process.send_signal(how)
        started = time.monotonic()
        assert process.wait(10) == 0
        assert time.monotonic() - started < 5


def test_a_port_that_is_taken_is_an_error(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [*COMMAND, "up", f"--port={port}", f"--kubeconfig={tmp_path / 'k'}"],
            capture_output=True,
            text=True,
            timeout=30,
        )
    assert done.returncode == 1
    assert f"error: cannot listen on 127.0.0.1:{port}" in done.stderr
