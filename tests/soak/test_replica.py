from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

import pytest
from msgspec.structs import replace

from tests.soak.api_server import ApiServer
from tests.soak.bind_checks import Ledger
from tests.soak.faults import FaultPlan, draw_weather
from tests.soak.lease_checks import LEASES, LeaseJudge
from tests.soak.object_store import NODES, PODS, ObjectStore
from tests.soak.replica import Replica
from tests.soak.scenarios import SCHEDULER
from tests.soak.scheduler_sets import REPLICAS, settings_of
from tests.support.virtual_loop import LoopClock, run_virtually

CALM = replace(
    draw_weather(Random(0), 90.0), requests=0.0, stream_seconds=0.0, slow=0.0, duplicates=0.0
)


class Pair:
    """Two replicas that compete for one lease."""

    def __init__(self) -> None:
        self.store = ObjectStore()
        server = ApiServer(self.store, FaultPlan(CALM, Random(0)), LoopClock())
        settings = settings_of(REPLICAS.names[0], True)
        self.ledger = Ledger(server)
        self.judge = LeaseJudge(server, settings.config.config.leader_election)
        self.replicas = [Replica(name, settings, server, 0) for name in ("one", "two")]
        for replica in self.replicas:
            replica.start()

    @property
    def leader(self) -> Replica:
        (leader,) = [replica for replica in self.replicas if replica.leads]
        return leader

    @property
    def other(self) -> Replica:
        (other,) = [replica for replica in self.replicas if not replica.leads]
        return other

    def holder(self) -> str:
        lease = self.store.get(LEASES, "kube-scheduler", "kube-system")
        return str(lease["spec"]["holderIdentity"])


def play(scenario: Callable[[Pair], Awaitable[None]]) -> None:
    async def run() -> None:
        pair = Pair()
        await asyncio.sleep(5.0)
        await scenario(pair)
        for judge in (*pair.replicas, pair.ledger, pair.judge):
            assert judge.violations == []

    run_virtually(run(), Random(0))


def test_the_lease_of_the_dead_ends_and_another_takes_over() -> None:
    async def kill(pair: Pair) -> None:
        leader, other = pair.leader, pair.other
        assert pair.holder() == leader.process.name
        leader.kill()
        await asyncio.sleep(10.0)
        assert not other.leads
        await asyncio.sleep(15.0)
        assert pair.leader is other
        assert pair.holder() == other.process.name

    play(kill)


def test_who_is_asked_to_end_gives_the_lease_up() -> None:
    async def stop(pair: Pair) -> None:
        leader, other = pair.leader, pair.other
        await leader.stop()
        await asyncio.sleep(5.0)
        assert pair.leader is other

    play(stop)


def test_who_loses_touch_ends_and_begins_again_behind_another() -> None:
    async def part(pair: Pair) -> None:
        leader, other = pair.leader, pair.other
        process = leader.process
        process.link.clear()
        await asyncio.sleep(14.0)
        assert not leader.leads and not other.leads
        await asyncio.sleep(30.0)
        assert process.dead and leader.process is not process
        assert pair.leader is other

    play(part)


NODES_NUMBER, PODS_PER_NODE = 10, 10


def fill(pair: Pair, nodes: int) -> None:
    offer = {"cpu": str(PODS_PER_NODE), "memory": "64Gi", "pods": "110"}
    for number in range(nodes):
        meta = {"name": f"node-{number}"}
        status = {"allocatable": offer, "capacity": offer}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": {}, "status": status}
        pair.store.create(NODES, node)


async def add_pods(pair: Pair, number: int) -> None:
    """Create pods one after another, for 40 seconds."""
    resources = {"requests": {"cpu": "1", "memory": "1Mi"}}
    containers = [{"name": "main", "image": "app", "resources": resources}]
    for one in range(number):
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"pod-{one}", "namespace": "default"},
            "spec": {"schedulerName": SCHEDULER, "containers": containers, "priority": 0},
            "status": {"phase": "Pending"},
        }
        pair.store.create(PODS, pod)
        await asyncio.sleep(40.0 / number)


async def renewal(pair: Pair) -> None:
    """Wait until a renewal is applied, before its sender gets the response."""
    renewed = asyncio.Event()
    holder = pair.leader

    def note(collection: str) -> None:
        if collection == LEASES and not renewed.is_set():
            holder.process.suspend()
            renewed.set()

    token = pair.store.listen(note)
    await renewed.wait()
    pair.store.unlisten(token)


@pytest.mark.parametrize("moment", ["as it is renewed", "before it is renewed", *range(6)], ids=str)
def test_a_leader_that_was_suspended_writes_nothing_once_another_leads(moment: str | int) -> None:
    async def suspend(pair: Pair) -> None:
        leader, other = pair.leader, pair.other
        process = leader.process
        fill(pair, NODES_NUMBER)
        adding = asyncio.create_task(add_pods(pair, NODES_NUMBER * PODS_PER_NODE))
        await asyncio.sleep(3.0)
        if isinstance(moment, str):
            await renewal(pair)
            if moment == "before it is renewed":
                process.resume()
                await asyncio.sleep(1.99)
        else:
            await asyncio.sleep(Random(moment).uniform(0.0, 4.0))
        process.suspend()
        while pair.holder() != other.process.name:
            await asyncio.sleep(0.01)
        # The other replica binds pods that the suspended one still considers pending.
        await asyncio.sleep(3.0)
        process.resume()
        await adding
        await asyncio.sleep(30.0)
        assert process.dead and pair.leader is other
        assert len(pair.ledger.binds) == NODES_NUMBER * PODS_PER_NODE

    play(suspend)


def test_a_leader_that_was_suspended_for_less_than_its_lease_goes_on() -> None:
    async def suspend(pair: Pair) -> None:
        leader = pair.leader
        fill(pair, NODES_NUMBER)
        adding = asyncio.create_task(add_pods(pair, NODES_NUMBER * PODS_PER_NODE))
        await asyncio.sleep(3.0)
        leader.process.suspend()
        before = len(pair.ledger.binds)
        await asyncio.sleep(9.0)
        # Only the requests in transit arrived.
        assert before <= len(pair.ledger.binds) <= before + 2
        leader.process.resume()
        await adding
        await asyncio.sleep(5.0)
        assert pair.leader is leader
        assert len(pair.ledger.binds) == NODES_NUMBER * PODS_PER_NODE

    play(suspend)


def test_a_life_begins_once() -> None:
    async def start(pair: Pair) -> None:
        replica = pair.other
        process = replica.process
        replica.kill()
        replica.start_again(process)
        next_life = replica.process
        replica.start_again(process)
        assert replica.process is next_life is not process

    play(start)
