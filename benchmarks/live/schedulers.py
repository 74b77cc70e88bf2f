"""The two schedulers as processes, and the CPU and memory they use."""

from __future__ import annotations

import asyncio
import compileall
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import yaml

import mooring

REFERENCE = "kube-scheduler"
MOORING = "mooring"

#: A process is at rest if it uses less than `_IDLE` of a core during `_REST` seconds.
_IDLE = 0.1
_REST = 0.5
_TICKS = os.sysconf("SC_CLK_TCK")


class Usage(msgspec.Struct, frozen=True):
    """The CPU time and memory that a process has used."""

    cpu_seconds: float
    megabytes: float


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


class SchedulerProcess:
    """A scheduler under test; leaving the context stops it."""

    def __init__(
        self,
        name: str,
        program: list[str],
        folder: Path,
        kubeconfig: Path,
        settings: Mapping[str, Any] = MappingProxyType({}),
        serving: Sequence[str] = ("--secure-port=0",),
    ) -> None:
        config = folder / f"{name}.yaml"
        config.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "kubescheduler.config.k8s.io/v1",
                    "kind": "KubeSchedulerConfiguration",
                    "leaderElection": {"leaderElect": False},
                    "clientConnection": {
                        "kubeconfig": str(kubeconfig),
                        "qps": 5000,
                        "burst": 5000,
                    },
                    **settings,
                }
            )
        )
        self._log = (folder / f"{name}.log").open("ab")
        self._process = subprocess.Popen(
            [*program, f"--config={config}", *serving],
            stdout=self._log,
            stderr=self._log,
        )

    def usage(self) -> Usage:
        """Return the CPU time and the memory of the process so far."""
        status = (Path("/proc") / str(self._process.pid) / "status").read_text()
        peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return Usage(cpu_seconds(self._process.pid), int(peak.split()[1]) / 1024)

    async def rest(self) -> Usage:
        """Wait until the process is at rest; return what it has used."""
        usage = self.usage()
        while True:
            await asyncio.sleep(_REST)
            before, usage = usage, self.usage()
            if usage.cpu_seconds - before.cpu_seconds < _IDLE * _REST:
                return usage

    def __enter__(self) -> SchedulerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


def programs(reference: Path) -> dict[str, list[str]]:
    """Return the command that starts each scheduler."""
    # Compile to bytecode, as an installer does: if it cannot be written, each start compiles again.
    compileall.compile_dir(str(Path(mooring.__file__).parent), quiet=2)
    program = Path(sys.executable).with_name("mooring-kube-scheduler")
    return {REFERENCE: [str(reference)], MOORING: [str(program)]}
