"""The two sides: kube-scheduler and Mooring, as processes with the same input."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import requests

from tests.support.control_plane import ADMIN_TOKEN, ControlPlane, GivenCluster
from tests.support.processes import LOOPBACK, Process, free_port
from tests.support.waiting import PATIENCE

_MOORING = "import sys; from mooring.cli.run import main; sys.exit(main())"


class Side(msgspec.Struct, frozen=True):
    """One scheduler program."""

    name: str
    command: tuple[str, ...]

    def run(self, *flags: str) -> subprocess.CompletedProcess[str]:
        """Run the program until it ends."""
        return subprocess.run(
            [*self.command, *flags], capture_output=True, text=True, timeout=60, check=False
        )

    def start(
        self, plane: ControlPlane | GivenCluster, folder: Path, flags: Sequence[str] = ()
    ) -> Running:
        """Start the program as a scheduler and wait until it is ready."""
        return Running(self, plane, folder, flags)


def mooring() -> Side:
    """Return this Mooring."""
    return Side("mooring", (sys.executable, "-c", _MOORING))


def reference(kube_scheduler: Path) -> Side:
    """Return the reference."""
    return Side("kube-scheduler", (str(kube_scheduler),))


class Running:
    """A running scheduler."""

    def __init__(
        self, side: Side, plane: ControlPlane | GivenCluster, folder: Path, flags: Sequence[str]
    ) -> None:
        port = free_port()
        self._url = f"https://{LOOPBACK}:{port}"
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.verify = False
        self._session.headers["Authorization"] = f"Bearer {ADMIN_TOKEN}"
        self._log = folder / f"{side.name}.log"
        kubeconfig = plane.scheduler_kubeconfig
        program, *given = side.command
        arguments = [
            *given,
            f"--secure-port={port}",
            f"--bind-address={LOOPBACK}",
            f"--cert-dir={folder / side.name}",
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            *flags,
        ]
        self._process = Process(Path(program), arguments, self._log)
        self._process.wait_until(self._is_ready, seconds=PATIENCE)

    def _is_ready(self) -> bool:
        try:
            return self._session.get(f"{self._url}/readyz", timeout=5).ok
        except requests.RequestException:
            return False

    def wait_until(self, holds: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Wait until a condition holds."""
        self._process.wait_until(holds, seconds)

    def get(self, path: str) -> str:
        """Return the response to an administrator's request."""
        answer = self._session.get(f"{self._url}{path}", timeout=30)
        assert answer.ok, (path, answer.status_code, answer.text)
        return answer.text

    def log(self) -> str:
        """Return the log so far."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def stop(self) -> None:
        """Stop the program."""
        self._process.stop()
