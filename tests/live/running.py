"""Mooring as a separate process, and what tests read from it and from the API server."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import requests
import urllib3
import yaml

from tests.support.api import Object
from tests.support.cluster import Cluster
from tests.support.processes import LOOPBACK, Process, free_port
from tests.support.waiting import eventually

MOORING = Path(sys.executable).with_name("mooring")
#: Leader election whose leader notices within seconds that it has lost the lease.
QUICK_ELECTION = {
    "leaderElect": True,
    "leaseDuration": "3s",
    "renewDeadline": "2s",
    "retryPeriod": "500ms",
}


def configuration(kubeconfig: Path, **more: Any) -> Object:
    """Return a KubeSchedulerConfiguration; without leader election unless `more` has it."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 1000, "burst": 1000},
        **more,
    }


class Mooring:
    """A `mooring run` process with a folder for its configuration and its log."""

    def __init__(self, folder: Path, config: Object | None, *flags: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        arguments = ["run", f"--secure-port={self.port}", f"--bind-address={LOOPBACK}", *flags]
        if config is not None:
            file = folder / "config.yaml"
            file.write_text(yaml.safe_dump(config), encoding="utf-8")
            arguments.append(f"--config={file}")
        self.process = Process(MOORING, arguments, folder / "mooring.log")

    def wait_ready(self) -> None:
        """Wait until /readyz responds with 200."""
        self.process.wait_until(lambda: self.get("/readyz") == 200, seconds=30)

    def get(self, path: str) -> int:
        """Return the status of the secure port's response; 0 if there is none."""
        with requests.Session() as session:
            session.trust_env = False
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
            try:
                url = f"https://{LOOPBACK}:{self.port}{path}"
                return session.get(url, verify=False, timeout=5).status_code
            except requests.RequestException:
                return 0

    def lines(self, part: str) -> list[str]:
        """Return the lines of the log that contain a text."""
        return [line for line in self.process.log().splitlines() if part in line]

    def wait_logged(self, part: str, seconds: float = 20) -> str:
        """Wait for a line of the log that contains a text, and return it."""

        def ask() -> list[str]:
            return self.lines(part)

        try:
            return eventually(ask, part, seconds)[0]
        except AssertionError:
            raise AssertionError(f"never logged: {part}\n{self.process.tail()}") from None


class Journal:
    """The calls that the recording plugins wrote."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def calls(self) -> Iterator[dict[str, str]]:
        """Yield every call so far; an incomplete line is left out."""
        if self.file.exists():
            whole, _, _ = self.file.read_text(encoding="utf-8").rpartition("\n")
            yield from map(json.loads, whole.splitlines())

    def of(self, pod: str, *points: str) -> list[str]:
        """Return the calls about a pod as "Plugin.point", optionally only of some points."""
        return [
            f"{call['plugin']}.{call['point']}"
            for call in self.calls()
            if call["pod"] == pod and (not points or call["point"] in points)
        ]


def node(name: str) -> Object:
    """Return a node with room for many pods."""
    room = {"cpu": "100", "memory": "100Gi", "pods": "1000"}
    status = {"capacity": room, "allocatable": room}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def pod(name: str, **more: Any) -> Object:
    """Return a pod; `more` is metadata, except for `spec` and `cpu`."""
    spec = more.pop("spec", {})
    container: Object = {"name": "main", "image": "image"}
    if cpu := more.pop("cpu", None):
        container["resources"] = {"requests": {"cpu": cpu}}
    body = {"metadata": {"name": name, **more}, "spec": {"containers": [container], **spec}}
    return {"apiVersion": "v1", "kind": "Pod", **body}


def is_bound(found: Object) -> bool:
    """Return whether a pod has a node."""
    return "nodeName" in found["spec"]


def condition(found: Object) -> Object:
    """Return the condition PodScheduled of a pod; empty if it has none."""
    for one in found.get("status", {}).get("conditions", []):
        if one["type"] == "PodScheduled":
            return dict(one)
    return {}


def events(cluster: Cluster, pod: str, reason: str) -> list[Object]:
    """Return the Events about a pod."""
    path = f"apis/events.k8s.io/v1/namespaces/{cluster.namespace}/events"
    return [
        one
        for one in cluster.api.request("GET", path)["items"]
        if one["reason"] == reason and one["regarding"]["name"] == pod
    ]
