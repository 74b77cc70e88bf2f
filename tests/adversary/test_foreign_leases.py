"""Leases that a stranger writes, deletes and creates: where schedulers elect a leader, and where
`mooring explain` and `mooring ui` look for it.

Whoever may write the Lease decides who leads, as with client-go. But no two schedulers bind pods,
no process dies of what it reads, and scheduling continues when the stranger stops.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mooring.api.lease_numbers import MOST_IN_LEASE
from mooring.api.timestamps import format_micro_time
from mooring.client.client import Client
from mooring.errors import ApiError, MooringError
from mooring.explain.lease_annotations import CERTIFICATE, HOLDER, PORT, ExplainAddress
from mooring.leader.leader_lookup import Leader, LeaseName, NoLeader, find_leader, pod_of
from tests.adversary.simulated_cluster import AttackedCluster, attack
from tests.client.fakes import FakeTransport, answer
from tests.soak.lease_checks import LEASES
from tests.soak.object_store import Json

NAME, NAMESPACE = "kube-scheduler", "kube-system"
FAR_FUTURE = "9999-12-31T23:59:59.999999Z"
#: The Lease that strangers write, in place of the spec or a part of it.
STRANGE_SPECS: dict[str, Json] = {
    "another holder": {"holderIdentity": "stranger"},
    "no holder": {"holderIdentity": ""},
    "nulls": {"holderIdentity": None, "leaseDurationSeconds": None, "renewTime": None},
    "nothing": {},
    "far future": {"holderIdentity": "stranger", "renewTime": FAR_FUTURE},
    "long ago": {"holderIdentity": "stranger", "renewTime": "0001-01-01T00:00:00.000000Z"},
    "no times": {"holderIdentity": "stranger", "renewTime": "soon", "acquireTime": "\x1b[2J"},
    "a second": {"holderIdentity": "stranger", "leaseDurationSeconds": 1},
    "negative": {"holderIdentity": "s", "leaseDurationSeconds": -15, "leaseTransitions": -1},
    "full count": {"holderIdentity": "s", "leaseTransitions": MOST_IN_LEASE},
    "large numbers": {"holderIdentity": "s", "leaseTransitions": 10**30},
    "long holder": {"holderIdentity": "x" * 2**20},
    "control characters": {"holderIdentity": "\x1b[2J\u202e\n_a"},
}
#: What a decoder refuses: an API server does not store it.
BROKEN_SPECS: dict[str, Any] = {
    "a number as holder": {"holderIdentity": 5},
    "a map as holder": {"holderIdentity": {"a": 1}},
    "text as seconds": {"leaseDurationSeconds": "15"},
    "a fraction": {"leaseDurationSeconds": 1.5},
    "a number as time": {"renewTime": 5},
    "a list": [],
    "text": "spec",
}
#: The seconds after which the lease of a stranger has expired, and a scheduler holds it again; one
#: that had to end starts within ten seconds.
EXPIRY_SECONDS = 45.0


def seize(cluster: AttackedCluster, spec: Any) -> None:
    """Write a Lease, whatever is there."""
    lease = cluster.store.find(LEASES, NAME, NAMESPACE)
    meta = {"name": NAME, "namespace": NAMESPACE}
    if lease is not None:
        cluster.store.remove(LEASES, lease)
    cluster.store.create(LEASES, {"kind": "Lease", "metadata": meta, "spec": spec})


def play(tell: Callable[[AttackedCluster], Awaitable[None]], *, pods: int = 12) -> int:
    """Let a stranger write while two schedulers elect a leader; return the number of log lines."""

    async def scenario(cluster: AttackedCluster) -> None:
        cluster.add_nodes(4)
        cluster.add_pods(pods // 2)
        cluster.start()
        await asyncio.sleep(10.0)
        await tell(cluster)
        cluster.add_pods(pods // 2, "later")
        await asyncio.sleep(EXPIRY_SECONDS)
        assert cluster.bound == pods

    return len(attack(scenario, replicas=2, strangers=True).lines)


@pytest.mark.parametrize("spec", STRANGE_SPECS.values(), ids=STRANGE_SPECS)
def test_scheduling_continues_when_the_lease_of_a_stranger_has_expired(spec: Json) -> None:
    async def once(cluster: AttackedCluster) -> None:
        seize(cluster, {"leaseDurationSeconds": 15, **spec})

    assert play(once) < 60


@pytest.mark.parametrize("spec", BROKEN_SPECS.values(), ids=BROKEN_SPECS)
def test_a_lease_that_cannot_be_read_ends_no_candidate(spec: Any) -> None:
    """The leader notices at its next renewal, a candidate at each try, with a line each."""

    async def once(cluster: AttackedCluster) -> None:
        seize(cluster, spec)
        await asyncio.sleep(60.0)
        seize(cluster, {"holderIdentity": ""})

    assert play(once) < 200


def test_a_stranger_that_keeps_writing_is_waited_for_without_binds() -> None:
    async def keep(cluster: AttackedCluster) -> None:
        for number in range(200):
            seize(cluster, {"holderIdentity": f"s-{number % 3}", "leaseDurationSeconds": 15})
            await asyncio.sleep(1.0)
            assert not any(replica.leads for replica in cluster.replicas) or number < 5
        bound = cluster.bound
        await asyncio.sleep(5.0)
        assert cluster.bound == bound

    # Each scheduler says every minute who holds the lease.
    assert play(keep) < 100


@pytest.mark.parametrize("seconds", [MOST_IN_LEASE, 10**30, 10**400])
def test_a_lease_for_a_lifetime_ends_when_it_is_deleted(seconds: int) -> None:
    async def hold(cluster: AttackedCluster) -> None:
        seize(cluster, {"holderIdentity": "stranger", "leaseDurationSeconds": seconds})
        await asyncio.sleep(120.0)
        assert not any(replica.leads for replica in cluster.replicas)
        cluster.store.remove(LEASES, cluster.store.get(LEASES, NAME, NAMESPACE))

    assert play(hold) < 60


@pytest.mark.parametrize("seconds", [1.1, 5.0])
def test_a_lease_that_is_deleted_again_and_again_is_created_by_its_leader(seconds: float) -> None:
    """In client-go, a candidate that finds no Lease leads beside the holder, for some seconds."""
    most: list[int] = []

    async def delete(cluster: AttackedCluster) -> None:
        for _ in range(20):
            lease = cluster.store.find(LEASES, NAME, NAMESPACE)
            if lease is not None:
                cluster.store.remove(LEASES, lease)
            for _ in range(10):
                await asyncio.sleep(seconds / 10)
                most.append(sum(replica.leads for replica in cluster.replicas))

    assert play(delete) < 200
    # If the Lease is hardly ever there, a candidate may not see it for the whole lease duration.
    assert max(most) == 1 or seconds < 2.0


# The Lease that `mooring explain` and `mooring ui` read.

NOW = 1_800_000_000.0
ADDRESS = {HOLDER: "sched-0_uuid", PORT: "10259", CERTIFICATE: "0f" * 32}


async def look(spec: Any, annotations: Any) -> Leader | NoLeader:
    """Return what is said of a Lease."""
    meta = {"name": NAME, "namespace": NAMESPACE, "annotations": annotations}
    lease = {"kind": "Lease", "metadata": meta, "spec": spec}
    client = Client(FakeTransport(answer(200, lease)))
    return await find_leader(client, [LeaseName(NAMESPACE, NAME)], NOW)


@pytest.mark.parametrize("spec", STRANGE_SPECS.values(), ids=STRANGE_SPECS)
async def test_a_strange_lease_leads_to_no_scheduler(spec: Json) -> None:
    assert isinstance(await look(spec, ADDRESS), NoLeader)
    # Even the holder's own annotations are not enough if its renewal is long ago or unreadable.
    holder = spec.get("holderIdentity") or ""
    found = await look(spec, {**ADDRESS, HOLDER: holder})
    assert isinstance(found, Leader) == (spec.get("renewTime") == FAR_FUTURE)


@pytest.mark.parametrize("spec", BROKEN_SPECS.values(), ids=BROKEN_SPECS)
async def test_a_lease_that_cannot_be_read_is_a_failure_of_one_line(spec: Any) -> None:
    with pytest.raises(ApiError, match="the server's answer cannot be read") as raised:
        await look(spec, ADDRESS)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "change",
    [
        {PORT: port}
        for port in (
            "",
            "0",
            "-1",
            "65536",
            "9" * 5000,
            "\u0661\u0660",
            "80\n",
            "1e3",
            " 80",
            "0x50",
        )
    ]
    + [
        {CERTIFICATE: text}
        for text in ("", "0f" * 31, "0f" * 33, "0g" * 32, "0f" * 31 + "\n", "0f" * 10**6)
    ]
    + [{HOLDER: "another"}, {HOLDER: ""}, {HOLDER: "sched-0_uuid\n"}],
    ids=lambda change: repr(change)[:40],
)
async def test_an_address_with_a_strange_part_is_none(change: dict[str, str]) -> None:
    spec = {"holderIdentity": "sched-0_uuid", "renewTime": format_micro_time(NOW)}
    spec_of_mooring: Json = {**spec, "leaseDurationSeconds": 15}
    assert isinstance(await look(spec_of_mooring, ADDRESS), Leader)
    assert isinstance(await look(spec_of_mooring, {**ADDRESS, **change}), NoLeader)


@pytest.mark.parametrize(
    "host",
    ["..", "../../secrets/s", "a b", "a,status.phase=Running", "--all", "\x1b[2J", "x" * 300],
)
async def test_a_holder_that_is_no_host_is_asked_about_nothing(host: str) -> None:
    """It would be part of paths, of selectors and of kubectl's arguments."""
    transport = FakeTransport()
    address = ExplainAddress(f"{host}_uuid", 10259, "0f" * 32)
    with pytest.raises(MooringError, match="has no name of a pod") as raised:
        await pod_of(Client(transport), Leader(LeaseName(NAMESPACE, NAME), address))
    assert transport.asked == []
    assert str(raised.value).isprintable() and len(str(raised.value)) < 500


@pytest.mark.parametrize("seconds", [10**30, 10**400, MOST_IN_LEASE])
async def test_a_lease_of_any_length_is_compared(seconds: int) -> None:
    spec = {"holderIdentity": "sched-0_uuid", "renewTime": format_micro_time(NOW - 10**8)}
    found = await look({**spec, "leaseDurationSeconds": seconds}, ADDRESS)
    assert isinstance(found, Leader)
