"""`mooring up` as a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support import kubeconfigs
from tests.support.api import Api
from tests.support.kubeconfigs import Access
from tests.support.kubectl import Kubectl
from tests.support.processes import Process
from tests.support.waiting import eventually

MOORING = Path(sys.executable).with_name("mooring")


class Up:
    """A local cluster with a folder for its kubeconfig and log; `kubectl` talks to it.

    Relative paths, of its flags and of kubectl's, begin at `workplace`.
    """

    def __init__(self, folder: Path, workplace: Path, kubectl: Path, *flags: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.workplace = workplace
        self.kubeconfig = folder / "kubeconfig"
        self.kubectl = Kubectl(kubectl, self.kubeconfig, workplace)
        arguments = ["up", f"--kubeconfig={self.kubeconfig}", *flags]
        self.process = Process(MOORING, arguments, folder / "mooring.log", cwd=workplace)

    @property
    def access(self) -> Access:
        """Return the administrator's way to the API server."""
        return kubeconfigs.access(*kubeconfigs.read(self.kubeconfig), self.folder)

    def wait_ready(self, seconds: float = 30) -> None:
        """Wait until the kubeconfig is there and the API server says that it is ready."""
        self.process.wait_until(self.kubeconfig.exists, seconds)
        with Api(self.access) as api:
            self.process.wait_until(api.is_ready, seconds)

    def run(self, *flags: str, name: str = "scheduler") -> Process:
        """Start `mooring run` as the tutorials do by hand: in the workplace, with flags alone."""
        return Process(MOORING, ["run", *flags], self.folder / f"{name}.log", cwd=self.workplace)

    def stop(self) -> int:
        """End the cluster, and return its exit status."""
        return self.process.stop()


def wait_logged(process: Process, part: str, seconds: float = 20) -> str:
    """Wait for a line of a process' log that contains a text, and return it."""

    def ask() -> list[str]:
        return [line for line in process.log().splitlines() if part in line]

    try:
        return eventually(ask, part, seconds)[0]
    except AssertionError:
        raise AssertionError(f"never logged: {part}\n{process.tail()}") from None
