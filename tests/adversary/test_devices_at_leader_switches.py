"""Devices whose scheduler loses the lead while it allocates them, writes claims and binds pods.

A claim is written before its pod is bound. So a leader may be gone between the two, or come back
when another has allocated the devices that it had chosen, or never learn whether a write arrived.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from mooring.client.transport import Request, Response
from tests.adversary.simulated_cluster import NAMESPACE, AttackedCluster, attack, make_pod
from tests.soak.api_server import failure
from tests.soak.device_checks import CLAIMS, CLASSES, SLICES, DeviceJudge, devices_of, users_of
from tests.soak.object_store import NODES, PODS
from tests.soak.replica import Replica

DRIVER = "gpu.example.com"
NODES_NUMBER, DEVICES, PODS_NUMBER = 3, 4, 16
#: Longer than the lease.
AWAY_SECONDS = 40.0
SETTLE_SECONDS = 180.0
_STATUS = "/status"


def head(kind: str) -> dict[str, str]:
    """Return the fields that name the type of an object."""
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind}


def add_devices(cluster: AttackedCluster) -> None:
    """Add nodes with devices, and a class of them."""
    cluster.add_nodes(NODES_NUMBER, 16)
    cluster.store.create(CLASSES, {**head("DeviceClass"), "metadata": {"name": "gpu"}, "spec": {}})
    for node in cluster.store.list(NODES):
        name = node["metadata"]["name"]
        spec = {
            "driver": DRIVER,
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu-{number}"} for number in range(DEVICES)],
        }
        slice_ = {**head("ResourceSlice"), "metadata": {"name": f"slice-{name}"}, "spec": spec}
        cluster.store.create(SLICES, slice_)


def add_claims(cluster: AttackedCluster, number: int) -> None:
    """Add claims of one device each."""
    request = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
    for index in range(number):
        meta = {"name": f"claim-{index}", "namespace": NAMESPACE}
        spec = {"devices": {"requests": [request]}}
        cluster.store.create(CLAIMS, {**head("ResourceClaim"), "metadata": meta, "spec": spec})


def add_users(cluster: AttackedCluster, number: int) -> None:
    """Add pods that use a claim each; two more share a claim with the first two."""
    for index in range(number + 2):
        claim = f"claim-{index % number}"
        pod = make_pod(f"pod-{index}")
        container = {**pod["spec"]["containers"][0]}
        container["resources"] = {**container["resources"], "claims": [{"name": "g"}]}
        entries = [{"name": "g", "resourceClaimName": claim}]
        spec = {**pod["spec"], "containers": [container], "resourceClaims": entries}
        status = {"resourceClaimStatuses": [], "phase": "Pending"}
        cluster.store.create(PODS, {**pod, "spec": spec, "status": status})


# How a leader is lost.


async def kill(leader: Replica) -> None:
    """Kill it; a new process starts behind the other replica."""
    process = leader.process
    process.kill()
    await asyncio.sleep(AWAY_SECONDS)
    leader.start_again(process)


async def suspend(leader: Replica) -> None:
    """Suspend it for longer than the lease, then continue it."""
    process = leader.process
    process.suspend()
    await asyncio.sleep(AWAY_SECONDS)
    process.resume()


async def cut_off(leader: Replica) -> None:
    """Take its network down for longer than the lease: what it sent arrives late or never."""
    process = leader.process
    process.link.clear()
    await asyncio.sleep(AWAY_SECONDS)
    process.link.set()


async def stop(leader: Replica) -> None:
    """Ask it to end: it releases the lease, and the other leads immediately."""
    process = leader.process
    await leader.stop()
    leader.start_again(process)


LOSSES = [kill, suspend, cut_off, stop]
#: The moment: when a request of this kind, the number-th, arrives or has been applied.
MOMENTS = {
    "before the first finalizer": ("PATCH", "", 1, False),
    "after the third finalizer": ("PATCH", "", 3, True),
    "before the first allocation": ("PATCH", _STATUS, 1, False),
    "after the first allocation": ("PATCH", _STATUS, 1, True),
    "after the fifth allocation": ("PATCH", _STATUS, 5, True),
    "before the first bind": ("POST", "/binding", 1, False),
    "after the second bind": ("POST", "/binding", 2, True),
}


def is_such(request: Request, method: str, end: str) -> bool:
    """Return whether a request is one that a moment waits for."""
    path = request.target
    if request.method != method or (method == "PATCH" and "/resourceclaims/" not in path):
        return False
    return path.endswith(end) and (bool(end) or not path.endswith(_STATUS))


async def until(cluster: AttackedCluster, moment: tuple[str, str, int, bool]) -> None:
    """Return at a moment of the writing; the request in progress waits for nothing."""
    method, end, number, applied = moment
    arrived = asyncio.Event()
    count = 0

    def note(request: Request) -> Response | None:
        nonlocal count
        if is_such(request, method, end):
            count += 1
            if count == number and not applied:
                arrived.set()
        return None

    handle = cluster.server.handle

    def handled(request: Request) -> Response:
        response = handle(request)
        if applied and count >= number and is_such(request, method, end):
            arrived.set()
        return response

    cluster.server.refuse = note
    cluster.server.handle = handled  # type: ignore[method-assign]
    async with asyncio.timeout(60.0):
        await arrived.wait()
    cluster.server.refuse = lambda request: None


def check(cluster: AttackedCluster) -> None:
    """Check that all devices are in use, and that nothing waits without a reason."""
    pods = {pod["metadata"]["uid"]: pod for pod in cluster.store.list(PODS)}
    used = 0
    for claim in cluster.store.list(CLAIMS):
        devices, users = list(devices_of(claim)), users_of(claim)
        used += len(devices)
        assert bool(devices) == bool(users), claim
        assert all(pods[uid]["spec"].get("nodeName") for uid in users), claim
    assert used == NODES_NUMBER * DEVICES
    waiting = [pod for pod in pods.values() if not pod["spec"].get("nodeName")]
    assert len(waiting) >= PODS_NUMBER - used
    for pod in waiting:
        (condition,) = pod["status"]["conditions"]
        assert condition["reason"] == "Unschedulable"
        assert "cannot allocate all claims" in condition["message"]


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
@pytest.mark.parametrize("lose", LOSSES, ids=lambda lose: lose.__name__)
def test_devices_are_allocated_once_and_none_is_lost(
    lose: Callable[[Replica], Awaitable[None]], moment: tuple[str, str, int, bool]
) -> None:
    async def scenario(cluster: AttackedCluster) -> None:
        judge = DeviceJudge(cluster.server)
        add_devices(cluster)
        cluster.start()
        await asyncio.sleep(10.0)
        (leader,) = [replica for replica in cluster.replicas if replica.leads]
        add_claims(cluster, PODS_NUMBER)
        add_users(cluster, PODS_NUMBER)
        await until(cluster, moment)
        await lose(leader)
        await asyncio.sleep(SETTLE_SECONDS)
        assert judge.violations == []
        check(cluster)

    attack(scenario, replicas=2)


def test_two_switches_while_all_writes_fail_half_of_the_time() -> None:
    """Whether a write that failed was applied is unknown to both leaders."""

    async def scenario(cluster: AttackedCluster) -> None:
        judge = DeviceJudge(cluster.server)
        number = 0

        def fail(request: Request) -> Response | None:
            nonlocal number
            if request.method == "GET" or "/leases" in request.target:
                return None
            number += 1
            if number % 4 == 0:
                cluster.server.handle(request)
            if number % 2 == 0:
                return failure(500, "InternalError", "etcdserver: request timed out")
            return None

        add_devices(cluster)
        cluster.start()
        await asyncio.sleep(10.0)
        cluster.server.refuse = fail
        add_claims(cluster, PODS_NUMBER)
        add_users(cluster, PODS_NUMBER)
        for lose in (kill, suspend):
            await asyncio.sleep(2.0)
            (leader,) = [replica for replica in cluster.replicas if replica.leads]
            await lose(leader)
            await asyncio.sleep(20.0)
        cluster.server.refuse = lambda request: None
        await asyncio.sleep(SETTLE_SECONDS)
        assert judge.violations == []
        check(cluster)

    attack(scenario, replicas=2)


@pytest.mark.parametrize("lose", [stop, kill], ids=lambda lose: lose.__name__)
def test_a_new_leader_whose_watch_is_behind_learns_of_all_allocations(
    lose: Callable[[Replica], Awaitable[None]],
) -> None:
    """kube-scheduler allocates the devices again that the leader before it allocated."""

    async def scenario(cluster: AttackedCluster) -> None:
        judge = DeviceJudge(cluster.server)
        add_devices(cluster)
        cluster.start()
        await asyncio.sleep(10.0)
        (leader,) = [replica for replica in cluster.replicas if replica.leads]
        (other,) = [replica for replica in cluster.replicas if not replica.leads]
        add_claims(cluster, PODS_NUMBER)
        await asyncio.sleep(2.0)
        # What the other has watched so far stays silent, for longer than the lease.
        for stream in list(cluster.server.streams):
            if stream.process is other.process and stream.collection == CLAIMS:
                stream.silence(AWAY_SECONDS)
        add_users(cluster, PODS_NUMBER)
        await until(cluster, MOMENTS["after the fifth allocation"])
        await lose(leader)
        await asyncio.sleep(SETTLE_SECONDS)
        assert judge.violations == []
        check(cluster)

    attack(scenario, replicas=2)
