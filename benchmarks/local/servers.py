"""The servers: kube-apiserver with etcd, and `mooring up`, with their CPU and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.support.control_plane import ControlPlane
from tests.support.real_parts import locate

REAL = "kube-apiserver"
LOCAL = "mooring up"

_TICKS = os.sysconf("SC_CLK_TCK")
_MOORING = Path(sys.executable).with_name("mooring")


class Server(msgspec.Struct):
    """A running server."""

    name: str
    kubeconfig: Path
    processes: list[int] = msgspec.field(default_factory=list)
    seconds_to_start: float = 0.0

    def cpu_seconds(self) -> float:
        """Return the CPU time that its processes have used."""
        total = 0
        for process in self.processes:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        return total / _TICKS

    def peak_megabytes(self) -> float:
        """Return the most memory that its processes have held."""
        return self._memory("VmHWM")

    def megabytes(self) -> float:
        """Return the memory that its processes hold."""
        return self._memory("VmRSS")

    def _memory(self, name: str) -> float:
        total = 0
        for process in self.processes:
            status = Path(f"/proc/{process}/status").read_text()
            line = next(one for one in status.splitlines() if one.startswith(name))
            total += int(line.split()[1])
        return total / 1024


@contextmanager
def real(folder: Path) -> Iterator[Server]:
    """Run kube-apiserver and etcd."""
    plane = ControlPlane(folder, locate("ETCD"), locate("KUBE_APISERVER"))
    begin = time.monotonic()
    try:
        plane.start()
        took = time.monotonic() - begin
        pids = [one.pid for one in (plane.kube_apiserver, plane.etcd)]
        yield Server(REAL, plane.admin_kubeconfig, pids, took)
    finally:
        plane.stop()


@contextmanager
def local(folder: Path, nodes: int, *flags: str) -> Iterator[Server]:
    """Run `mooring up`; it writes its kubeconfig when it is ready."""
    kubeconfig = folder / f"local-{nodes}.kubeconfig"
    arguments = ["up", f"--nodes={nodes}", f"--kubeconfig={kubeconfig}", *flags]
    begin = time.monotonic()
    with (folder / "mooring.log").open("ab") as log:
        process = subprocess.Popen([_MOORING, *arguments], stdout=log, stderr=log)
    try:
        while not kubeconfig.exists():
            if process.poll() is not None:
                raise RuntimeError((folder / "mooring.log").read_text())
            time.sleep(0.01)
        yield Server(LOCAL, kubeconfig, [process.pid], time.monotonic() - begin)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
