"""Silent watches are resumed in virtual time."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest

from mooring.client.watch_pacer import PERIOD_SECONDS, SILENT_SECONDS, PacedWatch, WatchPacer
from tests.support.virtual_loop import run_virtually


class Kind:
    """A reader of one watch, which opens a connection whenever the one before has ended."""

    def __init__(self, pacer: WatchPacer, name: str, log: list[tuple[str, float]]) -> None:
        self.paced = PacedWatch(pacer, urgent=name in ("pods", "nodes"))
        #: Seconds until the server responds to a request; None if it refuses it.
        self.opening: float | None = 0.0
        #: Whether the server has changes that the connection did not deliver.
        self.missed = False
        self.times: list[float] = []
        self._name = name
        self._log = log
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            with self.paced.connection():
                self._log.append((self._name, now()))
                if self.opening is None:
                    self.opening = 3600.0
                    continue
                await asyncio.sleep(self.opening)
                async with self.paced.reading():
                    self.paced.opened()
                    self.times.append(now())
                    if self.missed:
                        self.missed = False
                        self.paced.heard(events=True)
                    await asyncio.Event().wait()

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


def now() -> float:
    return asyncio.get_running_loop().time()


class Cluster:
    """Some watches that share a pacer. `log` is the requests, with their times."""

    def __init__(self) -> None:
        self.log: list[tuple[str, float]] = []
        self.kinds: dict[str, Kind] = {}
        self._pacer = WatchPacer()

    async def open(self, name: str) -> Kind:
        """Begin to watch a kind."""
        kind = self.kinds[name] = Kind(self._pacer, name, self.log)
        await asyncio.sleep(0.001)
        return kind

    def __getitem__(self, name: str) -> Kind:
        return self.kinds[name]

    def keep_alive(self, *names: str, seconds: float = 10.0, events: bool = True) -> None:
        """Let events or bookmarks arrive from time to time, until the test ends."""

        async def send() -> None:
            while True:
                await asyncio.sleep(seconds)
                for name in names:
                    self[name].paced.heard(events=events)

        self._sender = asyncio.create_task(send())

    def resumes(self) -> list[tuple[str, float]]:
        """Return the requests after the first of each kind."""
        return self.log[len(self.kinds) :]


Work = Callable[[Cluster], Coroutine[Any, Any, None]]


def run(names: Sequence[str], work: Work) -> Cluster:
    """Run a coroutine with a cluster of these kinds; return the cluster."""

    async def main() -> Cluster:
        async with AsyncExitStack() as stack:
            cluster = Cluster()
            for name in names:
                kind = await cluster.open(name)
                stack.push_async_callback(kind.close)
            await work(cluster)
        return cluster

    return run_virtually(main())


def lasting(seconds: float) -> Work:
    async def work(_: Cluster) -> None:
        await asyncio.sleep(seconds)

    return work


TWENTY = ["pods", "nodes", *(f"kind{number}" for number in range(18))]


def test_an_idle_cluster_resumes_two_watches_a_minute() -> None:
    cluster = run(TWENTY, lasting(3600.0))
    times = [time for _, time in cluster.resumes()]
    assert 110 <= len(times) <= 120
    for first, third in zip(times, times[2:], strict=False):
        assert round(third - first, 3) >= PERIOD_SECONDS


def test_pods_and_nodes_are_resumed_within_a_minute_whatever_else_is_silent() -> None:
    cluster = run(TWENTY, lasting(3600.0))
    assert {name for name, _ in cluster.resumes()} == {"pods", "nodes"}
    for name in ("pods", "nodes"):
        times = [0.0, *cluster[name].times]
        gaps = [after - before for before, after in itertools.pairwise(times)]
        assert round(max(gaps), 3) <= 60.0


@pytest.mark.parametrize("events", [True, False], ids=["events", "bookmarks"])
def test_a_watch_that_delivers_is_not_resumed(events: bool) -> None:
    async def work(cluster: Cluster) -> None:
        cluster.keep_alive("pods", "nodes", seconds=29.0, events=events)
        await asyncio.sleep(600.0)

    cluster = run(TWENTY, work)
    assert len(cluster["pods"].times) == len(cluster["nodes"].times) == 1
    # The others take turns, the one that is silent for longest first.
    others = [name for name, _ in cluster.resumes()]
    assert others[: len(TWENTY) - 2] == TWENTY[2:]


@pytest.mark.parametrize("moment", range(30, 130, 7))
def test_pods_and_nodes_that_become_silent_later_are_resumed_within_a_minute(moment: int) -> None:
    async def work(cluster: Cluster) -> None:
        for _ in range(moment):
            await asyncio.sleep(1.0)
            for name in ("pods", "nodes"):
                cluster[name].paced.heard(events=False)
        await asyncio.sleep(60.01)

    cluster = run(TWENTY, work)
    assert {"pods", "nodes"} <= {name for name, time in cluster.resumes() if time > moment}


def test_a_watch_that_becomes_silent_is_resumed_after_thirty_seconds() -> None:
    async def work(cluster: Cluster) -> None:
        await asyncio.sleep(17.0)
        cluster["pods"].paced.heard(events=True)
        await asyncio.sleep(SILENT_SECONDS - 0.1)
        assert cluster.resumes() == []
        await asyncio.sleep(0.2)

    assert [name for name, _ in run(["pods"], work).resumes()] == ["pods"]


def test_one_watch_is_resumed_at_a_time() -> None:
    async def work(cluster: Cluster) -> None:
        cluster["pods"].opening = 5.0
        await asyncio.sleep(36.0)

    cluster = run(["pods", "nodes"], work)
    assert [(name, round(time)) for name, time in cluster.resumes()] == [
        ("pods", 30),
        ("nodes", 35),
    ]


def test_a_watch_that_the_server_refuses_does_not_block_the_others() -> None:
    async def work(cluster: Cluster) -> None:
        cluster["pods"].opening = None
        await asyncio.sleep(31.0)

    cluster = run(["pods", "nodes"], work)
    assert list(map(round, cluster["nodes"].times)) == [0, 30]


def test_missed_events_make_all_other_connections_suspect() -> None:
    async def work(cluster: Cluster) -> None:
        await asyncio.sleep(29.0)
        cluster["kind3"].paced.heard(events=False)
        cluster["pods"].missed = True
        for kind in cluster.kinds.values():
            kind.opening = 0.1
        await asyncio.sleep(4.0)

    cluster = run(TWENTY, work)
    names = [name for name, _ in cluster.resumes()]
    assert names[:2] == ["pods", "nodes"] and sorted(names) == sorted(TWENTY)
    # Each waits for the connection of the one before.
    times = [time for _, time in cluster.resumes()]
    assert all(0.09 <= after - one <= 0.11 for one, after in itertools.pairwise(times))


def test_a_connection_that_delivers_meanwhile_is_not_suspect_any_more() -> None:
    async def work(cluster: Cluster) -> None:
        cluster["pods"].missed = True
        for kind in cluster.kinds.values():
            kind.opening = 0.1
        await asyncio.sleep(30.25)
        cluster["kind17"].paced.heard(events=False)
        await asyncio.sleep(10.0)

    assert "kind17" not in [name for name, _ in run(TWENTY, work).resumes()]


def test_events_long_after_a_resume_make_nothing_suspect() -> None:
    async def work(cluster: Cluster) -> None:
        await asyncio.sleep(32.0)
        cluster["pods"].paced.heard(events=True)
        await asyncio.sleep(1.0)

    cluster = run(TWENTY, work)
    assert sorted(name for name, _ in cluster.resumes()) == ["nodes", "pods"]


def test_other_timeouts_pass_through() -> None:
    async def work(_: Cluster) -> None:
        with pytest.raises(TimeoutError):
            async with PacedWatch(WatchPacer()).reading():
                raise TimeoutError

    run([], work)


def test_no_timer_is_left_when_all_watches_have_ended() -> None:
    async def work(cluster: Cluster) -> None:
        for kind in cluster.kinds.values():
            await kind.close()
        await asyncio.sleep(100.0)

    assert run(["pods", "nodes"], work).resumes() == []
