"""Extenders as processes, and a kube-scheduler that asks them."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
import yaml

from tests.support.processes import LOOPBACK, Process, free_port
from tests.support.waiting import PATIENCE

#: The entry point of an installation.
MOORING = Path(sys.executable).with_name("mooring")


class ExtenderProgram:
    """`mooring extender` on a free port, with a self-signed certificate in its folder."""

    def __init__(self, folder: Path, arguments: Sequence[str], kubeconfig: Path | None) -> None:
        self.port = free_port()
        self.url = f"https://{LOOPBACK}:{self.port}"
        self._folder = folder
        self._certificate = str(folder / "mooring-extender.crt")
        self._arguments = [
            "extender",
            f"--port={self.port}",
            f"--bind-address={LOOPBACK}",
            f"--cert-dir={folder}",
            f"--url={self.url}",
            *([f"--kubeconfig={kubeconfig}"] if kubeconfig else []),
            *arguments,
        ]
        self._process: Process | None = None

    def section(self) -> dict[str, Any]:
        """Return the item of `extenders` that --print-config prints."""
        ended = subprocess.run(
            [MOORING, *self._arguments, "--print-config"],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        (section,) = yaml.safe_load(ended.stdout)["extenders"]
        found: dict[str, Any] = section
        return found

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        process = Process(MOORING, self._arguments, self._folder / "extender.log")
        self._process = process
        process.wait_until(self._is_ready, seconds=PATIENCE)

    def _is_ready(self) -> bool:
        try:
            return self.get("/readyz").ok
        except OSError:
            # It has no certificate yet, or does not listen.
            return False

    def get(self, path: str) -> requests.Response:
        """Return the response to a request, with the certificate verified."""
        return requests.get(f"{self.url}{path}", verify=self._certificate, timeout=10)

    def post(self, path: str, body: bytes) -> Any:
        """Return the result of a verb."""
        response = requests.post(f"{self.url}{path}", body, verify=self._certificate, timeout=10)
        assert response.ok, response.text
        return response.json()

    def wait_until(self, holds: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Wait until a condition holds; fail with the log if it does not."""
        assert self._process is not None
        self._process.wait_until(holds, seconds)

    def answered(self, verb: str) -> int:
        """Return how many requests of a verb were answered with 200."""
        name = f'mooring_extender_requests_total{{code="200",verb="{verb}"}} '
        for line in self.get("/metrics").text.splitlines():
            if line.startswith(name):
                return int(line.removeprefix(name))
        return 0

    def kill(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()

    def stop(self) -> None:
        """Stop it."""
        if self._process is not None:
            self._process.stop()


@contextmanager
def extender(
    folder: Path, plugin: str, *arguments: str, kubeconfig: Path | None = None
) -> Iterator[ExtenderProgram]:
    """Run an extender with the plugins of a source text; `arguments` say which to serve."""
    (folder / "plugins.py").write_text(textwrap.dedent(plugin))
    program = ExtenderProgram(folder, arguments, kubeconfig)
    try:
        program.start()
        yield program
    finally:
        program.stop()
