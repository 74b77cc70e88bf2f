from __future__ import annotations

from mooring.api import Pod
from mooring.controllers.controller import Controller, ControllerContext, itself
from mooring.controllers.controllers import KINDS, Controllers
from mooring.controllers.work_queue import Key
from tests.controllers.still_cluster import still_cluster

MADE: list[str] = []


class First(Controller):
    """A controller that notes its start and its end."""

    name = "first"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self.watch(Pod, itself)

    async def reconcile(self, key: Key) -> float | None:
        """Do nothing."""
        return None

    def start(self) -> None:
        """Note the start."""
        MADE.append(f"start {self.name}")
        super().start()

    async def close(self) -> None:
        """Note the end."""
        MADE.append(f"close {self.name}")
        await super().close()


class Second(First):
    """Another one."""

    name = "second"


async def test_controllers_start_once_the_informers_have_synced() -> None:
    MADE.clear()
    async with still_cluster() as cluster:
        controllers = Controllers(
            cluster.client, cluster.informers, cluster.clock, kinds=(First, Second)
        )
        assert MADE == []
        cluster.informers.start()
        await controllers.start()
        assert cluster.informers.has_synced
        assert MADE == ["start first", "start second"]
        await controllers.close()
        assert MADE[2:] == ["close first", "close second"]
        await cluster.informers.close()


def test_every_controller_of_a_cluster_has_a_name_of_its_own() -> None:
    names = [kind.name for kind in KINDS]
    assert len(set(names)) == len(names) == 16
    assert all(names)
