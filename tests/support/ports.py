"""The ports that Mooring serves on, each by a separate process."""

from __future__ import annotations

import contextlib
import http.client
import ssl
from pathlib import Path

from tests.support.local_up import MOORING
from tests.support.processes import LOOPBACK, Process, free_port
from tests.support.waiting import PATIENCE


class Victim:
    """A process that serves on a port."""

    def __init__(self, process: Process, port: int) -> None:
        self.process = process
        self.port = port

    def is_well(self) -> bool:
        """Return whether it responds to a health check."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        connection = http.client.HTTPSConnection(LOOPBACK, self.port, context=context, timeout=20)
        with contextlib.closing(connection):
            try:
                connection.request("GET", "/healthz")
                return connection.getresponse().status == 200
            except OSError:
                return False


class Ports:
    """A starter of both servers, with a folder for their files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.kubeconfig = folder / "kubeconfig"
        self._started: list[Process] = []

    def local(self) -> Victim:
        """Start a local cluster, and return its API server."""
        port = free_port()
        flags = ["up", "--nodes=1", f"--port={port}", f"--kubeconfig={self.kubeconfig}"]
        return self._start(MOORING, flags, port, "up.log")

    def secure(self, *more: str, files: int = 0) -> Victim:
        """Start a scheduler for that cluster, optionally with a limit of open files."""
        port = free_port()
        flags = [
            "run",
            "--leader-elect=false",
            f"--secure-port={port}",
            f"--bind-address={LOOPBACK}",
            f"--kubeconfig={self.kubeconfig}",
            f"--authentication-kubeconfig={self.kubeconfig}",
            f"--authorization-kubeconfig={self.kubeconfig}",
            *more,
        ]
        program = MOORING
        if files:
            command = f'ulimit -n {files} && exec "$0" "$@"'
            program, flags = Path("/bin/sh"), ["-c", command, str(MOORING), *flags]
        return self._start(program, flags, port, f"run-{port}.log")

    def _start(self, program: Path, flags: list[str], port: int, log: str) -> Victim:
        victim = Victim(Process(program, flags, self._folder / log), port)
        self._started.append(victim.process)
        victim.process.wait_until(victim.is_well, PATIENCE)
        victim.process.wait_until(self.kubeconfig.exists, PATIENCE)
        return victim

    def stop(self) -> None:
        """Stop everything that was started."""
        for process in reversed(self._started):
            process.stop()
