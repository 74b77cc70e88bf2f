"""Wall clocks that are set by hours, forward and back, at the worst moments.

What waits or expires must not notice: kube-scheduler's timers use the monotonic clock, though the
ends of its backoffs do not. What is written into objects must follow the wall clock.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

import mooring
from mooring.api.timestamps import parse_time
from mooring.client.transport import Request, Response
from tests.adversary.simulated_cluster import AttackedCluster, attack, make_pod
from tests.soak.api_server import failure
from tests.soak.approver import CALM_FROM, LABEL, PATIENCE
from tests.soak.lease_checks import LEASES
from tests.soak.object_store import PODS, Json
from tests.support.virtual_loop import LoopClock

HOURS = 3600.0
CHANGES = [6 * HOURS, -6 * HOURS]
IDS = ["forward", "back"]
EVENTS = "/apis/events.k8s.io/v1/events"
#: What reads the machine's clock by itself: the clock, the start time of the process, commands that
#: print ages, certificates, and the local API server, which stamps objects.
READERS = {
    "apiserver/auth/certificate_authority.py",
    "apiserver/server_state.py",
    "cli/explain.py",
    "cli/list_clusters.py",
    "cli/status.py",
    "cli/up.py",
    "observe/clock.py",
    "serve/certificates.py",
    "serve/process.py",
}


def conditions_of(pod: Json) -> dict[str, Json]:
    """Return the conditions of a pod by type."""
    return {one["type"]: one for one in pod["status"].get("conditions", ())}


@pytest.mark.parametrize("change", CHANGES, ids=IDS)
def test_a_leader_whose_clock_is_set_keeps_the_lease_and_binds(change: float) -> None:
    async def scenario(cluster: AttackedCluster) -> None:
        cluster.add_nodes(4)
        cluster.start()
        await asyncio.sleep(10.0)
        (leader,) = [replica for replica in cluster.replicas if replica.leads]
        (other,) = [replica for replica in cluster.replicas if not replica.leads]
        holder = leader.process.name
        for number in range(10):
            leader.set_clock(change if number % 2 else -change)
            other.set_clock(-change if number % 3 else change)
            cluster.add_pods(1, f"round-{number}")
            await asyncio.sleep(7.0)
        (lease,) = cluster.store.list(LEASES)
        assert lease["spec"]["holderIdentity"] == holder
        assert lease["spec"]["leaseTransitions"] == 0
        assert cluster.bound == 10

    attack(scenario, replicas=2)


@pytest.mark.parametrize("change", CHANGES, ids=IDS)
def test_a_replica_takes_over_in_time_after_its_clock_was_set(change: float) -> None:
    async def scenario(cluster: AttackedCluster) -> None:
        cluster.add_nodes(1)
        cluster.start()
        await asyncio.sleep(10.0)
        (leader,) = [replica for replica in cluster.replicas if replica.leads]
        (other,) = [replica for replica in cluster.replicas if not replica.leads]
        leader.kill()
        other.set_clock(change)
        # The lease lasts 15 s, and is looked at every 2 to 4.4 s.
        await asyncio.sleep(8.0)
        assert not other.leads
        await asyncio.sleep(12.0)
        assert other.leads
        leader.start_again(leader.process)
        await asyncio.sleep(20.0)

    attack(scenario, replicas=2)


@pytest.mark.parametrize("change", CHANGES, ids=IDS)
def test_backoffs_after_errors_end_in_time(change: float) -> None:
    """In kube-scheduler such a pod waits for as long as the clock was set back."""

    async def scenario(cluster: AttackedCluster) -> None:
        binds: list[str] = []

        def refuse(request: Request) -> Response | None:
            if not request.target.endswith("/binding"):
                return None
            binds.append(request.target)
            return failure(500, "InternalError", "no leader")

        cluster.add_nodes(4)
        cluster.start()
        await asyncio.sleep(2.0)
        cluster.server.refuse = refuse
        cluster.add_pods(8)
        await asyncio.sleep(5.0)
        del binds[:]
        cluster.replicas[0].set_clock(change)
        await asyncio.sleep(60.0)
        # The backoffs of 8 pods, of 4 to 10 s by now, still protect the server. Each attempt sends
        # a bind four times.
        assert 4 * 8 * 4 <= len(binds) <= 4 * 8 * 9
        cluster.server.refuse = lambda request: None
        await asyncio.sleep(12.0)
        assert cluster.bound == 8

    attack(scenario)


@pytest.mark.parametrize("change", CHANGES, ids=IDS)
def test_waits_at_permit_end_in_time(change: float) -> None:
    async def scenario(cluster: AttackedCluster) -> None:
        cluster.add_nodes(4)
        cluster.start()
        await asyncio.sleep(2.0)
        for number in range(16):
            pod = make_pod(f"waits-{number}")
            meta = {**pod["metadata"], "labels": {LABEL: "yes"}}
            cluster.store.create(PODS, {**pod, "metadata": meta})
        await asyncio.sleep(PATIENCE / 2)
        scheduler = cluster.replicas[0].scheduler
        assert scheduler is not None
        before = {wait.pod.key for wait in scheduler.on_the_way.waiting()}
        assert before
        cluster.replicas[0].set_clock(change)
        await asyncio.sleep(0.01)
        now = {wait.pod.key for wait in scheduler.on_the_way.waiting()}
        assert now <= before and len(now) > len(before) // 2
        await asyncio.sleep(PATIENCE / 2 + 0.5)
        # Those that were neither approved nor refused have failed, and are tried again later.
        messages = [
            conditions_of(pod).get("PodScheduled", {}).get("message", "")
            for pod in cluster.store.list(PODS)
        ]
        assert any("rejected due to timeout" in message for message in messages), messages
        await asyncio.sleep(CALM_FROM)
        assert cluster.bound == 16

    attack(scenario)


@pytest.mark.parametrize("change", CHANGES, ids=IDS)
def test_binds_in_flight_when_the_clock_is_set_are_sent_once(change: float) -> None:
    async def scenario(cluster: AttackedCluster) -> None:
        cluster.add_nodes(10)
        cluster.start()
        await asyncio.sleep(2.0)
        before = cluster.server.before_bind

        def bind(pod: Json, node_name: str) -> None:
            before(pod, node_name)
            cluster.replicas[0].set_clock(change if len(cluster.ledger.binds) % 2 else -change)

        cluster.server.before_bind = bind
        cluster.server.take_requests()
        cluster.add_pods(40)
        await asyncio.sleep(30.0)
        assert cluster.bound == len(cluster.ledger.binds) == 40
        assert cluster.server.take_requests()[PODS] == 40

    attack(scenario)


@pytest.mark.parametrize("change", CHANGES, ids=IDS)
def test_objects_get_the_time_that_the_machine_shows(change: float) -> None:
    async def scenario(cluster: AttackedCluster) -> None:
        cluster.add_nodes(1, 1)
        cluster.start()
        await asyncio.sleep(10.0)
        for replica in cluster.replicas:
            replica.set_clock(change)
        cluster.add_pods(2)
        await asyncio.sleep(10.0)
        (leader,) = [replica for replica in cluster.replicas if replica.leads]
        assert leader.scheduler is not None
        clock = leader.scheduler.clock
        assert isinstance(clock, LoopClock)
        shown = clock.wall_time()
        assert abs(shown - clock.now()) == 6 * HOURS
        (lease,) = cluster.store.list(LEASES)
        (refused,) = [pod for pod in cluster.store.list(PODS) if not pod["spec"].get("nodeName")]
        times = [event["eventTime"] for event in cluster.store.list(EVENTS)]
        times.append(lease["spec"]["renewTime"])
        times.append(conditions_of(refused)["PodScheduled"]["lastTransitionTime"])
        assert len(times) >= 4
        assert all(0 <= shown - parse_time(time) <= 20.0 for time in times)

    attack(scenario, replicas=2)


def test_nothing_else_reads_the_machines_clock() -> None:
    folder = Path(mooring.__file__).parent
    reads = re.compile(r"\btime\.time\b|\bdatetime\.(now|utcnow)\(")
    readers = {
        str(path.relative_to(folder))
        for path in folder.rglob("*.py")
        if reads.search(path.read_text())
    }
    assert readers == READERS
