from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from mooring.app.lifecycle import Lifecycle
from tests.app.world import World, make_node, make_pod


async def settle() -> None:
    for _ in range(40):
        await asyncio.sleep(0)


class Watched:
    """A running lifecycle, and what it has done so far."""

    def __init__(self, *, elects: bool, late: bool = False) -> None:
        self.steps: list[str] = []
        self.world = World()
        self.duty = Lifecycle(elect=self._elect if elects else None, late=late)
        self.synced = asyncio.Event()
        self._schedule = self.world.scheduler.run
        self.world.scheduler.run = self._run  # type: ignore[method-assign]
        running = self.duty.run(self.world.scheduler, self._sync, self._catch_up)
        self.task = asyncio.create_task(running)

    def _elect(self) -> None:
        self.steps.append("elect")

    async def _sync(self) -> None:
        self.steps.append("list")
        await self.synced.wait()
        self.steps.append("synced")

    async def _catch_up(self) -> None:
        self.steps.append("catch up")

    async def _run(self) -> None:
        self.steps.append("schedule")
        await self._schedule()


@pytest.mark.parametrize(
    ("late", "before", "after"),
    [
        pytest.param(
            False, ["list", "synced", "elect"], ["catch up", "schedule"], id="lists before it leads"
        ),
        pytest.param(
            True, ["elect"], ["list", "synced", "schedule"], id="lists once it leads, where asked"
        ),
    ],
)
async def test_who_elects_schedules_only_once_it_leads(
    late: bool, before: list[str], after: list[str]
) -> None:
    watched = Watched(elects=True, late=late)
    watched.synced.set()
    await settle()
    assert watched.steps == before
    assert not watched.duty.leads
    watched.duty.lead()
    await settle()
    assert watched.steps == before + after
    assert watched.duty.leads
    watched.duty.stop()
    await watched.task


async def test_who_does_not_elect_leads_at_once() -> None:
    watched = Watched(elects=False)
    watched.synced.set()
    await settle()
    assert watched.steps == ["list", "synced", "schedule"]
    assert watched.duty.leads
    watched.duty.stop()
    await watched.task


async def test_who_waits_for_the_lease_follows_the_cluster_and_schedules_nothing() -> None:
    watched = Watched(elects=True)
    watched.synced.set()
    await settle()
    world = watched.world
    world.nodes.add(make_node("node"))
    world.pods.add(make_pod("pod"))
    await settle()
    assert len(world.scheduler.cache.nodes) == 1
    assert world.queued(make_pod("pod")) is not None
    assert world.client.writes == []
    watched.duty.lead()
    await settle()
    assert ("pod", "bound", "node") in world.client.writes
    watched.duty.stop()
    await watched.task


@pytest.mark.parametrize(
    "begin",
    [
        pytest.param(lambda watched: None, id="before it has synced"),
        pytest.param(lambda watched: watched.synced.set(), id="before it leads"),
        pytest.param(
            lambda watched: (watched.synced.set(), watched.duty.lead()), id="while it leads"
        ),
    ],
)
@pytest.mark.parametrize("lost", [False, True], ids=["when it is told to", "without its lease"])
async def test_it_ends(begin: Callable[[Watched], object], lost: bool) -> None:
    watched = Watched(elects=True)
    begin(watched)
    await settle()
    assert not watched.task.done()
    if lost:
        watched.duty.lose_lease()
    else:
        watched.duty.stop()
    await watched.task
    assert watched.duty.lost_lease is lost
    assert not watched.duty.leads
