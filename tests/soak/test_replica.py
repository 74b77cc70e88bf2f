from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

from msgspec.structs import replace

from tests.soak.api_server import ApiServer
from tests.soak.faults import FaultPlan, draw_weather
from tests.soak.lease_checks import LEASES
from tests.soak.object_store import ObjectStore
from tests.soak.replica import Replica
from tests.soak.scheduler_sets import REPLICAS, settings_of
from tests.soak.virtual_loop import LoopClock, run_virtually

CALM = replace(
    draw_weather(Random(0), 90.0), requests=0.0, stream_seconds=0.0, slow=0.0, duplicates=0.0
)


class Pair:
    """Two replicas that want one lease."""

    def __init__(self) -> None:
        self._store = ObjectStore()
        server = ApiServer(self._store, FaultPlan(CALM, Random(0)), LoopClock())
        settings = settings_of(REPLICAS.names[0], True)
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
        lease = self._store.get(LEASES, "kube-scheduler", "kube-system")
        return str(lease["spec"]["holderIdentity"])


def play(scenario: Callable[[Pair], Awaitable[None]]) -> None:
    async def run() -> None:
        pair = Pair()
        await asyncio.sleep(5.0)
        await scenario(pair)
        assert [replica.violations for replica in pair.replicas] == [[], []]

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
