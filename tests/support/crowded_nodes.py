"""Nodes that have room for exactly their pods, and schedulers that may bind as fast as they can.

A miscounted place leaves a pod pending or a node too full.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.processes import Process

PODS_PER_NODE = 25

_CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
{election}
clientConnection:
  kubeconfig: {kubeconfig}
  qps: {qps}
  burst: {qps}
"""


def make_node(number: int) -> dict[str, Any]:
    """Return a node with room for `PODS_PER_NODE` pods."""
    offer = {"cpu": str(PODS_PER_NODE), "memory": "64Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"node-{number}"},
        "status": {"allocatable": offer, "capacity": offer},
    }


def make_pod(number: int) -> dict[str, Any]:
    """Return a pod that takes one place of a node."""
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"pod-{number}"},
        "spec": {"containers": [container]},
    }


class StartableScheduler:
    """A scheduler with a configuration and a log of its own, which may be started many times."""

    def __init__(
        self,
        program: Path,
        folder: Path,
        name: str,
        kubeconfig: Path,
        *,
        flags: tuple[str, ...] = (),
        **election: str,
    ) -> None:
        lines = "\n".join(f"  {key}: {value}" for key, value in election.items())
        self._folder = folder
        self._name = name
        self._election = lines
        self._kubeconfig = kubeconfig
        self._log = folder / f"{name}.log"
        self._program = program
        self._flags = flags
        self.process: Process

    def start(self, *, qps: int = 5000) -> None:
        """Start a process that sends so many requests in a second."""
        config = self._folder / f"{self._name}.yaml"
        text = _CONFIG.format(election=self._election, kubeconfig=self._kubeconfig, qps=qps)
        config.write_text(text)
        arguments = [f"--config={config}", "--secure-port=0", "--v=2", *self._flags]
        self.process = Process(self._program, arguments, self._log)
