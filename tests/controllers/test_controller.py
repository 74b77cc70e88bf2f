from __future__ import annotations

import asyncio

from mooring.api import Node, Pod
from mooring.api.kinds import decode_as
from mooring.controllers.controller import (
    LONGEST_WAIT,
    MANY,
    Controller,
    ControllerContext,
    itself,
)
from mooring.controllers.work_queue import Key
from tests.controllers.still_cluster import still_cluster


class Watcher(Controller):
    """A controller that notes the keys that it reconciles."""

    name = "watcher"

    def __init__(self, context: ControllerContext, size: int = 0) -> None:
        super().__init__(context)
        self.seen: list[Key] = []
        self.size = size
        self.pods = self.watch(Pod, itself, lambda key: self.size)
        self.nodes = self.watch(Node, lambda node: [("", "a"), ("", "b"), ("", "a")])

    async def reconcile(self, key: Key) -> float | None:
        """Note the key."""
        self.seen.append(key)
        return None


def pod(name: str) -> Pod:
    return decode_as({"metadata": {"name": name, "namespace": "n"}}, Pod)


async def _settle(watcher: Watcher) -> None:
    while not watcher.queue.idle:
        await asyncio.sleep(0)


async def test_every_change_of_an_object_is_reconciled_after_the_start() -> None:
    async with still_cluster() as cluster:
        watcher = Watcher(cluster.context)
        watcher.pods.add(pod("a"))
        watcher.pods.add(pod("a"))
        assert watcher.seen == []
        watcher.start()
        await _settle(watcher)
        assert watcher.seen == [("n", "a")]
        watcher.pods.update(pod("a"))
        await _settle(watcher)
        watcher.pods.delete("a", "n")
        await _settle(watcher)
        assert watcher.seen == [("n", "a")] * 3
        await watcher.close()


async def test_each_key_of_a_change_is_reconciled_once() -> None:
    async with still_cluster() as cluster:
        watcher = Watcher(cluster.context)
        watcher.start()
        watcher.nodes.add(decode_as({"metadata": {"name": "x"}}, Node))
        await _settle(watcher)
        assert sorted(watcher.seen) == [("", "a"), ("", "b")]
        await watcher.close()


async def test_a_large_key_waits_so_that_changes_are_handled_together() -> None:
    async with still_cluster() as cluster:
        for size, waited in ((MANY, 0.0), (MANY + 100, 0.1), (10**6, LONGEST_WAIT)):
            watcher = Watcher(cluster.context, size)
            watcher.start()
            before = cluster.clock.now()
            watcher.pods.add(pod(f"p{size}"))
            while not watcher.seen:
                await asyncio.sleep(0)
            assert watcher.seen[-1] == ("n", f"p{size}")
            # The virtual clock advances by what is slept.
            assert round(cluster.clock.now() - before, 3) == waited
            await watcher.close()


async def test_closing_ends_spawned_work() -> None:
    async with still_cluster() as cluster:
        watcher = Watcher(cluster.context)
        ended = []

        async def work() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(True)

        watcher.spawn(work())
        await asyncio.sleep(0)
        await watcher.close()
        assert ended == [True]


async def test_the_context_of_a_controller() -> None:
    async with still_cluster() as cluster:
        context = cluster.context
        assert context.timestamp() == "2026-01-01T00:00:00Z"
        assert context.store(Pod) is cluster.informers.informer(Pod).store
