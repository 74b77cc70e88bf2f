from __future__ import annotations

from mooring.api import CustomResource
from mooring.api.kinds import decode_raw
from mooring.controllers.controlled_kinds import CONTROLLER_REVISIONS, STATEFUL_SETS
from mooring.controllers.controller import Controller, itself
from mooring.controllers.revisions import Revisions, digest_of, number, template_of
from mooring.controllers.work_queue import Key
from tests.controllers.still_cluster import StillCluster, still_cluster
from tests.support.controllers import template, workload


class Keeper(Controller):
    """A controller that only keeps revisions."""

    name = "keeper"

    async def reconcile(self, key: Key) -> float | None:
        """Do nothing."""
        return None


class History:
    """A stateful set whose template a test changes."""

    def __init__(self, cluster: StillCluster) -> None:
        self.cluster = cluster
        keeper = Keeper(cluster.context)
        self.sets = keeper.watch(STATEFUL_SETS, itself)
        self.revisions = Revisions(keeper, "StatefulSet")

    async def begin(self) -> None:
        await self.cluster.create(STATEFUL_SETS, workload("StatefulSet", "db"))

    async def turn(self, image: str = "") -> CustomResource:
        """Change the image if one is given, and return the current revision."""
        if image:
            spec = {"template": template(image)}
            await self.cluster.patch(STATEFUL_SETS, "db", {"spec": spec})
        return await self.revisions.current(await self.owner())

    async def owner(self) -> CustomResource:
        await self.cluster.sync()
        found = self.sets.get("db", "default")
        assert isinstance(found, CustomResource)
        return found

    async def numbers(self) -> list[int]:
        return [number(one) for one in self.revisions.all(await self.owner())]


async def test_a_template_is_written_down_once() -> None:
    async with still_cluster() as cluster:
        history = History(cluster)
        await history.begin()
        first = await history.turn()
        assert number(first) == 1
        assert first.metadata.name == f"db-{digest_of(first)}"
        assert template_of(first)["spec"]["containers"][0]["image"] == "image:1"
        again = await history.turn()
        assert again.metadata.uid == first.metadata.uid
        assert await history.numbers() == [1]


async def test_a_template_that_comes_back_becomes_the_newest() -> None:
    async with still_cluster() as cluster:
        history = History(cluster)
        await history.begin()
        first = await history.turn()
        second = await history.turn("image:2")
        assert (number(second), await history.numbers()) == (2, [1, 2])
        back = await history.turn("image:1")
        assert (back.metadata.uid, number(back)) == (first.metadata.uid, 3)
        assert await history.numbers() == [2, 3]


async def test_a_revision_that_the_informer_does_not_show_yet() -> None:
    async with still_cluster() as cluster:
        history = History(cluster)
        await history.begin()
        owner = await history.owner()
        first = await history.revisions.current(owner)
        again = await history.revisions.current(owner)
        assert again.metadata.uid == first.metadata.uid
        assert len(await cluster.all(CONTROLLER_REVISIONS)) == 1


async def test_the_oldest_revisions_go_unless_they_are_in_use() -> None:
    async with still_cluster() as cluster:
        history = History(cluster)
        await history.begin()
        made = [await history.turn()]
        made += [await history.turn(f"image:{i}") for i in range(2, 6)]
        await cluster.patch(STATEFUL_SETS, "db", {"spec": {"revisionHistoryLimit": 1}})
        live = {made[0].metadata.name, made[4].metadata.name}
        await history.revisions.clean_up(await history.owner(), live)
        assert await history.numbers() == [1, 4, 5]


def test_a_revision_without_a_number() -> None:
    bare = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {}}
    revision = decode_raw(bare)
    assert (number(revision), digest_of(revision)) == (0, "")
