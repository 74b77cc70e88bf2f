"""`mooring explain` and the scheduler that leads, on a real API server."""

from __future__ import annotations

import hashlib
import os
import signal
import ssl
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.explain.lease_annotations import CERTIFICATE, HOLDER, PORT
from mooring.leader.port_forward import NO_KUBECTL
from tests.live.running import MOORING, QUICK_ELECTION, Mooring, condition, configuration, node, pod
from tests.support.api import Object
from tests.support.cluster import Cluster
from tests.support.fake_kubectl import FakeKubectl
from tests.support.processes import LOOPBACK, Process, free_port
from tests.support.waiting import eventually

LEASE = ("Lease", "kube-scheduler", "kube-system")

Start = Callable[[], Mooring]


@pytest.fixture
def start(cluster: Cluster, tmp_path: Path) -> Iterator[Start]:
    """Yield a function that starts a replica; those that a test leaves running are ended."""
    made: list[Mooring] = []

    def run() -> Mooring:
        kubeconfig = cluster.plane.scheduler_kubeconfig
        made.append(
            Mooring(
                tmp_path / str(len(made)),
                configuration(kubeconfig, leaderElection=QUICK_ELECTION),
                f"--authentication-kubeconfig={kubeconfig}",
                f"--authorization-kubeconfig={kubeconfig}",
            )
        )
        return made[-1]

    yield run
    for one in made:
        one.process.stop()


def held_by(cluster: Cluster, scheduler: Mooring) -> Object:
    """Wait until a replica has the Lease; return the Lease."""

    def ask() -> Object | None:
        lease = cluster.api.find(*LEASE)
        port = (lease or {}).get("metadata", {}).get("annotations", {}).get(PORT)
        return lease if port == str(scheduler.port) else None

    return eventually(ask, f"port {scheduler.port} in the Lease") or {}


def fingerprint(port: int) -> str:
    pem = ssl.get_server_certificate((LOOPBACK, port))
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()


def explain(cluster: Cluster, *args: str, path: str = "") -> tuple[int, str, str]:
    """Return exit status, output and errors of the command, as an administrator."""
    ended = subprocess.run(
        [
            MOORING,
            "explain",
            f"--kubeconfig={cluster.plane.admin_kubeconfig}",
            f"--namespace={cluster.namespace}",
            *args,
        ],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "COLUMNS": "300", **({"PATH": path} if path else {})},
    )
    return ended.returncode, ended.stdout, ended.stderr


def test_the_leader_is_found_by_its_lease_and_known_by_its_certificate(
    cluster: Cluster, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl = FakeKubectl(tmp_path / "bin", monkeypatch)
    cluster.create(node("node-1"))
    cluster.create(pod("web", cpu="900"))
    leader = start()
    lease = held_by(cluster, leader)
    holder = lease["spec"]["holderIdentity"]
    assert lease["metadata"]["annotations"] == {
        HOLDER: holder,
        PORT: str(leader.port),
        CERTIFICATE: fingerprint(leader.port),
    }
    assert set(lease["spec"]) == {
        "holderIdentity",
        "leaseDurationSeconds",
        "acquireTime",
        "renewTime",
        "leaseTransitions",
    }
    cluster.wait_for("Pod", "web", condition)
    kubectl.forward_to(leader.port)
    status, out, err = explain(cluster, "web")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"Answered by the leader {holder} (Lease kube-system/kube-scheduler):"
    assert lines[2].startswith(f"{cluster.namespace}/web is pending: attempt ")
    assert lines[-1].startswith("QUEUE    unschedulable for ")
    (call,) = kubectl.calls
    pod_name = holder.rpartition("_")[0]
    assert f"--namespace=kube-system --address=127.0.0.1 pod/{pod_name} :{leader.port}" in call
    kubectl.fail("error: pods is forbidden")
    status, out, err = explain(cluster, "web")
    assert (status, out) == (1, "")
    assert err == (
        f"error: kubectl cannot forward port {leader.port} of pod kube-system/{pod_name}: error: "
        "pods is forbidden\n"
    )
    assert explain(cluster, "web", path=str(tmp_path)) == (1, "", f"error: {NO_KUBECTL}\n")
    # The Lease is renewed, and keeps what it says.
    renewed = lease["spec"]["renewTime"]
    lease = eventually(
        lambda: _if(cluster.api.get(*LEASE), lambda one: one["spec"]["renewTime"] != renewed),
        "a renewal",
    )
    assert lease["metadata"]["annotations"][HOLDER] == holder

    standby = start()
    standby.wait_ready()
    url = f"--scheduler=https://{LOOPBACK}:{standby.port}"
    status, out, err = explain(cluster, "web", url)
    assert (status, out) == (1, "")
    shown = fingerprint(standby.port)
    assert f"cannot be asked: the server's certificate has the SHA-256 {shown}, and " in err
    assert err.count("\n") == 1
    pin = f"--certificate-sha256={shown}"
    status, out, err = explain(cluster, "web", url, pin)
    assert (status, out) == (1, "")
    assert err.endswith(f": this replica does not lead: the leader is {holder}\n")

    # Whoever leads next says so in the same place.
    leader.process.send(signal.SIGTERM)
    lease = held_by(cluster, standby)
    assert lease["metadata"]["annotations"][HOLDER] == lease["spec"]["holderIdentity"] != holder
    status, out, err = explain(cluster, "web", url, "-o", "json")
    assert (status, err) == (0, "")
    assert lease["spec"]["holderIdentity"] in out
    standby.process.send(signal.SIGTERM)
    released = eventually(
        lambda: _if(cluster.api.get(*LEASE), lambda one: not one["spec"].get("holderIdentity")),
        "a release",
    )
    assert "annotations" not in released["metadata"]


def test_a_kube_scheduler_that_takes_over_is_not_asked(
    cluster: Cluster, start: Start, kube_scheduler: Path, tmp_path: Path
) -> None:
    cluster.create(node("node-1"))
    leader = start()
    stale = held_by(cluster, leader)
    leader.process.send(signal.SIGKILL)
    kubeconfig = cluster.plane.scheduler_kubeconfig
    other = Process(
        kube_scheduler,
        [
            f"--secure-port={free_port()}",
            f"--kubeconfig={kubeconfig}",
            "--leader-elect-lease-duration=3s",
            "--leader-elect-renew-deadline=2s",
            "--leader-elect-retry-period=500ms",
        ],
        tmp_path / "kube-scheduler.log",
    )
    try:
        gone = stale["spec"]["holderIdentity"]
        lease = eventually(
            lambda: _if(
                cluster.api.get(*LEASE), lambda one: one["spec"].get("holderIdentity") != gone
            ),
            "another holder",
            seconds=60,
        )
        cluster.create(pod("web"))
        cluster.wait_for("Pod", "web", lambda found: "nodeName" in found["spec"])
        status, out, err = explain(cluster, "web")
        assert (status, err) == (0, "")
        holder = lease["spec"]["holderIdentity"]
        assert out.splitlines()[:2] == [
            f"{cluster.namespace}/web is on node-1. Asked now as if it were not there, by the "
            "default configuration:",
            f"  asked here, because no Mooring leads: {holder}, which holds the Lease "
            "kube-system/kube-scheduler, answers no questions",
        ]
    finally:
        other.stop()


def _if(found: Object, holds: Callable[[Object], Any]) -> Object | None:
    return found if holds(found) else None
