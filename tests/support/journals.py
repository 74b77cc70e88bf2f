"""Journals of a small cluster, for what shows its past."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tests.journal.journals import JournaledCluster, journaled, node, pod


class Moments(msgspec.Struct, frozen=True):
    """Whole seconds since the epoch in which nothing happened."""

    before: float
    between: float
    after: float


def record_two_pods(folder: Path, *, huge: bool = False) -> Moments:
    """Record two nodes and the pods "one", "two" and "last", seconds apart, in folder/journal.

    With `huge`, the second pod fits nowhere.
    """

    async def rest(cluster: JournaledCluster) -> float:
        await cluster.clock.sleep(3.0)
        moment = float(int(cluster.clock.now()))
        await cluster.clock.sleep(3.0)
        return moment

    async def play(cluster: JournaledCluster) -> list[float]:
        await cluster.create(node("node-0"), node("node-1"))
        cluster.running.scheduler.inbox.drain()
        moments = [await rest(cluster)]
        for name, cpu in (("one", "1"), ("two", "900" if huge else "1"), ("last", "1")):
            await cluster.create(pod(name, cpu))
            await cluster.schedule()
            moments.append(await rest(cluster))
        return moments

    target = folder / "journal"
    target.mkdir()
    before, between, after, _ = journaled(target, play)
    return Moments(before, between, after)
