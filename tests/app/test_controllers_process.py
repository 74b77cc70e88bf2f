"""`mooring controllers` as processes, on a real API server."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mooring.informers.reflector import NOT_SERVED
from tests.contrib.live import elastic_quota, pod_group, worker
from tests.contrib.on_server import add_custom, report_phase, serve_scheduling, status_is
from tests.live.running import MOORING, Mooring
from tests.support.cluster import Cluster
from tests.support.processes import LOOPBACK, Process, free_port

QUICK = (
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
)


class ControllersRun(Mooring):
    """A `mooring controllers` process."""

    def __init__(self, folder: Path, kubeconfig: Path, *flags: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        arguments = [
            "controllers",
            f"--kubeconfig={kubeconfig}",
            f"--secure-port={self.port}",
            f"--bind-address={LOOPBACK}",
            *flags,
        ]
        self.process = Process(MOORING, arguments, folder / "mooring.log")


Start = Callable[..., ControllersRun]


@pytest.fixture
def start(cluster: Cluster, tmp_path: Path) -> Iterator[Start]:
    """Yield a function that starts controllers; they are ended with the test."""
    made: list[ControllersRun] = []

    def run(*flags: str, kubeconfig: Path | None = None) -> ControllersRun:
        folder = tmp_path / str(len(made))
        made.append(
            ControllersRun(folder, kubeconfig or cluster.plane.admin_kubeconfig, *QUICK, *flags)
        )
        return made[-1]

    yield run
    for one in made:
        if not one.process.has_left:
            one.process.kill()


@pytest.fixture
def served(cluster: Cluster) -> Cluster:
    """Return a cluster that serves the custom resources of scheduling.x-k8s.io."""
    return serve_scheduling(cluster)


def member(cluster: Cluster, name: str, group: str, phase: str) -> None:
    """Create a pod of a group, and report that it is in a phase."""
    cluster.create(worker(name, group, cluster.namespace, nodeName="n"))
    report_phase(cluster, name, phase)


def test_statuses_are_written(served: Cluster, start: Start) -> None:
    add_custom(served, elastic_quota(served.namespace, "1", "8"))
    add_custom(served, pod_group("g", 2))
    controllers = start()
    controllers.wait_ready()
    status_is(served, "podgroups", "g", {"phase": "Pending"})
    member(served, "m0", "g", "Running")
    status_is(served, "elasticquotas", "quota", {"used": {"cpu": "1"}})
    member(served, "m1", "g", "Running")
    status_is(served, "podgroups", "g", {"phase": "Running", "running": 2})
    status_is(served, "elasticquotas", "quota", {"used": {"cpu": "2"}})
    for name in ("m0", "m1"):
        report_phase(served, name, "Succeeded")
    status_is(served, "podgroups", "g", {"phase": "Finished", "succeeded": 2})
    status_is(served, "elasticquotas", "quota", {"used": {"cpu": "0"}})
    controllers.process.send(signal.SIGTERM)
    assert controllers.process.wait() == 0
    assert "Requested to terminate, exiting" in controllers.process.tail()
    lease = served.api.get("Lease", "mooring-controllers", "kube-system")
    assert not lease["spec"].get("holderIdentity"), "the lease is released"


def test_another_replica_takes_over(served: Cluster, start: Start) -> None:
    first = start()
    first.wait_logged("Successfully acquired lease")
    second = start()
    second.wait_logged("Attempting to acquire leader lease")
    second.wait_ready()
    add_custom(served, pod_group("g", 1))
    status_is(served, "podgroups", "g", {"phase": "Pending"})
    first.process.kill()
    member(served, "m0", "g", "Running")
    second.wait_logged("Successfully acquired lease")
    status_is(served, "podgroups", "g", {"phase": "Running", "running": 1})


def test_a_missing_right_is_one_line(served: Cluster, start: Start) -> None:
    kubeconfig = served.plane.kubeconfig("nobody")
    controllers = start(kubeconfig=kubeconfig)
    for verb_resource in ("pods", "podgroups", "elasticquotas"):
        controllers.wait_logged(f'resource="{verb_resource}"')
    assert controllers.get("/livez") == 200
    assert controllers.get("/readyz") == 500
    controllers.process.send(signal.SIGTERM)
    assert controllers.process.wait() == 0
    lines = controllers.lines("A right is missing")
    assert len(lines) == len({line.partition("resource=")[2] for line in lines})


def test_definitions_may_come_later(cluster: Cluster, start: Start) -> None:
    controllers = start("--leader-elect=false")
    controllers.wait_ready()
    text = NOT_SERVED % "podgroups.v1alpha1.scheduling.x-k8s.io"
    controllers.wait_logged(text)
    assert len(controllers.lines(text)) == 1


def test_what_cannot_be_built_is_told_in_one_line(tmp_path: Path) -> None:
    controllers = ControllersRun(tmp_path, tmp_path / "none")
    assert controllers.process.wait() == 1
    (line,) = controllers.process.log().splitlines()
    assert '"command failed"' in line
