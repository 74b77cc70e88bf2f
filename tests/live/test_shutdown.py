"""How a scheduler ends, on a signal and when it loses the lease, and its health before that."""

# kube-scheduler: cmd/kube-scheduler/app/server.go (Run)

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.running import (
    QUICK_ELECTION,
    Mooring,
    configuration,
    events,
    is_bound,
    node,
    pod,
)
from tests.support.cluster import Cluster
from tests.support.waiting import eventually

SLOW = """
import asyncio
from mooring import Plugin, Status

class Slow(Plugin):
    \"\"\"Take a while to bind, or wait for a permission that never comes.\"\"\"

    def permit(self, state, pod, node_name):
        return Status.wait(600) if pod.metadata.name == "waits" else None

    async def pre_bind(self, state, pod, node_name):
        if pod.metadata.name == "slow":
            await asyncio.sleep(1.5)

    def unreserve(self, state, pod, node_name):
        print("unreserved", pod.metadata.name, flush=True)
"""

Start = Callable[..., Mooring]


@pytest.fixture
def start(cluster: Cluster, tmp_path: Path) -> Iterator[Start]:
    """Yield a function that starts a scheduler; those that a test leaves running are killed."""
    made: list[Mooring] = []

    def run(*flags: str, **config: Any) -> Mooring:
        folder = tmp_path / str(len(made))
        whole = configuration(cluster.plane.scheduler_kubeconfig, **config)
        made.append(Mooring(folder, whole, *flags))
        return made[-1]

    yield run
    for mooring in made:
        mooring.process.kill()


def lease(cluster: Cluster) -> dict[str, Any]:
    found = cluster.api.find("Lease", "kube-scheduler", "kube-system")
    return {} if found is None else dict(found["spec"])


def test_a_leader_ends_its_bindings_and_releases_the_lease(
    cluster: Cluster, start: Start, tmp_path: Path
) -> None:
    plugin = tmp_path / "slow.py"
    plugin.write_text(SLOW)
    cluster.create(node("n"))
    plugins = {"multiPoint": {"enabled": [{"name": "Slow"}]}}
    mooring = start(
        f"--plugin={plugin}:Slow", profiles=[{"plugins": plugins}], leaderElection=QUICK_ELECTION
    )
    mooring.wait_ready()
    for name in ("waits", "slow"):
        cluster.create(pod(name))
        cluster.wait_for("Pod", name, lambda found: found["status"].get("nominatedNodeName"))
    holder = lease(cluster)["holderIdentity"]
    mooring.process.send(signal.SIGTERM)
    assert mooring.process.wait() == 0
    assert is_bound(cluster.api.get("Pod", "slow", cluster.namespace))
    assert [one["note"] for one in events(cluster, "slow", "Scheduled")] == [
        f"Successfully assigned {cluster.namespace}/slow to n"
    ]
    assert not is_bound(cluster.api.get("Pod", "waits", cluster.namespace))
    assert events(cluster, "waits", "FailedScheduling") == []
    assert mooring.lines("unreserved") == ["unreserved waits"]
    assert holder
    assert lease(cluster)["holderIdentity"] == ""
    assert "Requested to terminate, exiting" in mooring.process.tail(300)


def test_without_election_the_end_is_an_error_as_kube_schedulers(
    cluster: Cluster, start: Start
) -> None:
    profiles = [{"schedulerName": "red"}, {"schedulerName": "blue"}]
    mooring = start(profiles=profiles)
    mooring.wait_ready()
    cluster.create(node("n"))
    for name in ("red", "blue"):
        cluster.create(pod(name, spec={"schedulerName": name}))
    cluster.create(pod("nobodys"))
    for name in ("red", "blue"):
        cluster.wait_for("Pod", name, is_bound)
        (event,) = eventually(lambda name=name: events(cluster, name, "Scheduled"), "the Event")
        assert event["reportingController"] == name
    assert not is_bound(cluster.api.get("Pod", "nobodys", cluster.namespace))

    cluster.create(pod("stuck", spec={"schedulerName": "red", "nodeSelector": {"no": "where"}}))
    eventually(lambda: events(cluster, "stuck", "FailedScheduling"), "a pod that stays pending")
    mooring.process.send(signal.SIGUSR2)
    mooring.wait_logged("Dump of scheduling queue")
    dump = mooring.process.log()
    assert "Cache comparer finished" in dump
    assert "mismatch" not in dump
    assert re.search(r"Node name: n; .*Scheduled Pods\(number: 2\)", dump)
    assert f"{cluster.namespace}/stuck" in dump[dump.index("Dump of scheduling queue") :]

    mooring.process.send(signal.SIGINT)
    assert mooring.process.wait() == 1
    assert '"command failed" err="finished without leader elect"' in mooring.process.tail(300)


def test_a_lost_lease_ends_the_process(cluster: Cluster, start: Start) -> None:
    mooring = start(leaderElection=QUICK_ELECTION, delayCacheUntilActive=True)
    eventually(lambda: lease(cluster).get("holderIdentity"), "a leader")
    mooring.wait_ready()
    thief = {
        "holderIdentity": "somebody-else",
        "leaseDurationSeconds": 3600,
        "renewTime": "2099-01-01T00:00:00.000000Z",
    }
    cluster.api.patch("Lease", "kube-scheduler", {"spec": thief}, "kube-system")
    assert mooring.process.wait() == 1
    assert "Leaderelection lost" in mooring.process.tail(300)
    assert lease(cluster)["holderIdentity"] == "somebody-else"


def test_a_standby_sees_nothing_until_it_leads_and_ends_in_peace(
    cluster: Cluster, start: Start
) -> None:
    spec = {
        "holderIdentity": "somebody-else",
        "leaseDurationSeconds": 3600,
        "acquireTime": "2099-01-01T00:00:00.000000Z",
        "renewTime": "2099-01-01T00:00:00.000000Z",
        "leaseTransitions": 0,
    }
    head = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    cluster.create(
        {**head, "metadata": {"name": "kube-scheduler", "namespace": "kube-system"}, "spec": spec}
    )
    mooring = start(
        "--logging-format=json",
        "--v=2",
        leaderElection=QUICK_ELECTION,
        delayCacheUntilActive=True,
    )
    mooring.wait_logged("Attempting to acquire leader lease")
    eventually(lambda: mooring.get("/livez") == 200, "the server")
    assert mooring.get("/readyz") == 500
    assert mooring.lines("Caches populated") == []
    mooring.process.send(signal.SIGTERM)
    assert mooring.process.wait() == 0
    assert lease(cluster)["holderIdentity"] == "somebody-else"
    last = json.loads(mooring.process.log().splitlines()[-1])
    assert last["msg"] == "Requested to terminate, exiting"
