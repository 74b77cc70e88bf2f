"""`mooring up` as a separate process."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support import kubeconfigs
from tests.support.api import Api
from tests.support.kubeconfigs import Access
from tests.support.kubectl import Kubectl
from tests.support.processes import LOOPBACK, Process, free_port
from tests.support.waiting import PATIENCE, eventually

MOORING = Path(sys.executable).with_name("mooring")


class Up:
    """A local cluster with a folder for its kubeconfig and log, and with `kubectl` for it.

    Relative paths in its flags and in kubectl's start at `workplace`.
    """

    def __init__(self, folder: Path, workplace: Path, kubectl: Path, *flags: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.workplace = workplace
        self.kubeconfig = folder / "kubeconfig"
        self.kubectl = Kubectl(kubectl, self.kubeconfig, workplace)
        self._beside: list[Process] = []
        arguments = ["up", f"--kubeconfig={self.kubeconfig}", *flags]
        self.process = Process(MOORING, arguments, folder / "mooring.log", cwd=workplace)

    @property
    def access(self) -> Access:
        """The administrator's access to the API server."""
        return kubeconfigs.access(*kubeconfigs.read(self.kubeconfig), self.folder)

    def wait_ready(self, seconds: float = PATIENCE) -> None:
        """Wait until the kubeconfig exists and the API server reports that it is ready."""
        self.process.wait_until(self.kubeconfig.exists, seconds)
        with Api(self.access) as api:
            self.process.wait_until(api.is_ready, seconds)

    def run(self, *flags: str, name: str = "scheduler", kubeconfig: Path | None = None) -> Process:
        """Start `mooring run` in the workplace, with the kubeconfig in $KUBECONFIG.

        It is the administrator's unless another is given. The port is not the default one, since
        a machine may run several tests.
        """
        environment = {**self.kubectl.environment, "KUBECONFIG": str(kubeconfig or self.kubeconfig)}
        serving = [f"--secure-port={free_port()}", f"--bind-address={LOOPBACK}"]
        return self.start([str(MOORING), "run", *flags, *serving], name, environment)

    def start(
        self, command: list[str], name: str, environment: dict[str, str] | None = None
    ) -> Process:
        """Start a program in the workplace; it is stopped with the cluster at the latest."""
        program, *arguments = command
        log = self.folder / f"{name}.log"
        environment = environment or self.kubectl.environment
        process = Process(Path(program), arguments, log, cwd=self.workplace, env=environment)
        self._beside.append(process)
        return process

    def stop(self) -> int:
        """Stop the cluster and the programs beside it; return the cluster's exit status."""
        for process in reversed(self._beside):
            process.stop()
        return self.process.stop()


def wait_logged(process: Process, part: str, seconds: float = PATIENCE) -> str:
    """Wait for a line of a process' log that contains a text, and return it."""

    def ask() -> list[str]:
        return [line for line in process.log().splitlines() if part in line]

    try:
        return eventually(ask, part, seconds)[0]
    except AssertionError:
        raise AssertionError(f"never logged: {part}\n{process.tail()}") from None
